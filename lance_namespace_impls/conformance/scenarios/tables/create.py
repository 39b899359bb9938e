"""CreateTable: its modes and the stored rows."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from ....core.imports import load
from ...catalog_objects import PROPERTIES, place_for_tables
from ...lab import Failed, Lab, Skipped
from ...locations import local_folder
from ...requirement import Level, check
from ...rows import PEOPLE, people, plain, stream
from ...table_state import table_entry, unchanged
from ...table_versions import branch_ids, forked_table, version_numbers
from .fixtures import missing_namespace_table

_CREATE = 'protocol semantics, "Modes"; rest.yaml, CreateTable'
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_ARROW = 'protocol semantics, "Bodies that are not JSON objects"; rest.yaml, CreateTable'
_STORED = (
    'protocol semantics, "Modes"; rest.yaml, CreateTable; '
    "protocol semantics, How other clients call"
)
_MODES = 'protocol semantics, "Modes"'
_TABLES = ["tables"]
_EVERY_MODE = ("Create", "ExistOk", "Overwrite")


@check("LN-TABLE-CREATE-001", "A table exists after CreateTable.", _CREATE, "CreateTable",
       capabilities=["tables"])  # fmt: skip
def create(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.ok("CreateTable", plain(1, 2, 3), id=identifier)
    lab.that(lab.exists("TableExists", identifier), "the table to exist", "it does not exist")


@check("LN-TABLE-CREATE-002", "CreateTable stores the rows of its body.", _CREATE, "CreateTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def create_stores_rows(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.ok("CreateTable", plain(1, 2, 3), id=identifier)
    lab.same(lab.count(identifier), 3, "the number of rows")


@check("LN-TABLE-CREATE-003", "CreateTable stores every value of its rows.", _CREATE,
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def create_stores_values(lab: Lab) -> None:
    expected = people(*PEOPLE).to_pylist()
    found = lab.query(lab.new_table())
    shown = sorted(found.to_pylist(), key=lambda row: row.get("id") or 0)
    lab.same(shown, expected, "the rows")


@check("LN-TABLE-CREATE-004", "CreateTable of a table with data fails with code 5 in mode Create.",
       _CREATE, "CreateTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def create_twice(lab: Lab) -> None:
    table = lab.new_table()
    for more in ({}, {"mode": "Create"}, {"mode": "CREATE"}):
        lab.refused("CreateTable", [5], plain(1), id=table, **more)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows after code 5")


@check("LN-TABLE-CREATE-005", "Mode ExistOk keeps an existing table and its rows.", _CREATE,
       "CreateTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def exist_ok(lab: Lab) -> None:
    table = lab.new_table()
    for spelling in ("ExistOk", "exist_ok", "EXIST_OK"):
        lab.maybe("CreateTable", plain(1), id=table, mode=spelling)
        lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-CREATE-006", "Mode ExistOk creates a missing table.", _CREATE, "CreateTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def exist_ok_makes(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.maybe("CreateTable", plain(1, 2), id=identifier, mode="ExistOk")
    lab.same(lab.count(identifier), 2, "the number of rows")


@check("LN-TABLE-CREATE-007", "Mode Overwrite replaces rows and columns.", _CREATE,
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def overwrite(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("CreateTable", plain(7, 8), id=table, mode="Overwrite")
    found = lab.query(table)
    lab.same(found.column_names, ["x"], "the columns")
    lab.same(sorted(found.column("x").to_pylist()), [7, 8], "the rows")


@check("LN-TABLE-CREATE-008",
       "An unknown mode of CreateTable fails with code 13 and creates nothing.", _CREATE,
       "CreateTable", capabilities=["tables"])  # fmt: skip
def unknown_mode(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.refused("CreateTable", [13], plain(1), id=identifier, mode="sometimes")
    lab.that(not lab.exists("TableExists", identifier), "no table after code 13", "it exists")


@check("LN-TABLE-CREATE-009",
       "CreateTable in a missing namespace fails with code 1 and creates nothing.", _CODES,
       "CreateTable", capabilities=["namespaces", "tables"])  # fmt: skip
def without_parent(lab: Lab) -> None:
    identifier = missing_namespace_table(lab)
    lab.refused("CreateTable", [1], plain(1), id=identifier)
    there = lab.exists("NamespaceExists", identifier[:-1])
    lab.that(not there, "no namespace created as a side effect", "it exists")


@check("LN-TABLE-CREATE-010",
       "A body that is not an Arrow stream fails with code 13 and creates nothing.", _ARROW,
       "CreateTable", capabilities=["tables"])  # fmt: skip
def not_arrow(lab: Lab) -> None:
    for body in (b"x,y\n1,2\n", b"not arrow at all, but long enough to look like something"):
        identifier = lab.table_id()
        lab.refused("CreateTable", [13], body, id=identifier)
        lab.that(not lab.exists("TableExists", identifier), "no table after code 13", "it exists")


@check("LN-TABLE-CREATE-011", "A truncated stream is rejected and creates nothing.", _ARROW,
       "CreateTable", capabilities=["tables"])  # fmt: skip
def truncated(lab: Lab) -> None:
    whole = stream(people(*range(200)), batch_rows=50)
    identifier = lab.table_id()
    lab.refused("CreateTable", [13], whole[: len(whole) * 2 // 3], id=identifier)
    lab.that(not lab.exists("TableExists", identifier), "no table after code 13", "it exists")


@check("LN-TABLE-CREATE-012",
       "A stream with only a schema creates an empty table, which is not reported as declared "
       "only.", _ARROW, "CreateTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def schema_only(lab: Lab) -> None:
    made, emptied = lab.table_id(), lab.table_id()
    lab.ok("CreateTable", stream(people().slice(0, 0)), id=made)
    lab.given("CreateTable", stream(people(1)), id=emptied)
    tables = (
        [made, emptied]
        if lab.call("DeleteFromTable", id=emptied, predicate="true").succeeded
        else [made]
    )
    for table in tables:
        lab.same(lab.count(table), 0, "the number of rows")
        told = lab.maybe("DescribeTable", id=table, check_declared=True)
        lab.that(told.get("is_only_declared") is not True, "a table that has data", told)
        found = lab.walk("ListTables", "tables", id=table[:-1], include_declared=False)
        lab.that(
            table[-1] in found, "the empty table in the listing without declared tables", found[-5:]
        )


@check("LN-TABLE-CREATE-013", "All batches of a stream are stored.", _ARROW, "CreateTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def many_batches(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.ok("CreateTable", stream(people(*range(1, 101)), batch_rows=7), id=identifier)
    lab.same(lab.count(identifier), 100, "the number of rows")
    lab.same(lab.count(identifier, predicate="id > 93"), 7, "the rows in the last batches")


@check("LN-TABLE-CREATE-014", "A dictionary-encoded column is stored with its values.", _ARROW,
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def dictionary(lab: Lab) -> None:
    identifier = lab.table_id()
    values = pa.array(["a", "b", "a"]).dictionary_encode()
    lab.ok("CreateTable", stream(pa.table({"v": values})), id=identifier)
    lab.same(lab.query(identifier).column("v").to_pylist(), ["a", "b", "a"], "the values")


@check("LN-TABLE-CREATE-015", "The rows of a compressed stream are stored.", _ARROW, "CreateTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def compressed(lab: Lab) -> None:
    for codec in ("zstd", "lz4"):
        identifier = lab.table_id()
        reply = lab.call(
            "CreateTable", stream(people(*range(1, 51)), compression=codec), id=identifier
        )
        if reply.code == 13:
            lab.maybe("CreateTable", stream(people(1), compression=codec), id=identifier)
        lab.must_succeed(reply)
        lab.same(
            lab.count(identifier, predicate="id = 50"),
            1,
            f"the row with id 50, compressed with {codec}",
        )


@check("LN-TABLE-CREATE-016", "CreateTable returns the location of the table.",
       "rest.yaml, CreateTableResponse; protocol semantics, How other clients call", "CreateTable",
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def location(lab: Lab) -> None:
    identifier = lab.table_id()
    created = lab.ok("CreateTable", plain(1), id=identifier)
    lab.that(bool(created.get("location")), "a location", created)
    described = lab.ok("DescribeTable", id=identifier)
    lab.same(described.get("location"), created["location"], "the location")


@check("LN-TABLE-CREATE-017", "CreateTable returns 1 as the version.",
       "rest.yaml, CreateTableResponse", "CreateTable", capabilities=["tables"])  # fmt: skip
def version(lab: Lab) -> None:
    created = lab.ok("CreateTable", plain(1), id=lab.table_id())
    if created.get("version") is not None:
        lab.same(created["version"], 1, "the version")


@check("LN-TABLE-CREATE-018", "CreateTable fills a declared table.",
       "rest.yaml, CreateTable: a declared table without data is filled",
       "CreateTable", "DeclareTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def fills_declared(lab: Lab) -> None:
    table = lab.new_declared()
    reply = lab.call("CreateTable", plain(1, 2), id=table)
    if reply.code == 5:  # some servers fill it only in mode Overwrite
        reply = lab.call("CreateTable", plain(1, 2), id=table, mode="Overwrite")
    if reply.code == 0:
        lab.must_succeed(reply)
    if not reply.succeeded:
        raise Failed("the declared table to be filled", reply.outcome(), reply)
    lab.same(lab.count(table), 2, "the number of rows")


@check("LN-TABLE-CREATE-019", "Properties passed to CreateTable are stored.",
       "rest.yaml, CreateTableRequest", "CreateTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def properties(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.maybe("CreateTable", plain(1), id=identifier, properties=PROPERTIES)
    lab.has(lab.ok("DescribeTable", id=identifier).get("properties"), PROPERTIES, "the properties")


@check("LN-TABLE-CREATE-020", "Rows of one table do not appear in another.",
       "general specification, Object Identifier", "CreateTable", "QueryTable",
       capabilities=["tables"])  # fmt: skip
def separate(lab: Lab) -> None:
    first, second = lab.new_table(1, 2), lab.new_table(3)
    lab.same(lab.ids(first), [1, 2], "the ids in the first table")
    lab.same(lab.ids(second), [3], "the ids in the second table")


@check("LN-TABLE-CREATE-021", "Values of common types are read back unchanged.", _ARROW,
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def types(lab: Lab) -> None:
    given = pa.table(
        {
            "b": pa.array([True, None, False]),
            "i8": pa.array([-128, 0, None], pa.int8()),
            "u64": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "f32": pa.array([1.5, float("-inf"), None], pa.float32()),
            "s": pa.array(["", "ünï 日本", None]),
            "bin": pa.array([b"", b"\x00\xff", None]),
            "d": pa.array([0, -1, None], pa.date32()),
            "ts": pa.array([0, -1, None], pa.timestamp("us", tz="UTC")),
            "dec": pa.array([None, Decimal("1.25"), Decimal("-1")], pa.decimal128(12, 2)),
            "l": pa.array([[1], [], None], pa.list_(pa.int32())),
            "st": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": 2, "b": "y"}]),
        }
    )
    identifier = lab.table_id()
    lab.ok("CreateTable", stream(given), id=identifier)
    found = lab.query(identifier)
    for name in given.column_names:
        lab.that(name in found.column_names, f"a column {name}", found.column_names)
        lab.same(found.column(name).to_pylist(), given.column(name).to_pylist(), f"column {name}")


@check("LN-TABLE-CREATE-024", "Tables with the same name in two namespaces are separate tables.",
       "general specification, Object Name and Object Identifier", "CreateTable", "CountTableRows",
       "DropTable", capabilities=["namespaces", "tables"])  # fmt: skip
def same_name_elsewhere(lab: Lab) -> None:
    first, second, name = place_for_tables(lab), place_for_tables(lab), lab.ledger.fresh()
    if first == second:
        raise Skipped("only one namespace can contain tables")
    lab.ok("CreateTable", plain(1, 2), id=[*first, name])
    lab.ok("CreateTable", plain(3), id=[*second, name])
    lab.same(lab.count([*first, name]), 2, "the number of rows in the first table")
    lab.same(lab.count([*second, name]), 1, "the number of rows in the second table")
    lab.ok("DropTable", id=[*first, name])
    lab.same(lab.count([*second, name]), 1, "the number of rows in the remaining table")


@check("LN-TABLE-CREATE-027",
       "Mode ExistOk returns the location and properties of the existing table.", _CREATE,
       "CreateTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def exist_ok_answer(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("CreateTable", plain(1), id=table, properties=PROPERTIES)
    answer = lab.maybe("CreateTable", plain(2), id=table, mode="ExistOk", properties={"owner": "x"})
    described = lab.ok("DescribeTable", id=table)
    if answer.get("location") is not None:
        lab.same(answer["location"], described.get("location"), "the location")
    if answer.get("properties") is not None:
        lab.same(answer["properties"], described.get("properties"), "the properties")
    lab.has(described.get("properties"), PROPERTIES, "the properties of the table")


@check("LN-TABLE-CREATE-028", "The location that CreateTable returns is the table's in every mode.",
       "rest.yaml, CreateTableResponse: directory that holds the table's data", "CreateTable",
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def location_of_each_mode(lab: Lab) -> None:
    table = lab.table_id()
    for mode in ("Create", "Overwrite", "Overwrite", "ExistOk"):
        found = lab.maybe("CreateTable", plain(1), id=table, mode=mode).get("location")
        due = lab.ok("DescribeTable", id=table).get("location")
        lab.that(found in (None, due), f"the location {due} in mode {mode}", found)


@check("LN-TABLE-CREATE-022", "The dataset at the returned location contains the rows.",
       _STORED, "CreateTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def rows_at_location(lab: Lab) -> None:
    lance = load("lance")

    table = lab.table_id()
    lab.ok("CreateTable", plain(1, 2, 3), id=table)
    path = local_folder(lab.ok("DescribeTable", id=table))
    lab.same(lance.dataset(path).count_rows(), 3, f"the number of rows at {path}")


@check("LN-TABLE-CREATE-023",
       "Mode Overwrite replaces a table's properties with those of the request.",
       _MODES, "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def overwrite_properties(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("CreateTable", stream(people(1)), id=table, properties={"old": "1", "both": "1"})
    lab.maybe("CreateTable", stream(people(2)), id=table, mode="Overwrite",
              properties={"new": "2", "both": "2"})  # fmt: skip
    found = lab.ok("DescribeTable", id=table).get("properties")
    lab.has(found, {"new": "2", "both": "2"}, "the properties")
    lab.that("old" not in (found or {}), "no property of the old table", found)


@check("LN-TABLE-CREATE-025",
       "A table created with the name of a removed table has only its own rows.",
       "rest.yaml, CreateTable", "CreateTable", "DeregisterTable", "DropTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def again(lab: Lab) -> None:
    for gone in ("DeregisterTable", "DropTable"):
        table = lab.new_table(1, 2)
        lab.given("InsertIntoTable", stream(people(3)), id=table)
        if lab.call(gone, id=table).code == 0:
            continue
        reply = lab.call("CreateTable", stream(people(7)), id=table)
        if reply.code == 5 and gone == "DeregisterTable":
            continue  # the old data occupies the location: see LN-TABLE-DEREGISTER-010
        lab.must_succeed(reply)
        lab.same(lab.ids(table), [7], f"the ids after {gone}")
        lab.same(lab.count(table), 1, f"the number of rows after {gone}")


@check("LN-TABLE-CREATE-026",
       "CreateTable with mode Overwrite drops the existing rows and indices.",
       f"{_MODES}: the existing table is dropped and a new one is created; rest.yaml, CreateTable",
       "CreateTable", "CreateTableTag", "ListTableTags", "CreateTableScalarIndex",
       "ListTableIndices", level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def overwritten_rows_and_indices(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.maybe("CreateTable", stream(people(1)), id=table, mode="Overwrite")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["index_name"] for entry in found], [], "the indices")
    lab.same(lab.ids(table, filter="id < 5"), [1], "the ids")


@check("LN-TABLE-CREATE-029",
       "A schema with two columns of the same name fails with code 13 or 20 and creates nothing.",
       "rest.yaml, CreateTable: a schema that Lance cannot store", "CreateTable", "TableExists",
       capabilities=_TABLES)  # fmt: skip
def twice_the_name(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.table([[1], [2]], names=["x", "x"])
    lab.refused("CreateTable", [13, 20], stream(rows), id=table)
    lab.that(not lab.exists("TableExists", table), "no table", "one")


@check("LN-TABLE-CREATE-030",
       "CreateTable with mode Overwrite also replaces a table that has tags, branches and indices.",
       "rest.yaml, CreateTable: rows, schema and properties are replaced by the new ones", "CreateTable",
       "QueryTable", capabilities=_TABLES)  # fmt: skip
def overwrite_named(lab: Lab) -> None:
    table = lab.new_table()
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    lab.call("CreateTableBranch", id=table, name="side")
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE")
    lab.ok("CreateTable", stream(people(11)), id=table, mode="Overwrite")
    lab.same(lab.ids(table), [11], "the ids")


@check("LN-TABLE-CREATE-061",
       "Rows that cannot be stored leave an existing table unchanged and create no new table.",
       "rest.yaml, CreateTable: a schema that Lance cannot store, a body that is not an Arrow stream",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def not_stored(lab: Lab) -> None:
    whole = stream(people(*range(200)), batch_rows=20)
    table, free = lab.table_id(), lab.table_id()
    lab.maybe("CreateTable", stream(people(1, 2)), id=table, properties=PROPERTIES)
    before = table_entry(lab, table)
    for data in (stream(pa.table([[1], [2]], names=["x", "x"])), whole[: len(whole) // 2], b""):
        lab.refused("CreateTable", [0, 13, 20], data, id=table, mode="Overwrite")
        lab.call("CreateTable", data, id=table, mode="ExistOk")  # ExistOk may ignore the body
        unchanged(lab, before, table_entry(lab, table), "rows that cannot be stored")
        for mode in _EVERY_MODE:
            lab.refused("CreateTable", [0, 13, 20], data, id=free, mode=mode)
        lab.that(not lab.exists("TableExists", free), "no table", free[-1])
    lab.ok("CreateTable", stream(people(5)), id=free)
    lab.same(lab.ids(free), [5], "the ids")


@check("LN-TABLE-CREATE-062",
       "Mode ExistOk returns the current version, properties and location of the existing table.",
       "rest.yaml, CreateTableResponse: version number of the table after the call", "CreateTable",
       "InsertIntoTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def exist_ok_describes_the_table(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("CreateTable", stream(people(1)), id=table, mode="ExistOk", properties=PROPERTIES)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    told = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    for data in (stream(people(9)), plain(4, 5), stream(people())):
        answer = lab.ok("CreateTable", data, id=table, mode="ExistOk", properties={"new": "1"})
        now = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
        for key in ("version", "properties", "location"):
            found = answer.get(key) or told.get(key), now.get(key)
            lab.same(found, (told.get(key),) * 2, f"the {key} in the response and in DescribeTable")


@check("LN-TABLE-CREATE-064",
       "CreateTable returns the version and properties that the table has after the call.",
       "rest.yaml, CreateTableResponse: the table as it stands after CreateTable", "CreateTable",
       "DescribeTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def answers_describe_the_table(lab: Lab) -> None:
    table = lab.table_id()
    for mode, given in (
        ("Create", {"a": "1", "b": "2"}), ("ExistOk", {"a": "3"}), ("Overwrite", {"b": "4"}),
        ("Overwrite", None), ("ExistOk", {"c": "5"}),
    ):  # fmt: skip
        more = {} if given is None else {"properties": given}
        answer = lab.maybe("CreateTable", stream(people(1)), id=table, mode=mode, **more)
        told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
        for key in ("version", "properties"):
            if answer.get(key) is not None and told.get(key) is not None:
                lab.same(answer[key], told[key], f"the {key} returned in mode {mode}")
        lab.given("InsertIntoTable", stream(people(2)), id=table)


@check("LN-TABLE-CREATE-060",
       "Versions, tags and branches that remain after mode Overwrite can be read unchanged.",
       "rest.yaml, CreateTable, mode Overwrite; ListTableVersions, ListTableTags and ListTableBranches",
       "CreateTable", "CreateTableBranch", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def overwritten_with_branches(lab: Lab) -> None:
    table = forked_table(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    version = lab.maybe("CreateTable", stream(people(11)), id=table, mode="Overwrite").get(
        "version"
    )
    versions = version_numbers(lab, table, descending=True)
    lab.that(version in (None, versions[0]), "the newest version in the response", version)
    lab.same(lab.ids(table, version=versions[0]), [11], "the ids in the newest version")
    for number in {1, 2} & set(versions[1:]):
        lab.same(lab.ids(table, version=number), [1, 2, 3], f"the ids in version {number}")
    for tag in (lab.call("ListTableTags", id=table).answer or {}).get("tags") or ():
        held = lab.ok("GetTableTagVersion", id=table, tag=tag)["version"]
        lab.that(
            held in versions[1:], f"the tag {tag} to be deleted together with its version", versions
        )
    listed = lab.ok("ListTableBranches", id=table).get("branches") or {}
    for name, number in (("side", 10), ("other", 11)):
        if name in listed:
            lab.same(branch_ids(lab, table, name), [1, 2, 3, number], f"the ids in {name}")
            continue
        lab.refused("CountTableRows", [0, 11], id=table, branch=name)
        lab.ok("CreateTableBranch", id=table, name=name)
        lab.same(branch_ids(lab, table, name), [11], f"the ids on a new branch {name}")
