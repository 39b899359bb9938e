"""QueryTable, CountTableRows, ExplainTableQueryPlan, AnalyzeTableQueryPlan and GetTableStats."""

from __future__ import annotations

from ..lab import Lab
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .history import two_versions

_QUERY = "rest.yaml, QueryTable"
_COUNT = "rest.yaml, CountTableRows"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)


@check("LN-QUERY-001", "A query without a filter or vector returns every row.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def everything(lab: Lab) -> None:
    lab.same(lab.ids(lab.shared_table()), ALL, "the ids")


@check("LN-QUERY-002", "A query with a filter returns the matching rows.", _QUERY, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def filtered(lab: Lab) -> None:
    table = lab.shared_table()
    for text, expected in (("id > 7", [8, 9, 10]), ("name = 'n3'", [3]),
                           ("score IS NULL", [4, 8]), ("id IN (1, 2) OR id = 9", [1, 2, 9])):  # fmt: skip
        lab.same(lab.ids(table, filter=text), expected, f"the ids where {text}")


@check("LN-QUERY-003", "k limits the number of rows.", _QUERY, "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def limited(lab: Lab) -> None:
    table = lab.shared_table()
    lab.same(lab.query(table, k=3).num_rows, 3, "the number of rows")
    lab.same(lab.query(table, k=4, filter="id > 2").num_rows, 4, "the number of filtered rows")


@check("LN-QUERY-004", "offset skips the first rows.",
       "rest.yaml, QueryTableRequest: rows to skip before the first one returned", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def offset(lab: Lab) -> None:
    table = lab.shared_table()
    whole = lab.query(table).column("id").to_pylist()
    lab.same(lab.query(table, offset=4).column("id").to_pylist(), whole[4:], "the ids after four")
    found = lab.query(table, offset=2, k=3).column("id").to_pylist()
    lab.same(found, whole[2:5], "three ids after two")


@check("LN-QUERY-005", "columns selects the returned columns.",
       "rest.yaml, QueryTableRequestColumns: in this order", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def columns(lab: Lab) -> None:
    found = lab.query(lab.shared_table(), columns={"column_names": ["name", "id"]})
    lab.same(sorted(found.column_names), ["id", "name"], "the columns")
    pairs = zip(found.column("id").to_pylist(), found.column("name").to_pylist(), strict=True)
    lab.same(sorted(pairs), [(i, f"n{i}") for i in ALL], "the rows")


@check("LN-QUERY-006", "A vector query returns the nearest rows, nearest first.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def vector(lab: Lab) -> None:
    found = lab.query(lab.shared_table(), vector={"single_vector": [7.2, 0.0]}, k=3,
                      vector_column="vec")  # fmt: skip
    lab.same(found.column("id").to_pylist(), [7, 8, 6], "the ids")


@check("LN-QUERY-007", "A vector query returns the distance to each row.",
       "rest.yaml, QueryTableResponse: a vector search adds a column _distance", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def distance(lab: Lab) -> None:
    near = {"vector": {"single_vector": [7.0, 0.0]}, "k": 3, "vector_column": "vec"}
    for columns in ({}, {"columns": {"column_names": ["name"]}}):
        found = lab.query(lab.shared_table(), **near, **columns)
        lab.that("_distance" in found.column_names, "a column _distance", found.column_names)
        lab.same(found.column("_distance").to_pylist(), [0.0, 1.0, 1.0], "the distances")


@check("LN-QUERY-008", "With prefilter, the filter applies before the nearest rows are selected.",
       "rest.yaml, QueryTableRequest: the filter is applied before the search", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def prefilter(lab: Lab) -> None:
    found = lab.query(lab.shared_table(), vector={"single_vector": [9.0, 0.0]}, k=2,
                      vector_column="vec", prefilter=True, filter="id < 5")  # fmt: skip
    lab.same(found.column("id").to_pylist(), [4, 3], "the ids")


@check("LN-QUERY-009", "with_row_id adds the row id.", _QUERY, "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def row_id(lab: Lab) -> None:
    found = lab.query(lab.shared_table(), with_row_id=True)
    lab.that("_rowid" in found.column_names, "a column _rowid", found.column_names)
    ids = found.column("_rowid").to_pylist()
    lab.same(len(set(ids)), len(ALL), "the number of different row ids")


@check("LN-QUERY-010", "A query of an earlier version returns its rows.", _QUERY, "QueryTable",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.ids(table, version=1), ALL, "the ids of version 1")
    lab.same(lab.ids(table), [*ALL, 11], "the ids of the newest version")


@check("LN-QUERY-011", "A query of a missing version fails with code 11.", _CODES, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def version_missing(lab: Lab) -> None:
    lab.query(lab.shared_table())
    vector = lab.no_vector()
    lab.refused("QueryTable", [11], id=lab.shared_table(), k=1, vector=vector, version=999)


@check("LN-QUERY-012", "A filter that cannot be parsed fails with code 13.", _QUERY, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def bad_filter(lab: Lab) -> None:
    lab.query(lab.shared_table())
    vector = lab.no_vector()
    lab.refused("QueryTable", [13], id=lab.shared_table(), k=1, vector=vector, filter="id >>> ((")


@check("LN-QUERY-013", "A query of a missing column fails with code 12 or 13.", _CODES,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def bad_column(lab: Lab) -> None:
    lab.query(lab.shared_table())
    vector = lab.no_vector()
    lab.refused("QueryTable", [12, 13], id=lab.shared_table(), k=1, vector=vector,
                columns={"column_names": ["nothing"]})  # fmt: skip


@check("LN-QUERY-014", "A query of a missing table fails with code 4.", _CODES, "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def missing(lab: Lab) -> None:
    vector = {"single_vector": [1.0, 0.0]}
    lab.refused("QueryTable", [4], id=lab.table_id(), k=1, vector=vector)


@check("LN-QUERY-015", "A query that matches nothing returns an empty result with columns.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def nothing(lab: Lab) -> None:
    found = lab.query(lab.shared_table(), filter="id > 99")
    lab.same((found.num_rows, "id" in found.column_names), (0, True), "rows, and a column id")


@check("LN-QUERY-016", "A query changes nothing.", _QUERY, "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def repeated(lab: Lab) -> None:
    table = lab.shared_table()
    first, second = lab.query(table), lab.query(table)
    lab.same(second.to_pylist(), first.to_pylist(), "the rows read again")


@check("LN-QUERY-017", "A query vector of the wrong length fails with code 13.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def vector_length(lab: Lab) -> None:
    vector = {"single_vector": [1.0, 0.0, 0.0]}
    lab.refused("QueryTable", [13, 20], id=lab.shared_table(), k=1, vector=vector,
                vector_column="vec")  # fmt: skip


@check("LN-COUNT-001", "CountTableRows returns the number of rows.", _COUNT, "CountTableRows",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def count(lab: Lab) -> None:
    lab.same(lab.count(lab.shared_table()), len(ALL), "the number of rows")


@check("LN-COUNT-002", "CountTableRows with a predicate counts the matching rows.", _COUNT,
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_predicate(lab: Lab) -> None:
    table = lab.shared_table()
    for text, expected in (("id > 7", 3), ("score IS NULL", 2), ("id > 99", 0)):
        lab.same(lab.count(table, predicate=text), expected, f"the number of rows where {text}")


@check("LN-COUNT-003", "CountTableRows of an earlier version counts its rows.", _COUNT,
       "CountTableRows", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.count(table, version=1), len(ALL), "the number of rows of version 1")
    lab.same(lab.count(table), len(ALL) + 1, "the number of rows")


@check("LN-COUNT-004", "CountTableRows of a missing version fails with code 11.", _CODES,
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_version_missing(lab: Lab) -> None:
    lab.refused("CountTableRows", [11], id=lab.shared_table(), version=999)


@check("LN-COUNT-005", "A predicate that cannot be parsed fails with code 13.", _COUNT,
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_bad(lab: Lab) -> None:
    lab.refused("CountTableRows", [13], id=lab.shared_table(), predicate="id >>> ((")


@check("LN-COUNT-006", "CountTableRows of a missing table fails with code 4.", _CODES,
       "CountTableRows", capabilities=_TABLES)  # fmt: skip
def count_missing(lab: Lab) -> None:
    lab.refused("CountTableRows", [4], id=lab.table_id())


@check("LN-PLAN-001", "ExplainTableQueryPlan returns a plan as text.",
       "rest.yaml, ExplainTableQueryPlan", "ExplainTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def explain(lab: Lab) -> None:
    query = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2, "vector_column": "vec"}
    answer = lab.ok("ExplainTableQueryPlan", id=lab.shared_table(), query=query)
    plan = answer.get("plan")
    lab.that(isinstance(plan, str) and bool(plan.strip()), "a plan", answer)


@check("LN-PLAN-002", "AnalyzeTableQueryPlan returns its measurements as text.",
       "rest.yaml, AnalyzeTableQueryPlan", "AnalyzeTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def analyze(lab: Lab) -> None:
    answer = lab.ok("AnalyzeTableQueryPlan", id=lab.shared_table(), k=2, vector_column="vec",
                    vector={"single_vector": [1.0, 0.0]})  # fmt: skip
    text = answer.get("analysis")
    lab.that(isinstance(text, str) and bool(text.strip()), "an analysis", answer)


@check("LN-PLAN-003", "ExplainTableQueryPlan of a missing table fails with code 4.", _CODES,
       "ExplainTableQueryPlan", capabilities=_TABLES)  # fmt: skip
def explain_missing(lab: Lab) -> None:
    query = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2}
    lab.refused("ExplainTableQueryPlan", [4], id=lab.table_id(), query=query)


@check("LN-STATS-001", "GetTableStats counts rows and fragments.", "rest.yaml, GetTableStats",
       "GetTableStats", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    answer = lab.ok("GetTableStats", id=table)
    lab.same(answer.get("num_rows"), len(ALL) + 2, "num_rows")
    fragments = answer.get("fragment_stats") or {}
    lab.same(fragments.get("num_fragments"), 2, "num_fragments")
    lengths = fragments.get("lengths") or {}
    lab.same((lengths.get("min"), lengths.get("max")), (2, len(ALL)), "shortest and longest")
    lab.same(answer.get("num_indices"), 0, "num_indices")
    lab.that((answer.get("total_bytes") or 0) > 0, "a number of bytes", answer)


@check("LN-STATS-002", "GetTableStats of a missing table fails with code 4.", _CODES,
       "GetTableStats", capabilities=_TABLES)  # fmt: skip
def stats_missing(lab: Lab) -> None:
    lab.refused("GetTableStats", [4], id=lab.table_id())


@check("LN-QUERY-025",
       "A query with an offset beyond the last row returns no rows, with the same columns.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def behind(lab: Lab) -> None:
    table = lab.shared_table()
    columns = lab.query(table).column_names
    for offset, more in ((len(ALL), {}), (len(ALL) + 5, {}), (3, {"filter": "id > 8"})):
        found = lab.query(table, offset=offset, **more)
        lab.same((found.num_rows, found.column_names), (0, columns), f"the rows from {offset}")
