"""The same calls return the same results on every kind of table and namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve
from attrs import fields as attributes

from lance_namespace_client.operations import OPERATIONS, Body

from ...catalog_objects import deep, namespace_for_tables
from ...comparison import COURSE_PROPERTIES, Place, comparable
from ...exchange import Reply
from ...lab import Failed, Lab, NotReached, Skipped
from ...observe import forbids_location
from ...requirement import check
from ...rows import people, plain, stream
from ...table_state import furnished, state, unchanged
from .call_sequences import COURSES, ON_A_BRANCH, STARTED, Call, Course, namespace_calls, shifted

_SOURCE = (
    "rest.yaml, the descriptions of the operations, which do not distinguish between tables; "
    'protocol semantics, "Identifiers"'
)
_TABLES = ["tables"]
_NAMESPACE_SOURCE = (
    "rest.yaml, the operations on namespaces, which do not distinguish between them; protocol "
    'semantics, "Modes"'
)


_ROWS = stream(people(*STARTED))

Told = list[tuple[str, Any, Reply]]

Between = Callable[[Lab, Place, Reply], None]
"""Called after each call of a course, with the reply to the call."""


def made(lab: Lab, table: list[str], operation: str = "CreateTable", **more: Any) -> list[str]:
    """Create a table, with the properties of every course if they are supported, and return it."""
    data = _ROWS if operation == "CreateTable" else None
    takes = lab.told.setdefault("properties", {})
    given = {"properties": COURSE_PROPERTIES} if takes.get(operation) is not False else {}
    reply = lab.call(operation, data, id=table, **given, **more)
    if reply.succeeded:
        takes.setdefault(operation, bool(given))
    elif reply.code in (0, 13) and given and True not in takes.values():
        reply = lab.call(operation, data, id=table, **more)
        if reply.succeeded:
            takes[operation] = False
    if reply.code in (0, 13):
        raise Skipped(f"{operation}: {reply.outcome()}")
    if not reply.succeeded:
        raise NotReached(f"{operation} failed: {reply.outcome()}")
    return table


def placed(lab: Lab, table: list[str], branch: str | None = None, **more: Any) -> Place:
    """Return the place of a course on a table, with versions counted from the newest one."""
    of = {"branch": branch} if branch else {}
    version = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **of).get("version")
    return Place(table, branch, (version or 1) - 1, more)


def fresh(lab: Lab) -> Place:
    """Return a place on a new table, with which the other places are compared."""
    return placed(lab, made(lab, lab.table_id()))


def _renamed(lab: Lab) -> Place:
    table = made(lab, lab.table_id())
    name = lab.ledger.fresh()
    lab.given("RenameTable", id=table, new_table_name=name)
    return placed(lab, [*table[:-1], name])


def _moved(lab: Lab) -> Place:
    table, parent = made(lab, lab.table_id()), namespace_for_tables(lab)
    lab.maybe("RenameTable", id=table, new_table_name="moved", new_namespace_id=parent)
    return placed(lab, [*parent, "moved"])


def _registered(lab: Lab) -> Place:
    table, other = made(lab, lab.table_id()), lab.table_id()
    where = lab.given("DescribeTable", id=table).get("location")
    lab.given("DeregisterTable", id=table)
    return placed(lab, made(lab, other, "RegisterTable", location=where))


def _made_again(lab: Lab) -> Place:
    table = furnished(lab)
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.call("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    lab.given("DropTable", id=table)
    return placed(lab, made(lab, table))


def _overwritten(lab: Lab) -> Place:
    table = lab.table_id()
    lab.given("CreateTable", plain(1, column="other"), id=table)
    lab.given("InsertIntoTable", plain(2, column="other"), id=table)
    return placed(lab, made(lab, table, mode="Overwrite"))


def _declared(lab: Lab) -> Place:
    table = made(lab, lab.table_id(), "DeclareTable")
    lab.given("DescribeTable", id=table)
    lab.given("InsertIntoTable", _ROWS, id=table)
    return placed(lab, table)


def _deep(lab: Lab) -> Place:
    for namespace in reversed(deep(lab)):
        try:
            return placed(lab, made(lab, [*namespace, lab.ledger.fresh()]))
        except (Skipped, NotReached):
            continue
    raise Skipped("no table can be created in a nested namespace")


def _oddly_named(lab: Lab) -> Place:
    table = lab.table_id()
    table[-1] += " sch\u00f6n%20/+.a"
    return placed(lab, made(lab, table))


def _of_many_versions(lab: Lab) -> Place:
    table = made(lab, lab.table_id())
    for _ in range(8):
        lab.given("InsertIntoTable", _ROWS, id=table, mode="overwrite")
    return placed(lab, table)


def _with_nulls(lab: Lab) -> Place:
    return placed(lab, made(lab, lab.table_id()), null=True)


def _with_context(lab: Lab) -> Place:
    return placed(lab, made(lab, lab.table_id()), context={"kit.note": "none"})


def _branch(lab: Lab) -> Place:
    table = made(lab, lab.table_id())
    lab.given("CreateTableBranch", id=table, name="side")
    return placed(lab, table, "side")


def nothing(lab: Lab, place: Place, reply: Reply) -> None:
    """Do nothing between the calls of a course."""


def changed(reply: Reply) -> bool:
    """Return whether a call was a successful write, after which a server may cache new reads."""
    return reply.succeeded and not OPERATIONS[reply.step.operation].repeatable


def _read(lab: Lab) -> Place:
    place = fresh(lab)
    _read_all(lab, place)
    return place


def _reads(lab: Lab, place: Place, reply: Reply) -> None:
    if changed(reply):
        _read_all(lab, place)


def _read_all(lab: Lab, place: Place) -> None:
    """Read everything about a table, so that later calls reveal outdated caches of the server."""
    of = {"branch": place.branch} if place.branch else {}
    for operation in ("TableExists", "ListTableTags", "ListTableBranches", "ListTableIndices",
                      "ListTableVersions", "GetTableStats", "DescribeTable", "CountTableRows"):  # fmt: skip
        lab.call(operation, id=place.table)
    lab.call("DescribeTable", id=place.table, load_detailed_metadata=True, **of)
    lab.call("QueryTable", id=place.table, vector=lab.no_vector(), k=100, **of)
    lab.call(
        "QueryTable",
        id=place.table,
        vector=lab.no_vector(),
        k=100,
        version=1 + (place.shift or 0),
        **of,
    )


_REFUSED: tuple[Call, ...] = (
    ("DescribeTable", None, {"version": 999}), ("UpdateTable", None, {"updates": [["nothing", "1"]]}),
    ("CreateTableTag", None, {"tag": "no", "version": 999}), ("DeleteTableBranch", None, {"name": "no"}),
    ("DropTableIndex", None, {"index_name": "no"}),
    ("AlterTableDropColumns", None, {"columns": ["nothing"]}),
    ("DeleteFromTable", None, {"predicate": "nothing = 1"}), ("RestoreTable", None, {"version": 999}),
    ("InsertIntoTable", b"no stream", {}),
)  # fmt: skip


def _refusals(lab: Lab, place: Place, reply: Reply) -> None:
    """Send two calls that must fail, different ones each time."""
    for number in range(2):
        operation, data, request = _REFUSED[(len(lab.steps) // 3 * 2 + number) % len(_REFUSED)]
        lab.call(operation, data, id=place.table, **request)


def gone_through(
    lab: Lab, places: list[Place], course: Callable[[Place], Course], between: Between = nothing
) -> list[Told]:
    """Run a course on each place, interleaved if there are several; return results by place."""
    going = [course(place) for place in places]
    found: list[Told] = [[] for _ in places]
    replies: list[Reply | None] = [None] * len(places)
    while True:
        for number, (place, calls) in enumerate(zip(places, going, strict=True)):
            sent = replies[number]
            try:
                asked = next(calls) if sent is None else calls.send(sent)
            except StopIteration:
                return found
            reply = _send(lab, place, asked)
            replies[number] = reply
            given = {k: v for k, v in asked[2].items() if k != "id"}
            found[number].append((f"{asked[0]} with {given}", comparable(reply, place), reply))
            between(lab, place, reply)


def _send(lab: Lab, place: Place, asked: Call) -> Reply:
    operation, data, request = asked
    known = {f.name for f in attributes(OPERATIONS[operation].request_type)}
    sent = {"id": place.table, **shifted(request, place.shift)}
    apart = operation == "DescribeTable" and {"version", "tag"} & set(request)
    if place.branch and "branch" in known and not apart:
        sent.setdefault("branch", place.branch)
    if place.branch and operation == "CreateTableBranch":
        sent.setdefault("from_branch", place.branch)
    if place.more.get("null") and OPERATIONS[operation].body is Body.JSON:
        sent = dict.fromkeys(_optional(operation, known)) | sent
    elif "context" in place.more:
        sent["context"] = place.more["context"]
    if operation == "QueryTable" and sent.get("vector") is None:
        sent["vector"] = lab.no_vector()
    return lab.call(operation, data, **sent)


def _optional(operation: str, known: set[str]) -> Iterator[str]:
    if OPERATIONS[operation].body_field is None:
        yield from sorted(known - {"id", "identity", "context"})


def _for(name: str, place: Place) -> Place:
    """Return a place for a course; versions are not compared if the course drops its table."""
    return place if name in ON_A_BRANCH else evolve(place, shift=None)


def _base(lab: Lab, name: str) -> Told:
    """Return the results of a course on a fresh table; the course runs once per test run."""
    if name not in lab.told:
        lab.told[name] = gone_through(lab, [_for(name, fresh(lab))], COURSES[name])[0]
    found: Told = lab.told[name]
    return found


def compare(due: Told, found: Told, kind: str) -> None:
    for (label, expected, _), (_, got, reply) in zip(due, found, strict=False):
        if expected == got:
            continue
        if reply is not None and forbids_location(reply):
            raise Skipped(f"{label}: {reply.outcome()}")
        if "encoding" in kind or "below" in kind:
            if got in ("code 0", "code 13"):
                raise Skipped(f"{label}: {reply.outcome()}")
            if reply.broken is not None:
                raise NotReached(f"{label}: {reply.outcome()}")
        if got is not None and expected is not None:
            raise Failed(f"{label} on {kind} to return {_first(expected, got)}, as on a fresh one",
                         str(_first(got, expected)), reply)  # fmt: skip


def _first(one: Any, other: Any) -> Any:
    """Return the parts of one value that differ from another value."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: _first(v, other.get(k)) for k, v in one.items() if v != other.get(k)}
    return one


Prepare = Callable[[Lab], Place]

KINDS: tuple[tuple[str, Prepare, Between, tuple[str, ...]], ...] = (
    ("a table that was renamed", _renamed, nothing, ("RenameTable",)),
    ("a table that was moved to another namespace", _moved, nothing, ("RenameTable",)),
    ("a table that was registered", _registered, nothing, ("RegisterTable", "DeregisterTable")),
    ("a table with the name of a dropped table", _made_again, nothing, ("DropTable",)),
    ("a table that overwrote another", _overwritten, nothing, ()),
    ("a table that was declared first", _declared, nothing, ("DeclareTable",)),
    ("a table far below the root", _deep, nothing, ("CreateNamespace",)),
    ("a table whose name needs encoding", _oddly_named, nothing, ()),
    ("a table of ten versions", _of_many_versions, nothing, ("InsertIntoTable",)),
    ("a table, with null in every omitted field,", _with_nulls, nothing, ()),
    ("a table, with an unused context,", _with_context, nothing, ()),
    ("a branch", _branch, nothing, ("CreateTableBranch",)),
    ("a table that is read between all calls", _read, _reads, ()),
    ("a table with failing calls in between", fresh, _refusals, ()),
)

_LESS: dict[Callable[..., Any], tuple[str, ...]] = {
    _branch: ON_A_BRANCH,
    _moved: ("rows", "versions and tags", "the entry"),
    _registered: ("rows", "indices", "the entry"),
    _overwritten: ("rows", "columns", "the entry"),
    _declared: ("rows", "columns", "the entry"),
    _deep: ("rows", "branches", "the entry"),
    _oddly_named: ("rows", "versions and tags", "the entry"),
    _of_many_versions: ("rows", "versions and tags", "branches"),
    _with_context: ("rows", "the entry"),
    _refusals: ("rows", "versions and tags", "the entry"),
}
"""Courses per place, without those that show nothing new: a run must end within two minutes."""


def _as_fresh(kind: str, prepare: Prepare, between: Between, name: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        due = _base(lab, name)
        place = prepare(lab)
        before = lab.ids(place.table) if place.branch else []
        found = gone_through(lab, [_for(name, place)], COURSES[name], between)[0]
        compare(due, found, kind)
        if place.branch:
            lab.same(lab.ids(place.table), before, "the ids on the main branch")

    return run


for _n, (_kind, _prepare, _between, _needs) in enumerate(KINDS):
    for _m, _name in enumerate(COURSES, start=1):
        if _name in _LESS.get(_prepare if _between is nothing else _between, COURSES):
            check(
                f"LN-ALIKE-{_n:02}{_m}",
                f"Calls on {_name} return the same results on {_kind} as on a fresh table.",
                _SOURCE,
                "CreateTable",
                *_needs,
                capabilities=_TABLES,
            )(_as_fresh(_kind, _prepare, _between, _name))


def _in_turns(name: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        due = _base(lab, name)
        places = [fresh(lab)]
        if lab.shape.tables_in_new:
            parent = lab.new_namespace()
            places.append(placed(lab, made(lab, [*parent, places[0].table[-1]])))
        else:
            places.append(fresh(lab))
        for found in gone_through(lab, [_for(name, place) for place in places], COURSES[name]):
            compare(due, found, "one of several interleaved tables")

    return run


def _beside(name: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = furnished(lab)
        others = [made(lab, [*table[:-1], f"{table[-1]}x"])]
        if lab.shape.tables_in_new:
            others.append(made(lab, [*lab.new_namespace(), table[-1]]))
        before = [state(lab, other) for other in others]
        lab.given("DropTable", id=table)
        gone_through(lab, [placed(lab, made(lab, table))], COURSES[name])
        for other, was in zip(others, before, strict=True):
            unchanged(lab, was, state(lab, other), f"calls on the {name} of another table")

    return run


_TOGETHER: tuple[tuple[str, Callable[[str], Callable[[Lab], None]], tuple[str, ...]], ...] = (
    ("of several interleaved tables return the same results as on one table", _in_turns, ()),
    ("of one table do not change tables with similar names", _beside, ("DropTable",)),
)


for _m, _name in enumerate(COURSES, start=1):
    for _n, (_asked, _run, _needs) in enumerate(_TOGETHER, start=50):
        check(f"LN-ALIKE-{_n}{_m}", f"Calls on {_name} {_asked}.", _SOURCE, "CreateTable", *_needs,
              capabilities=_TABLES)(_run(_name))  # fmt: skip


def _namespace_base(lab: Lab) -> Told:
    if "namespaces" not in lab.told:
        lab.told["namespaces"] = gone_through(lab, [_fresh_namespace(lab)], namespace_calls)[0]
    found: Told = lab.told["namespaces"]
    return found


def _fresh_namespace(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None)


def _deep_namespace(lab: Lab) -> Place:
    return Place([*deep(lab)[-1], lab.ledger.fresh()], shift=None)


def _oddly_named_namespace(lab: Lab) -> Place:
    place = _fresh_namespace(lab)
    place.table[-1] += " sch\u00f6n%20+.a"
    return place


def _dropped(lab: Lab) -> Place:
    place = _fresh_namespace(lab)
    lab.given("CreateNamespace", id=place.table)
    lab.call("AlterNamespace", id=place.table, set_properties={"by": "old", "owner": "old"})
    if lab.call("CreateTable", plain(9), id=[*place.table, "t"]).succeeded:
        lab.given("DropTable", id=[*place.table, "t"])
    lab.given("DropNamespace", id=place.table)
    return place


def _namespace_with_nulls(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None, more={"null": True})


def _namespace_with_context(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None, more={"context": {"kit.note": "none"}})


def _beside_namespaces(lab: Lab) -> Place:
    """Return a place next to namespaces that extend its name and contain the same child names."""
    place = _fresh_namespace(lab)
    for end in ("0", "_1"):
        other = [*place.table[:-1], place.table[-1] + end]
        lab.given("CreateNamespace", id=other)
        lab.call("CreateTable", plain(1), id=[*other, "t"])
        lab.call("CreateNamespace", id=[*other, "a"])
    return place


def _namespace_reads(lab: Lab, place: Place, reply: Reply) -> None:
    if not changed(reply):
        return
    for operation in ("NamespaceExists", "DescribeNamespace", "ListNamespaces", "ListTables"):
        for at in (place.table, [*place.table, "a"]):
            lab.call(operation, id=at)
    lab.call("TableExists", id=[*place.table, "t"])


_REFUSED_OF_NAMESPACES: tuple[tuple[list[str], Call], ...] = (
    ([], ("CreateNamespace", None, {"mode": "never"})),
    ([], ("DropNamespace", None, {"behavior": "never"})),
    ([], ("AlterNamespace", None, {"set_properties": {"a": "1"}, "unset_properties": ["a"]})),
    (["t"], ("CreateTable", b"no stream", {})),
    (["nothing"], ("DropNamespace", None, {})),
)


def _namespace_refusals(lab: Lab, place: Place, reply: Reply) -> None:
    below, (operation, data, request) = _REFUSED_OF_NAMESPACES[
        len(lab.steps) // 2 % len(_REFUSED_OF_NAMESPACES)
    ]
    lab.call(operation, data, id=[*place.table, *below], **request)


_NAMESPACE_KINDS: tuple[tuple[str, Callable[[Lab], Place], Between], ...] = (
    ("a namespace far below the root", _deep_namespace, nothing),
    ("a namespace whose name needs encoding", _oddly_named_namespace, nothing),
    ("a namespace with the name of a dropped one", _dropped, nothing),
    ("a namespace, with null in every omitted field,", _namespace_with_nulls, nothing),
    ("a namespace, with an unused context,", _namespace_with_context, nothing),
    (
        "a namespace next to others whose names start with the same characters",
        _beside_namespaces,
        nothing,
    ),
    ("a namespace that is read between all calls", _fresh_namespace, _namespace_reads),
    ("a namespace with failing calls in between", _fresh_namespace, _namespace_refusals),
)


def _as_fresh_namespace(
    kind: str, prepare: Callable[[Lab], Place], between: Between
) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        compare(
            _namespace_base(lab),
            gone_through(lab, [prepare(lab)], namespace_calls, between)[0],
            kind,
        )

    return run


for _number, (_kind, _prepare, _between) in enumerate(_NAMESPACE_KINDS):
    check(
        f"LN-ALIKE-6{_number:02}",
        f"Calls return the same results on {_kind} as on a fresh namespace.",
        _NAMESPACE_SOURCE,
        "CreateNamespace",
        capabilities=["namespaces"],
    )(_as_fresh_namespace(_kind, _prepare, _between))


@check("LN-ALIKE-620",
       "Interleaved calls on several namespaces return the same results as on a single one.",
       _NAMESPACE_SOURCE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def in_turns(lab: Lab) -> None:
    places = [_fresh_namespace(lab)]
    if lab.shape.nested:
        places.append(Place([*lab.new_namespace(), places[0].table[-1]], shift=None))
    else:
        places.append(_fresh_namespace(lab))
    for found in gone_through(lab, places, namespace_calls):
        compare(_namespace_base(lab), found, "one of several namespaces, some below others,")
