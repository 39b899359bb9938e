"""Operations on namespaces behave the same at every level, with any name and when repeated."""

from __future__ import annotations

from collections.abc import Callable

from ..exchange import Reply
from ..lab import Lab, Skipped
from ..observe import forbids_location
from ..requirement import check
from ..rows import plain
from .alike import Between, Told, changed, compare, gone_through, nothing
from .courses import Call, Place, namespace
from .together import deep

_SOURCE = ("rest.yaml, the operations on namespaces, which make no difference between them; "
           'protocol semantics, "Modes"')  # fmt: skip


def _base(lab: Lab) -> Told:
    if "namespaces" not in lab.told:
        lab.told["namespaces"] = gone_through(lab, [_fresh(lab)], namespace)[0]
    found: Told = lab.told["namespaces"]
    return found


def _fresh(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None)


def _deep(lab: Lab) -> Place:
    return Place([*deep(lab)[-1], lab.ledger.fresh()], shift=None)


def _oddly_named(lab: Lab) -> Place:
    place = _fresh(lab)
    place.table[-1] += " sch\u00f6n%20+.a"
    return place


def _dropped(lab: Lab) -> Place:
    place = _fresh(lab)
    lab.given("CreateNamespace", id=place.table)
    lab.call("AlterNamespace", id=place.table, set_properties={"by": "old", "owner": "old"})
    if lab.call("CreateTable", plain(9), id=[*place.table, "t"]).succeeded:
        lab.given("DropTable", id=[*place.table, "t"])
    lab.given("DropNamespace", id=place.table)
    return place


def _with_nulls(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None, more={"null": True})


def _with_context(lab: Lab) -> Place:
    return Place(lab.namespace_id(), shift=None, more={"context": {"kit.note": "none"}})


def _beside(lab: Lab) -> Place:
    """Return a place next to namespaces that extend its name and contain the same child names."""
    place = _fresh(lab)
    for end in ("0", "_1"):
        other = [*place.table[:-1], place.table[-1] + end]
        lab.given("CreateNamespace", id=other)
        lab.call("CreateTable", plain(1), id=[*other, "t"])
        lab.call("CreateNamespace", id=[*other, "a"])
    return place


def _reads(lab: Lab, place: Place, reply: Reply) -> None:
    if not changed(reply):
        return
    for operation in ("NamespaceExists", "DescribeNamespace", "ListNamespaces", "ListTables"):
        for at in (place.table, [*place.table, "a"]):
            lab.call(operation, id=at)
    lab.call("TableExists", id=[*place.table, "t"])


_REFUSED: tuple[tuple[list[str], Call], ...] = (
    ([], ("CreateNamespace", None, {"mode": "never"})),
    ([], ("DropNamespace", None, {"behavior": "never"})),
    ([], ("AlterNamespace", None, {"set_properties": {"a": "1"}, "unset_properties": ["a"]})),
    (["t"], ("CreateTable", b"no stream", {})),
    (["nothing"], ("DropNamespace", None, {})),
)


def _refusals(lab: Lab, place: Place, reply: Reply) -> None:
    below, (operation, data, request) = _REFUSED[len(lab.steps) // 2 % len(_REFUSED)]
    lab.call(operation, data, id=[*place.table, *below], **request)


_KINDS: tuple[tuple[str, Callable[[Lab], Place], Between], ...] = (
    ("a namespace far below the root", _deep, nothing),
    ("a namespace whose name needs encoding", _oddly_named, nothing),
    ("a namespace with the name of a dropped one", _dropped, nothing),
    ("a namespace, with null in every omitted field,", _with_nulls, nothing),
    ("a namespace, with an unused context,", _with_context, nothing),
    ("a namespace next to others whose names start with the same characters", _beside, nothing),
    ("a namespace that is read between all calls", _fresh, _reads),
    ("a namespace with failing calls in between", _fresh, _refusals),
)


def _as_fresh(
    kind: str, prepare: Callable[[Lab], Place], between: Between
) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        compare(_base(lab), gone_through(lab, [prepare(lab)], namespace, between)[0], kind)

    return run


for _number, (_kind, _prepare, _between) in enumerate(_KINDS):
    check(
        f"LN-ALIKE-6{_number:02}",
        f"Calls return the same results on {_kind} as on a fresh namespace.",
        _SOURCE,
        "CreateNamespace",
        capabilities=["namespaces"],
    )(_as_fresh(_kind, _prepare, _between))


@check("LN-ALIKE-620",
       "Interleaved calls on several namespaces return the same results as on a single one.",
       _SOURCE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def in_turns(lab: Lab) -> None:
    places = [_fresh(lab)]
    if lab.shape.nested:
        places.append(Place([*lab.new_namespace(), places[0].table[-1]], shift=None))
    else:
        places.append(_fresh(lab))
    for found in gone_through(lab, places, namespace):
        compare(_base(lab), found, "one of several namespaces, some below others,")


_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.swapcase)


def _underscored(word: str) -> str:
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(word)).upper()


def _spelt(word: str) -> list[str]:
    return sorted({write(word) for write in (*_CASES, _underscored)} - {word})


def _same_in_all(lab: Lab, told: dict[str, dict[str, object]]) -> None:
    """Check that all spellings of a word have the same effect; none of them is the reference."""
    for what, by_spelling in told.items():
        several = len({repr(found) for found in by_spelling.values()}) > 1
        lab.that(not several, f"{what} to do the same in every spelling", by_spelling)


@check("LN-SPELT-001",
       "Modes and behaviors of namespace operations have the same effect in every spelling.",
       'protocol semantics, "Modes": any case; ExistOk, exist_ok and EXIST_OK are the same',
       "CreateNamespace", "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def spelt_namespaces(lab: Lab) -> None:
    told: dict[str, dict[str, object]] = {}
    for mode in ("Create", "ExistOk", "Overwrite"):
        for spelling in (mode, *_spelt(mode)):
            namespace = lab.namespace_id()
            first = lab.call("CreateNamespace", id=namespace, mode=spelling, properties={"a": "1"})
            again = lab.call("CreateNamespace", id=namespace, mode=spelling, properties={"b": "2"})
            held = lab.call("DescribeNamespace", id=namespace).answer or {}
            kept = {k: v for k, v in (held.get("properties") or {}).items() if k in "ab"}
            found: list[object] = [first.code, again.code, kept]
            told.setdefault(f"mode {mode}", {})[spelling] = found
    for field, word in (
        ("mode", "Fail"),
        ("mode", "Skip"),
        ("behavior", "Restrict"),
        ("behavior", "Cascade"),
    ):
        for spelling in (word, *_spelt(word)):
            namespace = lab.new_namespace()
            if lab.shape.tables_in_new:
                lab.given("CreateTable", plain(1), id=[*namespace, "t"])
            full = lab.call("DropNamespace", id=namespace, **{field: spelling})
            none = lab.call("DropNamespace", id=lab.namespace_id(), **{field: spelling})
            found = [full.code, none.code, lab.exists("NamespaceExists", namespace)]
            told.setdefault(f"{field} {word}", {})[spelling] = found
    _same_in_all(lab, told)
    for field in ("mode", "behavior"):
        for word in ("", " Skip", "Skip ", "Casc", "Failx", "0", "Create"):
            namespace = lab.new_namespace()
            reply = lab.call("DropNamespace", id=namespace, **{field: word})
            if word != "":
                lab.must_fail(reply, [13])
                lab.that(
                    lab.exists("NamespaceExists", namespace),
                    "the namespace to be there",
                    "it is not",
                )


@check("LN-SPELT-002",
       "Modes of CreateTable and InsertIntoTable have the same effect in every letter case.",
       "rest.yaml, the fields mode: in any letter case", "CreateTable", "QueryTable",
       capabilities=["tables"])  # fmt: skip
def spelt_tables(lab: Lab) -> None:
    told: dict[str, dict[str, object]] = {}
    for mode in ("Create", "ExistOk", "Overwrite"):
        for spelling in (mode, *_spelt(mode)):
            table = lab.table_id()
            first = lab.call("CreateTable", plain(1), id=table, mode=spelling)
            again = lab.call("CreateTable", plain(2), id=table, mode=spelling)
            found: object = [first.code, again.code, lab.query(table).to_pylist()]
            told.setdefault(f"mode {mode}", {})[spelling] = found
    _same_in_all(lab, told)
    for mode in ("append", "overwrite"):
        for spelling in (mode, mode.upper(), mode.title(), mode.swapcase()):
            table = lab.table_id()
            lab.given("CreateTable", plain(1), id=table)
            lab.ok("InsertIntoTable", plain(2), id=table, mode=spelling)
            found = sorted(lab.query(table).column("x").to_pylist())
            lab.same(found, [1, 2] if mode == "append" else [2], f"the rows after mode {spelling}")
    for operation in ("CreateTable", "InsertIntoTable"):
        for word in ("exist ok", "Createx", "appendix", "over", "1", "Skip"):
            table = lab.table_id()
            lab.given("CreateTable", plain(1), id=table)
            lab.refused(operation, [13], plain(2), id=table, mode=word)
            lab.same(
                lab.query(table).to_pylist(), [{"x": 1}], f"the rows after mode {word} was refused"
            )


_WAYS = ("CreateTable", "CreateTable in mode Overwrite", "DeclareTable", "RegisterTable", "AlterTable",
         "RegisterTable in mode Overwrite")  # fmt: skip
_VALUES = {"plain": "1", "empty": "", "space": " a  b ", "lines": "a\nb\tc", "wide": "sch\u00f6n \U0001f600",
           "json": '{"a": [1, null]}', "number": "007", "word": "null", "true": "True",
           "long": "x" * 3000, "Upper.Key-with:signs/and space": "v", "schl\u00fcssel": "\u00e9",
           "quote'\"": "it's \"so\"", "percent%20": "a%20b+c&d=e"}  # fmt: skip


@check("LN-PROPERTY-001", "Table properties are stored exactly, whichever operation sets them.",
       "rest.yaml, the fields properties of the requests and responses", "CreateTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def of_tables(lab: Lab) -> None:
    kept: dict[str, dict[str, str]] = {}
    for way in _WAYS:
        table = lab.table_id()
        data = plain(1) if way.startswith("CreateTable") else None
        request: dict[str, object] = {}
        if way == "AlterTable":
            lab.given("CreateTable", plain(1), id=table)
        elif way.startswith("RegisterTable"):
            source = lab.table_id()
            lab.given("CreateTable", plain(1), id=source)
            request["location"] = lab.given("DescribeTable", id=source).get("location")
            lab.given("DeregisterTable", id=source)
        if way.endswith("Overwrite"):
            request["mode"] = "Overwrite"
            lab.given("CreateTable", plain(1), id=table)
        key = "set_properties" if way == "AlterTable" else "properties"
        reply = lab.call(way.partition(" ")[0], data, id=table, **{key: _VALUES}, **request)
        if reply.code in (0, 13) or forbids_location(reply):
            continue
        lab.must_succeed(reply)
        described = lab.ok("DescribeTable", id=table).get("properties")
        if described is None:
            raise Skipped("the catalog keeps no properties of tables")
        kept[way] = described
        for what, found in (
            (way, (reply.answer or {}).get("properties")),
            ("DescribeTable", described),
        ):
            if found is not None:
                lab.same(
                    {k: found.get(k) for k in _VALUES},
                    _VALUES,
                    f"the properties that {what} tells after {way}",
                )
        gone = lab.ok("DropTable", id=table).get("properties")
        if gone is not None:
            lab.same(
                {k: gone.get(k) for k in _VALUES},
                _VALUES,
                f"the properties that DropTable tells after {way}",
            )
    if not kept:
        raise Skipped("no way takes these properties")


@check("LN-PROPERTY-002", "Namespace properties are stored exactly, whichever operation sets them.",
       "rest.yaml, the fields properties of the requests and responses", "CreateNamespace",
       "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def of_namespaces(lab: Lab) -> None:
    for way in (
        "CreateNamespace",
        "CreateNamespace in mode Overwrite",
        "AlterNamespace",
        "ExistOk",
    ):
        namespace = lab.namespace_id()
        if way in ("AlterNamespace", "CreateNamespace in mode Overwrite"):
            lab.given("CreateNamespace", id=namespace)
        key = "set_properties" if way == "AlterNamespace" else "properties"
        mode = {"CreateNamespace in mode Overwrite": "Overwrite", "ExistOk": "ExistOk"}.get(way)
        request = {key: _VALUES} | ({"mode": mode} if mode else {})
        reply = lab.call(
            "AlterNamespace" if way == "AlterNamespace" else "CreateNamespace",
            id=namespace,
            **request,
        )
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        held = lab.ok("DescribeNamespace", id=namespace).get("properties")
        for found in ((reply.answer or {}).get("properties"), held):
            if found is not None:
                lab.same({k: found.get(k) for k in _VALUES}, _VALUES, f"the properties after {way}")
        # Each key can be removed without affecting the others.
        for number, name in enumerate(_VALUES):
            if (
                held is None
                or not lab.call("AlterNamespace", id=namespace, unset_properties=[name]).succeeded
            ):
                break
            left = lab.ok("DescribeNamespace", id=namespace).get("properties") or {}
            due = dict(list(_VALUES.items())[number + 1 :])
            lab.same(
                {k: v for k, v in left.items() if k in _VALUES},
                due,
                f"the properties without {name!r}",
            )
