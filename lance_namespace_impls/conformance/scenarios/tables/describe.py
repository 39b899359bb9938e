"""DescribeTable and TableExists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...catalog_objects import place_for_tables
from ...lab import Lab
from ...locations import place_of
from ...missing_codes import NO_BRANCH, NO_VERSION
from ...requirement import Level, check
from ...rows import people, stream
from ...table_state import furnished
from ...table_versions import two_versions
from .fixtures import missing_namespace_table

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_DESCRIBE = 'protocol semantics, "DescribeTable"; rest.yaml, DescribeTable'
_TABLES = ["tables"]
_DESCRIBE_RESPONSE = "rest.yaml, DescribeTableResponse; protocol semantics, DescribeTable"


@check("LN-TABLE-DESCRIBE-001", "DescribeTable returns the names of the table and its namespace.",
       f"{_DESCRIBE}; the published descriptions of table and namespace: with load_detailed_metadata",
       "DescribeTable", capabilities=["tables"], level=Level.SHOULD)  # fmt: skip
def describe_names(lab: Lab) -> None:
    identifier = lab.any_table()
    reply = lab.call("DescribeTable", id=identifier, load_detailed_metadata=True)
    if not reply.succeeded:  # it may fail for a declared table
        identifier = lab.new_table()
        reply = lab.call("DescribeTable", id=identifier, load_detailed_metadata=True)
    lab.must_succeed(reply)
    answer = reply.answer or {}
    lab.same(answer.get("table"), identifier[-1], "the name")
    lab.same(list(answer.get("namespace") or ()), identifier[:-1], "the namespace")


@check("LN-TABLE-DESCRIBE-002", "DescribeTable returns the location of the table.",
       f"{_DESCRIBE}; protocol semantics, How other clients call", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def describe_location(lab: Lab) -> None:
    answer = lab.ok("DescribeTable", id=lab.any_table())
    lab.that(bool(answer.get("location")), "a location", answer)


@check("LN-TABLE-DESCRIBE-003", "DescribeTable of a missing table fails with code 4.", _CODES,
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def describe_missing(lab: Lab) -> None:
    lab.refused("DescribeTable", [4], id=lab.table_id())


@check("LN-TABLE-DESCRIBE-004", "DescribeTable in a missing namespace fails with code 1 or 4.",
       _CODES,
       "DescribeTable", capabilities=["namespaces", "tables"])  # fmt: skip
def describe_without_parent(lab: Lab) -> None:
    lab.refused("DescribeTable", [1, 4], id=missing_namespace_table(lab))


@check("LN-TABLE-DESCRIBE-005",
       "check_declared distinguishes a declared table from a table with data.",
       _DESCRIBE, "DescribeTable", "DeclareTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_declared(lab: Lab) -> None:
    for table, expected in ((lab.new_declared(), True), (lab.new_table(), False)):
        answer = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(answer.get("is_only_declared"), expected, "is_only_declared")


@check("LN-TABLE-DESCRIBE-006", "load_detailed_metadata adds the version and the schema.",
       _DESCRIBE, "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_detailed(lab: Lab) -> None:
    answer = lab.maybe("DescribeTable", id=lab.shared_table(), load_detailed_metadata=True)
    lab.same(answer.get("version"), 1, "the version of a new table")
    fields = [f.get("name") for f in (answer.get("schema") or {}).get("fields") or ()]
    lab.same(fields, ["id", "name", "score", "vec"], "the columns")


@check("LN-TABLE-DESCRIBE-007", "load_detailed_metadata adds the types of the columns.",
       f"{_DESCRIBE}; rest.yaml, JsonArrowSchema", "DescribeTable", "CreateTable",
       capabilities=["tables"])  # fmt: skip
def describe_types(lab: Lab) -> None:
    answer = lab.maybe("DescribeTable", id=lab.shared_table(), load_detailed_metadata=True)
    fields = {f["name"]: f for f in (answer.get("schema") or {}).get("fields") or ()}
    for name, types in (("id", ("int64",)), ("name", ("utf8", "string")),
                        ("score", ("float64", "double"))):  # fmt: skip
        found = str((fields.get(name) or {}).get("type", {}).get("type", "")).lower()
        lab.that(found in types, f"{name} to have the type {types[0]}", found)


@check("LN-TABLE-DESCRIBE-008", "with_table_uri adds a full URI.", _DESCRIBE, "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def describe_uri(lab: Lab) -> None:
    answer = lab.ok("DescribeTable", id=lab.any_table(), with_table_uri=True)
    uri = answer.get("table_uri")
    lab.that("://" in str(uri) or str(uri).startswith("/"), "a URI", answer)


@check("LN-TABLE-DESCRIBE-009", "DescribeTable of a missing version fails with code 11.",
       f"{_CODES}; without load_detailed_metadata, only the catalog is queried",
       "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_version_missing(lab: Lab) -> None:
    table = lab.shared_table()
    lab.refused("DescribeTable", [11], id=table, version=999, load_detailed_metadata=True)


@check("LN-TABLE-DESCRIBE-010", "DescribeTable accepts at most one of version and tag.", _DESCRIBE,
       "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_version_and_tag(lab: Lab) -> None:
    lab.refused("DescribeTable", [13], id=lab.shared_table(), version=1, tag="t")


@check("LN-TABLE-DESCRIBE-011", "DescribeTable describes the newest version by default.", _DESCRIBE,
       "DescribeTable", "InsertIntoTable", capabilities=["tables"])  # fmt: skip
def describe_newest(lab: Lab) -> None:
    table = lab.new_table()
    inserted = lab.ok("InsertIntoTable", stream(people(11)), id=table)
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    version = answer.get("version")
    lab.that(isinstance(version, int) and version > 1, "a version after 1", version)
    if inserted.get("version") is not None:
        lab.same(version, inserted["version"], "the version")


def _told_metadata(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the dataset metadata of an answer of DescribeTable, from either of its two fields."""
    return {
        **(found.get("metadata") or {}),
        **((found.get("schema") or {}).get("metadata") or {}),
    }


@check("LN-TABLE-DESCRIBE-017",
       "DescribeTable returns the table's own details, whatever was requested before.",
       _DESCRIBE, "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def each_its_own(lab: Lab) -> None:
    parents = [list(lab.shape.table_parent or ())]
    if lab.shape.tables_in_new:
        parents.append(place_for_tables(lab))
    tables = [[*parent, lab.ledger.fresh()] for parent in parents for _ in range(2)]
    for number, table in enumerate(tables, start=1):
        properties = {"owner": f"p{number}"}
        reply = lab.call("CreateTable", stream(people(1)), id=table, properties=properties)
        if reply.code in (0, 13):
            lab.given("CreateTable", stream(people(1)), id=table)
        for _ in range(number):
            lab.given("InsertIntoTable", stream(people(2)), id=table)
        lab.call("UpdateTableSchemaMetadata", id=table, metadata={"number": str(number)})
    asked = {"load_detailed_metadata": True, "with_table_uri": True, "check_declared": True}
    for number, table in [*enumerate(tables, start=1)] * 2:
        found = lab.maybe("DescribeTable", id=table, **asked)
        own = {"table": table[-1], "namespace": table[:-1], "is_only_declared": False}
        for key, value in own.items():
            if found.get(key) is not None:
                lab.same(found[key], value, key)
        if found.get("table_uri"):
            lab.same(
                place_of(found["table_uri"]),
                place_of(found.get("location")),
                "the URI of the table",
            )
        if (found.get("stats") or {}).get("num_fragments") is not None:
            lab.same(found["stats"]["num_fragments"], number + 1, "num_fragments")
        for kind, told, key, value in (
            ("properties", found.get("properties"), "owner", f"p{number}"),
            ("metadata", _told_metadata(found), "number", str(number)),
        ):
            if told and key in told:
                lab.same(told[key], value, f"the {key} of the {kind}")


@check("LN-TABLE-DESCRIBE-018", "DescribeTable reflects each change to the table.",
       _DESCRIBE, "DescribeTable", "DeclareTable", "CreateTable", "InsertIntoTable",
       capabilities=["tables"])  # fmt: skip
def follows(lab: Lab) -> None:
    table = lab.new_declared()
    asked = {"load_detailed_metadata": True, "with_table_uri": True, "check_declared": True}
    lab.maybe("DescribeTable", id=table, check_declared=True)
    lab.call("DescribeTable", id=table, **asked)
    lab.given("CreateTable", stream(people(1)), id=table)
    first = lab.maybe("DescribeTable", id=table, **asked)
    for found in (first, lab.maybe("DescribeTable", id=table, check_declared=True)):
        lab.that(
            found.get("is_only_declared") in (None, False),
            "a table with rows, not only declared",
            found,
        )
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    changed = lab.call("UpdateTableSchemaMetadata", id=table, metadata={"a": "b"}).succeeded
    found = lab.maybe("DescribeTable", id=table, **asked)
    if (found.get("stats") or {}).get("num_fragments") is not None:
        lab.same(found["stats"]["num_fragments"], 2, "num_fragments")
    if changed and first.get("schema") is not None:
        lab.has(_told_metadata(found), {"a": "b"}, "the metadata of the table and of its schema")
    lab.given("DropTable", id=table)
    lab.given("DeclareTable", id=table)
    found = lab.maybe("DescribeTable", id=table, check_declared=True, with_table_uri=True)
    lab.that(found.get("is_only_declared") in (None, True), "a table that is only declared", found)
    if found.get("table_uri"):
        lab.same(
            place_of(found["table_uri"]), place_of(found.get("location")), "the URI of the table"
        )


@check("LN-TABLE-DESCRIBE-019",
       "Responses to operations that remove an object describe that object.",
       "rest.yaml, the responses of the operations", "DeclareTable", "DeregisterTable",
       capabilities=["tables"])  # fmt: skip
def answers_of_two(lab: Lab) -> None:
    tables = [lab.table_id(), lab.table_id()]
    for number, table in enumerate(tables):
        lab.maybe("DeclareTable", id=table, properties={"owner": f"p{number}"})
    places = [lab.ok("DescribeTable", id=table).get("location") for table in tables]
    for operation in ("DeregisterTable", "DropTable"):
        for number, (table, place) in enumerate(zip(tables, places, strict=True)):
            if operation == "DropTable" and not lab.call("DeclareTable", id=table).succeeded:
                continue
            answer = lab.ok(operation, id=table)
            own = {"id": table, "location": place}
            for key in ("id", "location") if operation == "DeregisterTable" else ("id",):
                if answer.get(key) is not None:
                    lab.same(answer[key], own[key], key)
            owner = (answer.get("properties") or {}).get("owner", f"p{number}")
            lab.same(owner, f"p{number}", "the property owner")
    if lab.shape.namespace_parent is None:
        return
    namespaces = [lab.namespace_id(), lab.namespace_id()]
    for number, namespace in enumerate(namespaces):
        lab.maybe("CreateNamespace", id=namespace, properties={"owner": f"p{number}"})
    for number, namespace in enumerate(namespaces):
        found = lab.ok("DropNamespace", id=namespace).get("properties") or {}
        lab.same(found.get("owner", f"p{number}"), f"p{number}", "the property owner")


@check("LN-TABLE-DESCRIBE-020", "RegisterTable returns the location and properties of the request.",
       "rest.yaml, RegisterTableResponse", "RegisterTable", "DeregisterTable", "CreateTable",
       capabilities=["tables"])  # fmt: skip
def registered_two(lab: Lab) -> None:
    tables = [lab.new_table(1), lab.new_table(2)]
    places = [str(lab.given("DescribeTable", id=table).get("location")) for table in tables]
    for number, (table, place) in enumerate(zip(tables, places, strict=True)):
        lab.given("DeregisterTable", id=table)
        owner = {"owner": f"p{number}"}
        answer = lab.maybe("RegisterTable", id=table, location=place, properties=owner)
        if answer.get("location") is not None:
            lab.same(place_of(answer["location"]), place_of(place), "the location")
        if answer.get("properties"):
            lab.has(answer["properties"], owner, "the properties")


@check("LN-TABLE-DESCRIBE-022",
       "The responses of DeclareTable and MergeInsertIntoTable describe the requested table.",
       "rest.yaml, DeclareTableResponse and MergeInsertIntoTableResponse", "DeclareTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def of_the_table(lab: Lab) -> None:
    for owner in ("ana", "bob", "ana"):
        reply = lab.call("DeclareTable", id=lab.table_id(), properties={"owner": owner})
        found = (reply.answer or {}).get("properties")
        if found is not None and reply.succeeded:
            lab.has(found, {"owner": owner}, "the returned properties")
    gone = {"on": "id", "when_matched_update_all": True, "when_not_matched_by_source_delete": True}
    for size in (2, 5, 3):
        table = lab.new_table(*range(size))
        answer = lab.maybe("MergeInsertIntoTable", stream(people(0)), id=table, **gone)
        for key, due in (("num_deleted_rows", size - 1), ("num_updated_rows", 1)):
            if answer.get(key) is not None:
                lab.same(answer[key], due, key)


def described(lab: Lab, table: list[str], **more: Any) -> dict[str, Any]:
    """Return the answer of DescribeTable with detailed metadata."""
    return dict(lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **more))


@check("LN-TABLE-DESCRIBE-012", "DescribeTable with a tag describes the tagged version.",
       "rest.yaml, DescribeTableRequest: name of the tag whose version is described",
       "DescribeTable", "CreateTableTag", "AlterTableAddColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def describe_tag(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.given(
        "AlterTableAddColumns", id=table, new_columns=[{"name": "twice", "expression": "id * 2"}]
    )
    for more in ({"tag": "first"}, {"version": 1}):
        answer = described(lab, table, **more)
        names = [f["name"] for f in (answer.get("schema") or {}).get("fields") or ()]
        lab.that("twice" not in names, f"the columns of version 1 for {more}", names)


@check("LN-TABLE-DESCRIBE-013",
       "A table is no longer reported as only declared once rows are written to it.", _DESCRIBE_RESPONSE,
       "DescribeTable", "DeclareTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def no_longer_declared(lab: Lab) -> None:
    table = lab.new_declared()
    reply = lab.call("InsertIntoTable", stream(people(1)), id=table)
    if not reply.succeeded:
        lab.maybe("CreateTable", stream(people(1)), id=table, mode="Overwrite")
    answer = lab.ok("DescribeTable", id=table, check_declared=True)
    lab.same(bool(answer.get("is_only_declared")), False, "is_only_declared")


@check("LN-TABLE-DESCRIBE-014",
       "DescribeTable returns the columns of the schema in order, with their nullability.",
       _DESCRIBE_RESPONSE, "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def schema(lab: Lab) -> None:
    answer = described(lab, lab.shared_table())
    fields = (answer.get("schema") or {}).get("fields") or ()
    lab.same([f["name"] for f in fields], people(1).column_names, "the columns")
    lab.same([f["nullable"] for f in fields], [True] * len(fields), "which columns are nullable")


@check("LN-TABLE-DESCRIBE-015", "The stats of DescribeTable count fragments and deleted rows.",
       "rest.yaml, TableBasicStats", "DescribeTable", "DeleteFromTable", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def basic_stats(lab: Lab) -> None:
    table = two_versions(lab)
    stats = described(lab, table).get("stats") or {}
    if "num_fragments" in stats:
        lab.same((stats["num_fragments"], stats["num_deleted_rows"]), (2, 0), "the stats")
    lab.ok("DeleteFromTable", id=table, predicate="id = 3")
    stats = described(lab, table).get("stats") or {}
    if "num_deleted_rows" in stats:
        lab.that(stats["num_deleted_rows"] in (0, 1), "at most one deleted row", stats)
        whole = lab.call("GetTableStats", id=table)
        if whole.succeeded:
            lab.same((whole.answer or {}).get("num_rows"), 10, "num_rows")


@check("LN-TABLE-DESCRIBE-016",
       "DescribeTable returns table_uri, is_only_declared and version on request, the first two "
       "only then.",
       "rest.yaml, DescribeTableResponse", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def unasked(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("DescribeTable", id=table)
    for key in ("table_uri", "is_only_declared"):
        lab.same(answer.get(key), None, key)
    full = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, with_table_uri=True,
                     check_declared=True)  # fmt: skip
    lab.same(full.get("location"), answer.get("location"), "the location")
    lab.that("://" in str(full.get("table_uri")), "a URI with its scheme", full.get("table_uri"))
    lab.same(full.get("is_only_declared"), False, "is_only_declared")
    lab.same(full.get("version"), 1, "the version")


@check("LN-TABLE-DESCRIBE-021",
       "DescribeTable with more than one of version, tag and branch fails with code 13.",
       "rest.yaml, DescribeTableRequest", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def at_most_one(lab: Lab) -> None:
    table = furnished(lab)
    for request in (
        {"version": 1, "tag": "first"},
        {"version": 1, "branch": "side"},
        {"tag": "first", "branch": "side"},
    ):
        lab.refused("DescribeTable", [0, 13], id=table, **request)


@check("LN-TABLE-DESCRIBE-023",
       "The stats that DescribeTable returns are those of the described version.",
       "rest.yaml, DescribeTableResponse: basic figures of the described version", "DescribeTable",
       "InsertIntoTable", "DeleteFromTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats_as_of(lab: Lab) -> None:
    table = lab.new_table()

    def stats(**request: Any) -> Any:
        return lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **request).get(
            "stats"
        )

    before = stats()
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.given("DeleteFromTable", id=table, predicate="id = 3")
    lab.that(stats() != before, "different statistics after two writes", before)
    lab.same(stats(version=1), before, "the statistics of version 1")
    lab.call("CreateTableTag", id=table, tag="first", version=1)
    if lab.last is not None and lab.last.succeeded:
        lab.same(stats(tag="first"), before, "the statistics for the tag of version 1")


@check("LN-TABLE-DESCRIBE-060", "Version 0 and versions of a declared table do not exist, and "
       "only requested details are returned.",
       "rest.yaml, the fields version and the flags of DescribeTableRequest and TableExistsRequest",
       "DescribeTable", "TableExists", "CreateTable", capabilities=_TABLES)  # fmt: skip
def no_version(lab: Lab) -> None:
    table = lab.shared_table()
    full = {"load_detailed_metadata": True}  # without it only the catalog is read
    for more in ({}, {"check_declared": True}):
        lab.refused("DescribeTable", [0, 11, 13], id=table, version=0, **full, **more)
    lab.refused("TableExists", [0, 4, 13], id=table, version=0)
    asked = ("with_table_uri", "check_declared", "load_detailed_metadata")
    told = lab.ok("DescribeTable", id=table, **dict.fromkeys(asked, False))
    lab.same(
        (told.get("table_uri"), told.get("is_only_declared")),
        (None,) * 2,
        "table_uri and is_only_declared without their flags",
    )
    for of in ({"version": 1}, {}):
        found = lab.maybe("DescribeTable", id=table, **dict.fromkeys(asked, True), **of)
        flags = found.get("is_only_declared"), bool(found.get("table_uri")), found.get("location")
        lab.same(
            flags,
            (False, True, told.get("location")),
            f"is_only_declared, whether table_uri is present, and location with {of}",
        )
    declared = lab.new_declared()
    lab.refused("TableExists", [0, 4, 13], id=declared, version=1)
    for key, name in (("version", 1), ("tag", "t"), ("branch", "b")):
        codes = [0, *NO_BRANCH, 19] if key == "branch" else [0, *NO_VERSION, 19]
        lab.refused("DescribeTable", codes, id=declared, **full, **{key: name})


@check("LN-TABLE-EXISTS-001", "TableExists succeeds for an existing table.",
       "rest.yaml, TableExists", "TableExists", capabilities=["tables"])  # fmt: skip
def exists(lab: Lab) -> None:
    lab.ok("TableExists", id=lab.any_table())


@check("LN-TABLE-EXISTS-002", "TableExists of a missing table fails with code 4.", _CODES,
       "TableExists", capabilities=["tables"])  # fmt: skip
def exists_missing(lab: Lab) -> None:
    lab.refused("TableExists", [4], id=lab.table_id())


@check("LN-TABLE-EXISTS-003", "TableExists succeeds for a declared table.",
       "protocol semantics, DescribeTable; general specification, Table Existence", "TableExists",
       "DeclareTable", capabilities=["tables"])  # fmt: skip
def exists_declared(lab: Lab) -> None:
    lab.ok("TableExists", id=lab.new_declared())


@check("LN-TABLE-EXISTS-004",
       "A namespace is not a table: TableExists of a namespace fails with code 4.",
       "rest.yaml, TableExists", "TableExists", capabilities=["nested", "tables"])  # fmt: skip
def exists_namespace(lab: Lab) -> None:
    lab.refused("TableExists", [1, 4, 13], id=lab.new_namespace())


@check("LN-TABLE-EXISTS-005", "TableExists fails for a version that does not exist.",
       "rest.yaml, TableExistsRequest", "TableExists", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def exists_version(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("TableExists", id=table, version=1)
    lab.refused("TableExists", [4, 11], id=table, version=999)
