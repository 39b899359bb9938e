"""Full-text queries, columns and metadata: each field in every position where it is allowed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .branches import branch_rows
from .due import NO_COLUMN, NO_NEW_COLUMN
from .evolving import fields
from .searches import built, text, words
from .texts import indexed, term, tree

_QUERIES = "rest.yaml, StringFtsQuery, FtsQuery and the queries that it may be"
_ALTER = "rest.yaml, AlterColumnsEntry and AddColumnsEntry"
_TEXTS = ("CreateTableScalarIndex", "QueryTable", "CreateTable")
_COLUMNS = ("AlterTableAlterColumns", "AlterTableAddColumns", "QueryTable", "CreateTable")
_METADATA = ("UpdateFieldMetadata", "UpdateTableSchemaMetadata", "DescribeTable", "CreateTable")
_TABLES = ["tables"]
_FOXES = ["red fox", "red hen", "blue fox", "blue whale fox"]
_RED, _FOX = term("red"), term("fox")
_SIDE = {"branch": "side"}


def given(lab: Lab, rows: pa.Table | dict[str, Any]) -> list[str]:
    table = lab.table_id()
    lab.given("CreateTable", stream(pa.table(rows)), id=table)
    return table


def found(lab: Lab, table: list[str], **request: Any) -> pa.Table:
    reply = lab.call("QueryTable", id=table, **{"vector": lab.no_vector(), "k": 10, **request})
    lab.may_refuse(reply)
    return reply.rows


def ids(lab: Lab, table: list[str], **request: Any) -> list[int]:
    return list(found(lab, table, **request).column("id").to_pylist())


def joined(must: Any = (), must_not: Any = (), should: Any = ()) -> dict[str, Any]:
    return {"boolean": {"must": [*must], "must_not": [*must_not], "should": [*should]}}


def lowered(positive: Any, negative: Any, **more: float) -> dict[str, Any]:
    return {"boost": {"positive": positive, "negative": negative, **more}}


def on_side(lab: Lab, table: list[str]) -> dict[str, Any]:
    return _SIDE if lab.call("CreateTableBranch", id=table, name="side").succeeded else {}


def add(lab: Lab, table: list[str], of: dict[str, Any] | None = None, **new: str) -> None:
    columns = [{"name": name, "expression": each} for name, each in new.items()]
    make = lab.maybe if of else lab.ok
    make("AlterTableAddColumns", id=table, new_columns=columns, **of or {})


def state(lab: Lab, table: list[str]) -> Any:
    return fields(lab, table), ordered(lab.query(table))


def ordered(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=repr)


def on_line(lab: Lab, table: list[str], of: dict[str, Any]) -> pa.Table:
    return branch_rows(lab, table, of["branch"]).rows if of else lab.query(table)


@check("LN-SEARCH-080",
       "Search scores follow boost and negative_boost, and the scores of must and should are "
       "added.", _QUERIES,
       *_TEXTS, capabilities=_TABLES)  # fmt: skip
def scored(lab: Lab) -> None:
    table = indexed(lab, _FOXES)
    built(lab, table)

    def scores(node: dict[str, Any]) -> dict[int, float]:
        rows = found(lab, table, full_text_query=tree(**node)).to_pylist()
        return {row["id"]: row.get("_score", 0.0) for row in rows}

    strong = {"match": {**_RED["match"], "boost": 3.0}}
    red, fox, half = scores(_RED), scores(_FOX), scores(lowered(_FOX, _RED, negative_boost=0.5))
    if not any(red.values()):
        raise Skipped("QueryTable tells no score")
    for node, due in (
        (strong, {i: 3 * score for i, score in red.items()}), (joined([_RED, _FOX]), {1: red[1] + fox[1]}),
        (joined([strong], (), [_FOX]), {1: 3 * red[1] + fox[1], 2: 3 * red[2]}),
        (joined([_FOX], [_RED]), {3: fox[3], 4: fox[4]}),
        (joined((), (), [_RED, _FOX]), {**red, **fox, 1: red[1] + fox[1]}), (lowered(_FOX, _RED), half),
        (lowered(_FOX, _RED, negative_boost=0.0), fox), (lowered(_FOX, _RED), fox | {1: half[1]}),
    ):  # fmt: skip
        told = scores(node)
        lab.same(sorted(told), sorted(due), f"the ids of {node}")
        lab.that(all(abs(told[i] - due[i]) < 2e-3 for i in due), f"{due} of {node}", told)
    lab.that(half[1] < fox[1], "row 1 lower where a negative query finds it", half)


@check("LN-SEARCH-081",
       "At any depth, an invalid query node fails with code 13 and a missing column with code 12 "
       "or 13.",
       _QUERIES, *_TEXTS, capabilities=_TABLES)  # fmt: skip
def wrong_nodes(lab: Lab) -> None:
    table = indexed(lab, _FOXES)
    lost, parts = {"match": {"terms": "red", "column": "nothing"}}, [_RED["match"]]
    request = {"id": table, "vector": lab.no_vector(), "k": 5}
    two = text("red", columns=["text", "no"])
    lab.refused("QueryTable", [0, *NO_COLUMN], **request, full_text_query=two)
    for code, bad in (
        (13, {}), (13, {**_RED, "multi_match": {"match_queries": parts}}), (12, lost),
        (13, {"match": {**_RED["match"], "operator": "Xor"}}),
        (12, {"phrase": {"terms": "red fox", "column": "nothing"}}),
        (12, {"multi_match": {"match_queries": [*parts, lost["match"]]}}),
    ):  # fmt: skip
        nodes = (bad, joined([_RED], [bad]), joined((), (), [_FOX, bad]), lowered(_RED, bad))
        for node in nodes:
            lab.refused("QueryTable", [0, code, 13], **request, full_text_query=tree(**node))


@check("LN-SEARCH-082",
       "Full-text queries can be nested, and search every indexed column if they name none.",
       _QUERIES, *_TEXTS, capabilities=_TABLES)  # fmt: skip
def anywhere(lab: Lab) -> None:
    table = given(lab, {"id": pa.array([1, 2, 3], pa.int64()), "text": ["red fox", "hen", "fox owl red"],
                        "title": ["hen", "red fox", "owl"], "other": ["hen", "hen", "red fox"]})  # fmt: skip
    for column in ("text", "title"):
        index = {"column": column, "index_type": "FTS", "with_position": True}
        lab.maybe("CreateTableScalarIndex", id=table, **index)
    built(lab, table)
    hen, owl = {"match": {"terms": "hen"}}, {"match": {"terms": "owl"}}
    phrase, in_title = ({"phrase": {"terms": "red fox", **c}} for c in ({}, {"column": "title"}))
    for query, due in (
        (text("hen", columns=[]), [1, 2]), (tree(**hen), [1, 2]), (tree(**phrase), [1, 2]),
        (tree(**in_title), [2]), (tree(match={"terms": "hen", "column": "title"}), [1]),
        (tree(phrase={"terms": "fox owl red"}), [3]), (tree(**joined([hen], [in_title])), [1]),
        (tree(**joined([hen], [owl])), [1, 2]), (tree(**joined((), (), [in_title, owl])), [2, 3]),
        (tree(**joined([_RED], [phrase])), [3]), (tree(**lowered(_RED, phrase)), [1, 3]),
        (tree(**joined([lowered(_RED, owl)], [hen])), [3]),
        (tree(**lowered(joined([_RED], [owl]), hen)), [1]),
        (tree(**joined([joined((), (), [hen, owl]), _FOX])), [1, 3]),
        (tree(**joined([{"multi_match": {"match_queries": [_FOX["match"]]}}], [joined([owl])])), [1]),
    ):  # fmt: skip
        lab.same(words(lab, table, query), due, f"the ids for {query}")


@check("LN-SEARCH-083",
       "A full-text search returns the best rows first, and applies k, offset, filter, fuzziness "
       "and fast_search.",
       "rest.yaml, QueryTableRequest and MatchQuery", *_TEXTS, "InsertIntoTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def best_first(lab: Lab) -> None:
    table = indexed(lab, [*_FOXES, "quarta", "quartb", "quartc"])
    built(lab, table)
    foxes = {"full_text_query": text("red fox")}
    every = ids(lab, table, **foxes)
    lab.same(every[0], 1, "the best")
    for k, offset in ((1, 0), (1, 1), (2, 1), (10, 3), (10, 9)):
        some = ids(lab, table, **foxes, k=k, offset=offset)
        lab.same(some, every[offset : offset + k], f"the ids for k {k} and offset {offset}")
    for before, due in ((True, every[1:2]), (False, [])):
        some = ids(lab, table, **foxes, k=1, filter="id <> 1", prefilter=before)
        lab.same(some, due, f"the best with a filter, prefilter {before}")
    for terms, more, least, most in (
        ("quartx", {"fuzziness": 1}, 3, 3), ("quartx", {"fuzziness": 1, "max_expansions": 2}, 1, 2),
        ("quarxx", {"fuzziness": 1}, 0, 0), ("quarxx", {"fuzziness": 2}, 3, 3),
    ):  # fmt: skip
        asked = tree(match={"terms": terms, "column": "text", **more})
        some = ids(lab, table, full_text_query=asked)
        lab.that(least <= len(some) <= most, f"up to {most} ids with {more}", some)
    lab.given("InsertIntoTable", stream(pa.table({"id": [9], "text": ["red owl"]})), id=table)
    for fast, due in ((False, [1, 2, 9]), (True, [1, 2])):
        some = ids(lab, table, full_text_query=text("red"), fast_search=fast)
        (entry,) = lab.ok("ListTableIndices", id=table)["indexes"]
        if entry.get("num_unindexed_rows") == 1 or not fast:
            lab.same(sorted(some), due, f"the ids with fast_search {fast}")


_PLAIN = {"name": "fine", "expression": "1"}
_VIRTUAL = {"virtual_column": {
    "input_columns": ["id"], "image": "i", "udf": "AA==", "udf_name": "f", "udf_version": "1",
    "outputs": [{"column": "x", "struct_field": "x", "data_type": {}, "nullable": True}]}}  # fmt: skip
_WRONG: tuple[tuple[str, str, Any, list[tuple[int, Any]]], ...] = (
    ("AlterTableAlterColumns", "alterations", {"path": "s", "rename": "t"}, [
        (13, {"path": "id"}), (13, {"path": "id", "rename": None, "nullable": None}),
        (13, {"path": "id", "data_type": {"type": "sometimes"}}), (20, {"path": "name", "nullable": False}),
        (20, {"path": "id", "data_type": {"type": "int32"}}), (12, {"path": "s.no", "rename": "x"})]),
    ("AlterTableDropColumns", "columns", "name", [(12, "s.no"), (12, "no.u")]),
    ("AlterTableAddColumns", "new_columns", _PLAIN, [
        (13, {"name": "x", "expression": "id + ("}), (12, {"name": "x", "expression": "no * 2"}),
        (13, {"name": "x", "expression": "1", **_VIRTUAL}),
        (13, {"name": "x", "computed": "1", **_VIRTUAL}), (20, _PLAIN)]),
    ("UpdateFieldMetadata", "updates", {"path": "id", "metadata": {"by": "kit"}}, [
        (12, {"path": "s.no", "metadata": {"a": "1"}})]),
)  # fmt: skip


@check("LN-COLUMN-060",
       "An invalid change of columns fails with the specified code and changes nothing.", _ALTER,
       *_COLUMNS, capabilities=_TABLES)  # fmt: skip
def wrong_changes(lab: Lab) -> None:
    rows = {"id": [1, 2**40], "name": ["a", None], "s": [{"u": 1, "v": "x"}] * 2}
    table = given(lab, rows)
    lab.given("InsertIntoTable", stream(pa.table({**rows, "name": ["b", "c"]})), id=table)
    before = state(lab, table)
    for operation, key, right, several in _WRONG:
        for code, wrong in several:
            reply = lab.call(operation, id=table, **{key: [right, wrong]})
            if reply.code != 0:
                absent = NO_NEW_COLUMN if key == "new_columns" else NO_COLUMN
                codes = absent if code == 12 else (code,)
                lab.must_fail(reply, codes if wrong is not right else (13, 20))
        lab.same(state(lab, table), before, f"columns and rows after {operation} was refused")


@check("LN-COLUMN-061", "Fields of a struct can be read, cast, renamed and dropped by their path.",
       _ALTER, *_COLUMNS, "AlterTableDropColumns", capabilities=_TABLES)  # fmt: skip
def inner_fields(lab: Lab) -> None:
    table = structs(lab)
    add(lab, table, twice="s.u * 2")
    lab.same(sorted(lab.query(table).column("twice").to_pylist()), [2, 4], "the new column")
    change = {"path": "s.u", "data_type": {"type": "int32"}}
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[change])
    lab.maybe("AlterTableDropColumns", id=table, columns=["s.v", "twice"])
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[{"path": "s.u", "rename": "name"}])
    columns, rows = state(lab, table)
    kind = columns["s"]["type"]
    told = [(f.get("name"), f.get("nullable"), f["type"].get("type"), f.get("metadata"))
            for f in kind.get("fields") or ()]  # fmt: skip
    due = [("name", False, "int32", {"k": "1"})]
    lab.same((kind.get("type"), told), ("struct", due), "the struct and its field")
    lab.same([row["s"] for row in rows], [{"name": 1}, {"name": 2}], "the structs")


@check("LN-COLUMN-062", "A field of a struct cannot be renamed to the name of a sibling.",
       _ALTER, *_COLUMNS, capabilities=_TABLES)  # fmt: skip
def siblings(lab: Lab) -> None:
    table = structs(lab)
    change = {"path": "s.u", "rename": "v"}
    lab.refused("AlterTableAlterColumns", [0, 13, 20], id=table, alterations=[change])


def structs(lab: Lab) -> list[str]:
    inner = pa.struct([pa.field("u", pa.int64(), False, {"k": "1"}), pa.field("v", pa.string())])
    columns = [pa.field("id", pa.int64(), metadata={"a": "1"}), pa.field("name", pa.string())]
    schema = pa.schema([*columns, pa.field("s", inner, metadata={"m": "2"})], {"origin": "kit"})
    rows = [{"id": i, "name": f"n{i}", "s": {"u": i, "v": "x"}} for i in (1, 2)]
    return given(lab, pa.Table.from_pylist(rows, schema))


@check("LN-COLUMN-063",
       "Changing the type or nullability of a column keeps values and nulls, and affects only its "
       "branch.",
       f"{_ALTER}; rest.yaml, JsonArrowDataType", *_COLUMNS, capabilities=_TABLES)  # fmt: skip
def types(lab: Lab) -> None:
    table = given(lab, {"i": pa.array([1, None, -3], pa.int64()), "f": [1.5, None, -2.25], "must": [1, 2, 3],
                        "at": pa.array([0, None, 86_400_000_000], pa.timestamp("us"))})  # fmt: skip
    side, main = on_side(lab, table), fields(lab, table)
    before = after = lab.query(table)
    for column, kind, due in (
        ("i", {"type": "int16"}, "int16"), ("f", {"type": "float"}, "float"),
        ("at", {"type": "timestamp", "unit": "ms"}, "timestamp[ms]"),
    ):  # fmt: skip
        change = [{"path": column, "data_type": kind}]
        reply = lab.call("AlterTableAlterColumns", id=table, alterations=change, **side)
        if reply.code in (0, 13, 20):
            continue
        after = on_line(lab, table, side)
        lab.same(ordered(after), ordered(before), f"the rows after {column} became {kind}")
        lab.same(str(after.schema.field(column).type), due, f"the type of {column}")
    strict = [{"path": "must", "nullable": False}]
    lab.maybe("AlterTableAlterColumns", id=table, alterations=strict, **side)
    rows = after.set_column(2, "must", pa.array([None] * 3, pa.int64()))
    codes = [0, 13, 20] if side else [13, 20]
    lab.refused("InsertIntoTable", codes, stream(rows), id=table, **side)
    if side:
        lab.same(fields(lab, table), main, "the columns of the main line")


@check("LN-COLUMN-064",
       "New columns compute their expression for every existing row, and freed names can be "
       "reused.",
       _ALTER, *_COLUMNS, "AlterTableDropColumns", "UpdateTable", capabilities=_TABLES)  # fmt: skip
def expressions(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    side = on_side(lab, table)
    for line, last in ((side, 8), ({}, 5)) if side else (({}, 5),):
        make = lab.maybe if line else lab.given
        reply = lab.call("InsertIntoTable", stream(people(last)), id=table, **line)
        if line and reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        make("DeleteFromTable", id=table, predicate="id = 2", **line)
        make("UpdateTable", id=table, predicate="id = 3", updates=[["name", "'x'"]], **line)
        add(lab, table, line, half="score / 2", big="upper(name)", many="id > 3")
        rows = on_line(lab, table, line)
        kinds = [str(kind).replace("large_", "") for kind in rows.schema.types[4:]]
        lab.same(kinds, ["double", "string", "bool"], "the types of the new columns")
        found = {row["id"]: list(row.values())[4:] for row in rows.to_pylist()}
        due = {1: [0.25, "N1", False], 3: [0.75, "X", False], 4: [None, "N4", True]}
        due[last] = [1.25 if last == 5 else None, f"N{last}", True]
        lab.same(found, due, "the new values by id")
    lab.ok("AlterTableDropColumns", id=table, columns=["half"])
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "big", "rename": "label"}])
    add(lab, table, half="id * 10", big="'new'")
    row = lab.query(table, filter="label = 'N4'").to_pylist()[0]
    lab.same([row[key] for key in ("half", "label", "big")], [40, "N4", "new"], "the row of 4")


@check("LN-COLUMN-065",
       "Requests that need functions, jobs or views succeed, or fail with code 0, 13 or 20 and "
       "change nothing.",
       "rest.yaml, AddColumnsEntry, AlterTableBackfillColumns and CreateMaterializedView",
       "AlterTableAddColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def functions(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    before = state(lab, table)
    for operation, codes, request in (
        ("AlterTableAddColumns", [0], {"new_columns": [_PLAIN, {"name": "x", "computed": "id * 2"}]}),
        ("AlterTableAddColumns", [0, 13, 20], {"new_columns": [_PLAIN, {"name": "x", **_VIRTUAL}]}),
        ("AlterTableBackfillColumns", [0, 13], {"column": "id"}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.succeeded and "new_columns" in request:
            lab.that({"fine", "x"} <= {*fields(lab, table)}, "the new columns", fields(lab, table))
            return
        lab.must_fail(reply, codes)
        lab.same(state(lab, table), before, f"columns and rows after {operation} was refused")
    view = {"id": lab.table_id(), "kind": "udtf", "source_query": "q", "output_schema": "s"}
    lab.refused("CreateMaterializedView", [0, 13], **view)


@check("LN-METADATA-060", "Metadata of schema and columns survives every kind of write.",
       "rest.yaml, UpdateTableSchemaMetadata", *_METADATA, capabilities=_TABLES)  # fmt: skip
def outlasting(lab: Lab) -> None:
    table = given(lab, people(1, 2, 3).replace_schema_metadata({"origin": "kit", "by": "a"}))
    of = {name: {"of": name} for name in ("id", "name", "vec")}
    updates = [{"path": name, "metadata": pairs} for name, pairs in of.items()]
    lab.ok("UpdateFieldMetadata", id=table, updates=updates)
    due = {"origin": "kit", "by": "b", "empty": ""}
    answer = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"by": "b", "empty": ""})
    lab.has(answer.get("metadata"), due, "the metadata that is answered")
    merge = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
    for operation, rows, request in (
        ("InsertIntoTable", people(4), {}), ("MergeInsertIntoTable", people(4, 5), merge),
        ("UpdateTable", None, {"updates": [["id", "id"]]}), ("DeleteFromTable", None, {"predicate": "id=2"}),
        ("AlterTableAddColumns", None, {"new_columns": [_PLAIN]}),
        ("AlterTableDropColumns", None, {"columns": ["score"]}), ("RestoreTable", None, {"version": 4}),
        ("CreateTableIndex", None, {"column": "id", "index_type": "BTREE"}),
    ):  # fmt: skip
        if lab.call(operation, stream(rows) if rows else None, id=table, **request).succeeded:
            told = {name: field.get("metadata") for name, field in fields(lab, table).items()}
            lab.has(told, of, f"the metadata of the columns after {operation}")
            described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            lab.has((described.get("schema") or {}).get("metadata"), due, f"that after {operation}")


@check("LN-METADATA-061",
       "UpdateFieldMetadata replaces or extends metadata per entry, and only on the named branch.",
       "rest.yaml, UpdateFieldMetadataEntry and branch", *_METADATA, capabilities=_TABLES)  # fmt: skip
def entries(lab: Lab) -> None:
    table = structs(lab)
    side, whole = on_side(lab, table), {"id": table, "load_detailed_metadata": True}
    main = lab.ok("DescribeTable", **whole)
    for asked, due in (
        ([("id", {"b": "2"}, None), ("name", {"c": "3", "no": None}, True)],
         [{"a": "1", "b": "2"}, {"c": "3"}]),
        ([("id", {"d": ""}, True), ("name", {"e": "5"}, False)], [{"d": ""}, {"c": "3", "e": "5"}]),
        ([("id", {}, True), ("name", {"c": None}, None), ("s.u", {"x": "1"}, None)],
         [{}, {"e": "5"}, {"k": "1", "x": "1"}]),
    ):  # fmt: skip
        updates = [{"path": path, "metadata": pairs, "replace": how} for path, pairs, how in asked]
        answer = lab.maybe("UpdateFieldMetadata", id=table, updates=updates, **side)
        told = lab.maybe("DescribeTable", **whole, **side)
        lab.same(answer.get("version"), told.get("version"), "the version")
        if answer.get("fields"):
            found = [answer["fields"].get(path) for path, *_ in asked]
            lab.same(found, due, f"the answer to {asked}")
        columns = {f["name"]: f for f in (told.get("schema") or {}).get("fields") or ()}
        columns["s.u"] = columns["s"]["type"]["fields"][0]
        kept = [columns[path].get("metadata") or {} for path, *_ in asked]
        lab.same(kept, due, f"the metadata after {asked}")
    answer = lab.maybe("UpdateTableSchemaMetadata", id=table, metadata={"side": "1"}, **side)
    lab.has(answer.get("metadata"), {"origin": "kit", "side": "1"}, "the metadata of the schema")
    now = lab.ok("DescribeTable", **whole) if side else main
    lab.has(now, {key: main.get(key) for key in ("version", "schema")}, "the main line")
