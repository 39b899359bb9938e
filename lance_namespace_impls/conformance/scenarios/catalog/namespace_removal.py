"""DropNamespace: its modes and behaviors, and the contents of the namespace."""

from __future__ import annotations

from ...catalog_objects import PROPERTIES, deep, namespace_for_tables, with_properties
from ...lab import Failed, Lab, NotReached, Skipped
from ...requirement import check
from ...rows import people, plain, stream
from .fixtures import filled_namespace

_DROP = 'protocol semantics, "Modes"; rest.yaml, DropNamespace'
_MODES = 'protocol semantics, "Modes"'
_BOTH = ["tables", "namespaces"]


@check("LN-NAMESPACE-DROP-001", "A namespace no longer exists after DropNamespace.", _DROP,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier)
    lab.that(
        not lab.exists("NamespaceExists", identifier),
        "the namespace to no longer exist",
        "it exists",
    )


@check("LN-NAMESPACE-DROP-002",
       "DropNamespace of a missing namespace fails with code 1 in mode Fail; the Iceberg "
       "specification allows it to succeed.", f"{_DROP}; iceberg specification, DropNamespace",
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_missing(lab: Lab) -> None:
    identifier = lab.namespace_id()
    reply = lab.call("DropNamespace", id=identifier, mode="Fail")
    if reply.succeeded:
        return
    lab.must_fail(reply, [1])


@check("LN-NAMESPACE-DROP-003", "DropNamespace of a missing namespace succeeds in mode Skip.",
       _DROP, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_skip(lab: Lab) -> None:
    identifier = lab.namespace_id()
    for spelling in ("Skip", "skip", "SKIP"):
        lab.ok("DropNamespace", id=identifier, mode=spelling)


@check("LN-NAMESPACE-DROP-004", "Mode Skip drops an existing namespace.", _DROP, "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_skip_drops(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier, mode="Skip")
    lab.that(
        not lab.exists("NamespaceExists", identifier),
        "the namespace to no longer exist",
        "it exists",
    )


def with_contents(lab: Lab) -> tuple[list[str], list[str], str]:
    """Return a namespace, an object in it, and the operation that tests if the object exists."""
    identifier = lab.new_namespace()
    child = [*identifier, lab.ledger.fresh()]
    for operation, data, look in (
        ("DeclareTable", None, "TableExists"),
        ("CreateTable", plain(1), "TableExists"),
        ("CreateNamespace", None, "NamespaceExists"),
    ):
        reply = lab.call(operation, data, id=child)
        if reply.succeeded:
            return identifier, child, look
    if lab.shape.nested or lab.shape.tables_in_new:
        raise NotReached(f"{reply.step.operation} failed: {reply.outcome()}")
    raise Skipped("namespaces on this target can contain neither tables nor namespaces")


@check("LN-NAMESPACE-DROP-005", "DropNamespace of a namespace that is not empty fails with code 3.",
       _DROP, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_not_empty(lab: Lab) -> None:
    identifier, _, _ = with_contents(lab)
    lab.refused("DropNamespace", [3], id=identifier)


@check("LN-NAMESPACE-DROP-006", "A failed DropNamespace keeps the namespace and its contents.",
       _DROP, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_not_empty_keeps(lab: Lab) -> None:
    identifier, child, look = with_contents(lab)
    reply = lab.call("DropNamespace", id=identifier, behavior="Restrict")
    if reply.succeeded:
        raise Failed("DropNamespace to keep a namespace that is not empty", reply.outcome(), reply)
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to remain", "it no longer exists"
    )
    lab.that(lab.exists(look, child), "its contents to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-007", "Behavior Cascade also drops the contents of the namespace.",
       _DROP, "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def cascade(lab: Lab) -> None:
    identifier, child, look = with_contents(lab)
    lab.maybe("DropNamespace", id=identifier, behavior="Cascade")
    lab.that(
        not lab.exists("NamespaceExists", identifier),
        "the namespace to no longer exist",
        "it exists",
    )
    lab.that(not lab.exists(look, child), "its contents to no longer exist", "it exists")
    lab.given("CreateNamespace", id=identifier)
    lab.that(not lab.exists(look, child), "a new namespace to be empty", f"{child} is back")


@check("LN-NAMESPACE-DROP-008",
       "An unknown mode of DropNamespace fails with code 13 and drops nothing.", _DROP,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_mode(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropNamespace", [13], id=identifier, mode="sometimes")
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to remain", "it no longer exists"
    )


@check("LN-NAMESPACE-DROP-009",
       "An unknown behavior of DropNamespace fails with code 13 and drops nothing.", _DROP,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_behavior(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DropNamespace", [13], id=identifier, behavior="gently")
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to remain", "it no longer exists"
    )


@check("LN-NAMESPACE-DROP-010",
       "The properties that DropNamespace returns, if any, are those of the dropped namespace.",
       "rest.yaml, DropNamespaceResponse", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_answers(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.ok("DropNamespace", id=identifier)
    if answer.get("properties"):
        lab.has(answer["properties"], PROPERTIES, "the properties in the response")


@check("LN-NAMESPACE-DROP-011",
       "A name can be reused after DropNamespace, without the old properties.",
       "general specification, Object Name", "DropNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_and_create(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.ok("DropNamespace", id=identifier)
    lab.ok("CreateNamespace", id=identifier)
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.that("owner" not in found, "no property of the previous object", found)


@check("LN-NAMESPACE-DROP-012", "DropNamespace does not affect namespaces with similar names.",
       "general specification, Object Identifier", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_neighbours(lab: Lab) -> None:
    identifier = lab.new_namespace()
    longer = [*identifier[:-1], identifier[-1] + "x"]
    lab.given("CreateNamespace", id=longer)
    lab.ok("DropNamespace", id=identifier)
    lab.that(lab.exists("NamespaceExists", longer), f"{longer} to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-013",
       "A second DropNamespace fails with code 1, unless dropping is idempotent.",
       f"{_DROP}; iceberg specification, DropNamespace", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def drop_twice(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.ok("DropNamespace", id=identifier)
    reply = lab.call("DropNamespace", id=identifier)
    if not reply.succeeded:
        lab.must_fail(reply, [1])


@check("LN-NAMESPACE-DROP-019",
       "DropNamespace of a missing namespace in mode Skip succeeds with either behavior.", _DROP,
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def skip_either(lab: Lab) -> None:
    for behavior in ("Restrict", "Cascade", "CASCADE"):
        lab.maybe("DropNamespace", id=lab.namespace_id(), mode="Skip", behavior=behavior)


@check("LN-NAMESPACE-DROP-020",
       "A table is not a namespace: it is not described or dropped as one.",
       "general specification, Object Name and Object Identifier", "DropNamespace",
       capabilities=["tables", "namespaces"])  # fmt: skip
def not_a_table(lab: Lab) -> None:
    table = lab.any_table()
    for operation in ("DescribeNamespace", "NamespaceExists", "ListTables", "ListNamespaces"):
        reply = lab.call(operation, id=table)
        empty = operation.startswith("List") and not any((reply.answer or {}).values())
        if reply.code != 0 and not (reply.succeeded and empty):
            lab.must_fail(reply, [1, 13])
    # The Iceberg specification allows a drop of a missing namespace to succeed.
    idempotent = lab.call("DropNamespace", id=lab.namespace_id()).succeeded
    for more in ({}, {"behavior": "Cascade"}, {"mode": "Skip"}):
        reply = lab.call("DropNamespace", id=table, **more)
        if not (reply.succeeded and (idempotent or more.get("mode"))):
            lab.must_fail(reply, [0, 1, 13])
        lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-021", "Nothing can be created below a table.",
       "general specification, Namespace Definition: it contains tables or namespaces; Parent & Child",
       "CreateNamespace", capabilities=["tables", "namespaces"])  # fmt: skip
def below_a_table(lab: Lab) -> None:
    table = lab.any_table()
    for operation in ("CreateNamespace", "DeclareTable"):
        lab.refused(operation, [0, 1, 13], id=[*table, lab.ledger.fresh()])
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-024",
       "Namespaces with the same last name under different parents have separate contents.",
       "rest.yaml, DropNamespace; general specification, Object Identifier", "CreateNamespace",
       "DropNamespace", capabilities=["namespaces", "nested"])  # fmt: skip
def of_one_last_name(lab: Lab) -> None:
    first, second = lab.new_namespace(), lab.new_namespace()
    full, empty = [*first, "same"], [*second, "same"]
    lab.maybe("CreateNamespace", id=full)
    lab.maybe("DeclareTable", id=[*full, "t"])
    lab.refused("NamespaceExists", [1], id=empty)
    lab.refused("DescribeNamespace", [1], id=empty)
    lab.ok("CreateNamespace", id=empty)
    lab.same(lab.walk("ListTables", "tables", id=empty), [], "the tables in the empty namespace")
    lab.ok("DropNamespace", id=empty)
    lab.refused("DropNamespace", [3], id=full)
    lab.that(lab.exists("TableExists", [*full, "t"]), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-025",
       "At any level, Skip ignores a missing namespace, and Cascade drops one with all its "
       "contents.", _DROP, "CreateNamespace", "DropNamespace",
       capabilities=["namespaces", "nested"])  # fmt: skip
def at_any_level(lab: Lab) -> None:
    top = lab.new_namespace()
    reply = lab.call("DropNamespace", id=[*top, "none", "child"], mode="Skip")
    if reply.code not in (0, 13):
        lab.must_succeed(reply)
    levels = [[*top, "a"], [*top, "a", "b"]]
    made = [level for level in levels if lab.call("CreateNamespace", id=level).succeeded]
    tables = [
        [*level, "t"]
        for level in (top, *made)
        if lab.call("DeclareTable", id=[*level, "t"]).succeeded
    ]
    lab.maybe("DropNamespace", id=top, behavior="Cascade")
    for level in (top, *made):
        lab.that(
            not lab.exists("NamespaceExists", level), f"{level} to no longer exist", "it exists"
        )
        lab.ok("CreateNamespace", id=level)
    for table in tables:
        lab.that(
            not lab.exists("TableExists", table), f"{table} to no longer exist", "it exists again"
        )
    for level in (top, *made):
        lab.same(lab.walk("ListTables", "tables", id=level), [], f"the tables in {level}")


@check("LN-NAMESPACE-DROP-014", "A namespace that contains only declared tables is not empty.",
       _MODES, "DropNamespace", "DeclareTable", "DescribeTable",
       capabilities=["tables", "namespaces"])  # fmt: skip
def drop_declared(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        return
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("DropNamespace", [3], id=namespace)
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-015", "A namespace that contains only child namespaces is not empty.",
       _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def drop_children(lab: Lab) -> None:
    namespace = lab.new_namespace()
    child = [*namespace, lab.ledger.fresh()]
    made = lab.call("CreateNamespace", id=child)
    if not made.succeeded:
        return
    lab.refused("DropNamespace", [3], id=namespace)
    lab.that(lab.exists("NamespaceExists", child), "the child to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-016",
       "DropNamespace with mode Skip or behavior Restrict fails with code 3 if the namespace is "
       "not empty.", _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["tables", "namespaces"])  # fmt: skip
def skip_not_empty(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces cannot contain tables")
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("DropNamespace", [3], id=namespace, mode="Skip")
    lab.refused("DropNamespace", [3], id=namespace, behavior="restrict")
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-DROP-017",
       "DropNamespace with behavior Cascade drops all nested levels and nothing else.", _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def cascade_of_levels(lab: Lab) -> None:
    namespace, beside = lab.new_namespace(), lab.new_namespace()
    child = [*namespace, lab.ledger.fresh()]
    if not lab.call("CreateNamespace", id=child).succeeded:
        raise Skipped("namespaces at this depth cannot be created")
    made = [t for t in ([*namespace, lab.ledger.fresh()], [*child, lab.ledger.fresh()],
                        [*beside, lab.ledger.fresh()])
            if lab.call("DeclareTable", id=t).succeeded]  # fmt: skip
    lab.maybe("DropNamespace", id=namespace, behavior="CASCADE")
    for gone in (namespace, child):
        lab.that(not lab.exists("NamespaceExists", gone), f"{gone} to no longer exist", "it exists")
    for table in made:
        there = lab.exists("TableExists", table)
        lab.same(there, table[:-1] == beside, f"whether {table} exists")
    lab.given("CreateNamespace", id=namespace)
    lab.same(
        lab.walk("ListNamespaces", "namespaces", id=namespace),
        [],
        "the namespaces in a new namespace",
    )
    lab.same(lab.walk("ListTables", "tables", id=namespace), [], "the tables in a new namespace")


@check("LN-NAMESPACE-DROP-018",
       "DropNamespace with behavior Cascade keeps the data, which can be registered again.",
       "rest.yaml, DropNamespaceRequest", "DropNamespace", "CreateTable", "RegisterTable",
       "DescribeTable", capabilities=["tables", "namespaces"])  # fmt: skip
def cascade_keeps_data(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces cannot contain tables")
    namespace, other = lab.new_namespace(), lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("CreateTable", stream(people(1, 2)), id=table)
    location = lab.ok("DescribeTable", id=table).get("location")
    lab.maybe("DropNamespace", id=namespace, behavior="Cascade")
    again = [*other, lab.ledger.fresh()]
    lab.maybe("RegisterTable", id=again, location=location)
    lab.same(lab.ids(again), [1, 2], "the ids")


@check("LN-NAMESPACE-DROP-022", "DropNamespace with Cascade deletes no table's data, at any level.",
       "rest.yaml, DropNamespace: data in storage is never deleted, not even with Cascade",
       "DropNamespace", "CreateTable", "RegisterTable", "DescribeTable",
       capabilities=["tables", "nested"])  # fmt: skip
def cascade_keeps_all(lab: Lab) -> None:
    for mode in ({}, {"mode": "Skip"}):
        levels = deep(lab)
        places = []
        for number, namespace in enumerate(levels, start=1):
            table = [*namespace, lab.ledger.fresh()]
            if lab.call("CreateTable", stream(people(number)), id=table).succeeded:
                places.append((number, lab.ok("DescribeTable", id=table).get("location")))
        lab.maybe("DropNamespace", id=levels[0], behavior="Cascade", **mode)
        for namespace in levels:
            lab.that(
                not lab.exists("NamespaceExists", namespace), "no namespace to remain", namespace
            )
        for number, place in places:
            again = lab.table_id()
            lab.maybe("RegisterTable", id=again, location=place)
            lab.same(lab.ids(again), [number], f"the ids in the table at level {number}")


@check("LN-NAMESPACE-DROP-060",
       "Creating, moving and removing tables changes whether a namespace is empty.",
       "rest.yaml, DropNamespace: a namespace that contains any object", "DropNamespace", "CreateTable",
       capabilities=_BOTH)  # fmt: skip
def emptied(lab: Lab) -> None:
    one, other = namespace_for_tables(lab), namespace_for_tables(lab)
    lab.given("CreateTable", plain(1), id=[*one, "t"])
    lab.refused("DropNamespace", [3], id=one)
    moved = {"new_table_name": "t", "new_namespace_id": other}
    if lab.call("RenameTable", id=[*one, "t"], **moved).succeeded:
        lab.refused("DropNamespace", [3], id=other)
        lab.ok("DropNamespace", id=one)
        one = other
    if not lab.call("DeregisterTable", id=[*one, "t"]).succeeded:
        lab.given("DropTable", id=[*one, "t"])
    lab.ok("DropNamespace", id=one)


@check("LN-NAMESPACE-DROP-061", "Cascade removes the current contents of a namespace, and nothing "
       "from similarly named ones.",
       "rest.yaml, DropNamespaceRequest: Cascade removes every child from the catalog", "DropNamespace",
       "CreateTable", capabilities=_BOTH)  # fmt: skip
def cascade_of_current_contents(lab: Lab) -> None:
    namespace = filled_namespace(lab)
    beside = [*namespace[:-1], namespace[-1] + "x"]
    stay, gone = [], [[*namespace, "t"]]
    for each in (beside, [*beside, namespace[-1]]):
        lab.call("CreateNamespace", id=each)
        if lab.call("CreateTable", stream(people(4)), id=[*each, "t"]).succeeded:
            stay.append([*each, "t"])
    lab.given("CreateTable", stream(people(4)), id=[*namespace, "out"])
    lab.given("CreateTable", stream(people(5)), id=[*beside, "in"])
    ways = (("out", namespace, beside, stay), ("in", beside, namespace, gone))
    for name, source, target, kept in ways:
        request = {"new_table_name": name, "new_namespace_id": target}
        if lab.call("RenameTable", id=[*source, name], **request).succeeded:
            kept.append([*target, name])
    lab.maybe("DropNamespace", id=namespace, behavior="Cascade")
    for table in gone:
        lab.refused("DescribeTable", [1, 4], id=table)
    for table in stay:
        lab.same(lab.ids(table), [4], f"the ids in {table}, which is outside the dropped namespace")
    lab.ok("CreateNamespace", id=namespace)
    lab.ok("CreateTable", stream(people(7)), id=[*namespace, "t"])
    lab.same(lab.ids([*namespace, "t"]), [7], "the ids in a new table with the old name")


@check("LN-NAMESPACE-DROP-062", "DropNamespace supports every combination of mode and behavior.",
       "rest.yaml, DropNamespaceRequest, and DropNamespaceResponse: the properties that it had",
       "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def dropped(lab: Lab) -> None:
    # The Iceberg specification allows a drop of a missing namespace to succeed.
    idempotent = lab.call("DropNamespace", id=lab.namespace_id()).succeeded
    for pair in ("Fail Restrict", "Fail Cascade", "Skip Restrict", "Skip Cascade"):
        mode, behavior = pair.split()
        request = {"mode": mode, "behavior": behavior}
        namespace = lab.namespace_id()
        lab.maybe("CreateNamespace", id=namespace, properties=PROPERTIES)
        told = lab.ok("DescribeNamespace", id=namespace).get("properties")
        for there in (True, False):
            reply = lab.call("DropNamespace", id=namespace, **request)
            if reply.code == 0:
                break
            lab.that(reply.code in (None, 1), "success or code 1", reply.outcome())
            due = there or mode == "Skip" or idempotent
            lab.same(reply.succeeded, due, f"whether {request} succeeds for exists={there}")
            found = (reply.answer or {}).get("properties")
            lab.that(not found or (there and found == told), f"{told} once", found)
            lab.that(not lab.exists("NamespaceExists", namespace), "no namespace", request)
