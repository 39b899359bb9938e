"""QueryTable without a search, CountTableRows and query plans."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...lab import Lab, Skipped
from ...missing_codes import NO_COLUMN
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...table_versions import newest_version, two_versions

_QUERY = "rest.yaml, QueryTable"
_COUNT = "rest.yaml, CountTableRows"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_LIMIT = "731.0625"
"""A number that does not occur in an analysis by chance."""
_QUERY_REQUEST = "rest.yaml, QueryTableRequest"


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
        lab.same(lab.ids(table, filter=text), expected, f"the ids of rows with {text}")


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
    lab.same(
        lab.query(table, offset=4).column("id").to_pylist(),
        whole[4:],
        "the ids after the first four",
    )
    found = lab.query(table, offset=2, k=3).column("id").to_pylist()
    lab.same(found, whole[2:5], "three ids after the first two")


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
    found = lab.query(
        lab.shared_table(), vector={"single_vector": [7.2, 0.0]}, k=3, vector_column="vec"
    )
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
    lab.same(len(set(ids)), len(ALL), "the number of distinct row ids")


@check("LN-QUERY-010", "A query of an earlier version returns its rows.", _QUERY, "QueryTable",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.ids(table, version=1), ALL, "the ids in version 1")
    lab.same(lab.ids(table), [*ALL, 11], "the ids in the newest version")


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
    lab.same(second.to_pylist(), first.to_pylist(), "the rows in the second read")


@check("LN-QUERY-017", "A query vector of the wrong length fails with code 13.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def vector_length(lab: Lab) -> None:
    vector = {"single_vector": [1.0, 0.0, 0.0]}
    lab.refused(
        "QueryTable", [13, 20], id=lab.shared_table(), k=1, vector=vector, vector_column="vec"
    )


@check("LN-QUERY-025",
       "A query with an offset beyond the last row returns no rows, with the same columns.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def behind(lab: Lab) -> None:
    table = lab.shared_table()
    columns = lab.query(table).column_names
    for offset, more in ((len(ALL), {}), (len(ALL) + 5, {}), (3, {"filter": "id > 8"})):
        found = lab.query(table, offset=offset, **more)
        lab.same((found.num_rows, found.column_names), (0, columns), f"the rows from {offset}")


def _angles(lab: Lab) -> list[str]:
    """Return a table whose nearest row by distance is not the nearest row by angle."""
    table = lab.table_id()
    kind = pa.list_(pa.float32(), 2)
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "vec": pa.array([[10.0, 0.0], [0.0, 1.0], [3.0, 3.0]], kind),
            "other": pa.array([[0.0, 9.0], [0.0, 9.0], [1.0, 0.0]], kind),
        }
    )
    lab.given("CreateTable", stream(rows), id=table)
    return table


def _nearest(lab: Lab, table: list[str], **more: object) -> list[int]:
    vector = {"single_vector": [1.0, 0.0]}
    request = {"vector": vector, "vector_column": "vec", "k": 3, **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 13 and {"distance_type", "upper_bound", "lower_bound"} & set(more):
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return list(reply.rows.column("id").to_pylist())


@check("LN-QUERY-018", "distance_type selects the distance metric: cosine compares angles.", _QUERY_REQUEST,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def distance_type(lab: Lab) -> None:
    table = _angles(lab)

    def ask(when: str) -> None:
        for kind, due in (("cosine", [1]), ("l2", [2])):
            found = _nearest(lab, table, distance_type=kind, k=1)
            lab.same(found, due, f"the nearest row by {kind} {when}")

    ask("")
    index = {"column": "vec", "index_type": "IVF_FLAT", "num_partitions": 1, "name": "near"}
    if lab.call("CreateTableIndex", id=table, distance_type="l2", **index).succeeded:
        ask("with an l2 index")


@check("LN-QUERY-019", "lower_bound and upper_bound limit the distance of the results.",
       _QUERY_REQUEST, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def bounds(lab: Lab) -> None:
    table = _angles(lab)  # squared distances 81, 2 and 13
    lab.same(_nearest(lab, table, upper_bound=10.0), [2], "the ids of rows at a distance below 10")
    lab.same(_nearest(lab, table, upper_bound=2.5), [2], "the ids of rows at a distance below 2.5")
    lab.same(
        _nearest(lab, table, lower_bound=10.0),
        [3, 1],
        "the ids of rows at a distance of 10 or more",
    )


@check("LN-QUERY-020", "vector_column selects the column to search.", _QUERY_REQUEST, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def vector_column(lab: Lab) -> None:
    table = _angles(lab)
    lab.same(_nearest(lab, table, k=1), [2], "the nearest row by the column vec")
    lab.same(
        _nearest(lab, table, vector_column="other", k=1), [3], "the nearest row by the column other"
    )


@check("LN-QUERY-021", "column_aliases renames columns in the result.",
       "rest.yaml, QueryTableRequestColumns: the name of a column in the result", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def aliases(lab: Lab) -> None:
    request = {"id": lab.shared_table(), "vector": lab.no_vector(), "k": 100}
    reply = lab.call("QueryTable", **request, columns={"column_aliases": {"number": "id"}})
    lab.may_refuse(reply)
    lab.same(reply.rows.column_names, ["number"], "the columns")
    lab.same(sorted(reply.rows.column("number").to_pylist()), ALL, "the values")


@check("LN-QUERY-022", "k limits the number of rows after filtering.", _QUERY_REQUEST, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def filter_then_k(lab: Lab) -> None:
    lab.same(lab.ids(lab.shared_table(), filter="id > 7", k=3), [8, 9, 10], "the ids")


@check("LN-QUERY-023", "A query returns exactly the columns of the table, with their types.",
       _QUERY_REQUEST, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def columns_and_types(lab: Lab) -> None:
    found = lab.query(lab.shared_table())
    shown = {f.name: str(f.type).replace("large_", "") for f in found.schema}
    due = {f.name: str(f.type) for f in people(1).schema}
    lab.same({n: k.split("<")[0] for n, k in shown.items()},
             {n: k.split("<")[0] for n, k in due.items()}, "the columns")  # fmt: skip


@check("LN-QUERY-024", "A query returns k rows, or all rows if the table has fewer.",
       _QUERY_REQUEST, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def many(lab: Lab) -> None:
    table = lab.new_table(*range(1, 1501))
    lab.same(len(lab.ids(table, k=1200)), 1200, "the number of rows")
    lab.same(len(lab.ids(table, k=5000)), 1500, "the number of rows")


@check("LN-QUERY-026", "The options of a vector search have no effect on a query without one.",
       "rest.yaml, QueryTableRequest", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def without_search(lab: Lab) -> None:
    table = lab.shared_table()
    for more in (
        {"upper_bound": 0.5}, {"lower_bound": 0.5}, {"distance_type": "cosine"}, {"nprobes": 1},
        {"refine_factor": 2}, {"ef": 1}, {"prefilter": True}, {"prefilter": False},
        {"bypass_vector_index": True}, {"fast_search": False},
    ):  # fmt: skip
        found = sorted(lab.query(table, filter="id > 6", **more).column("id").to_pylist())
        lab.same(found, [7, 8, 9, 10], f"the ids with {more}")


@check("LN-QUERY-060", "A query with a negative number or an unknown column is rejected.",
       f"{_QUERY_REQUEST}, k, offset and filter", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def refused(lab: Lab) -> None:
    table, scan = lab.shared_table(), {"vector": lab.no_vector(), "k": 5}
    for more, codes in (
        ({"k": -1}, [13]), ({"offset": -1}, [13]), ({"filter": "nothing = 1"}, [12, 13]),
        ({"filter": "id = 1 AND nothing IS NULL"}, [12, 13]), ({"version": -1}, [11, 13]),
        ({"columns": {"column_names": ["id", "nothing"]}}, NO_COLUMN),
        ({"columns": {"column_aliases": {"a": "id", "b": "nothing"}}}, [0, 12, 13]),
        ({"vector": {"multi_vector": [[1.0, 0.0], [1.0]]}}, [0, 13]),
    ):  # fmt: skip
        lab.refused("QueryTable", codes, id=table, **{**scan, **more})
    lab.refused("CountTableRows", [12, 13], id=table, predicate="id = 1 OR nothing = 1")


@check("LN-COUNT-001", "CountTableRows returns the number of rows.", _COUNT, "CountTableRows",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def count(lab: Lab) -> None:
    lab.same(lab.count(lab.shared_table()), len(ALL), "the number of rows")


@check("LN-COUNT-002", "CountTableRows with a predicate counts the matching rows.", _COUNT,
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_predicate(lab: Lab) -> None:
    table = lab.shared_table()
    for text, expected in (("id > 7", 3), ("score IS NULL", 2), ("id > 99", 0)):
        lab.same(lab.count(table, predicate=text), expected, f"the number of rows with {text}")


@check("LN-COUNT-003", "CountTableRows of an earlier version counts its rows.", _COUNT,
       "CountTableRows", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.count(table, version=1), len(ALL), "the number of rows in version 1")
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


@check("LN-COUNT-007", "CountTableRows applies version and predicate together.",
       "rest.yaml, CountTableRowsRequest",
       "CountTableRows", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_both(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.same(lab.count(table, version=1, predicate="id > 8"), 2, "the rows in version 1")
    lab.same(lab.count(table, predicate="id > 8"), 4, "the rows in the newest version")


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


@check("LN-PLAN-004",
       "ExplainTableQueryPlan plans the requested query on the requested table and branch.",
       "rest.yaml, ExplainTableQueryPlanRequest", "ExplainTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def plan_of_branch(lab: Lab) -> None:
    table = lab.new_table()
    query = {"vector": lab.no_vector(), "k": 3}

    def plan(**more: Any) -> str:
        answer = lab.ok("ExplainTableQueryPlan", id=table, query={**query, **more})
        return str(answer.get("plan"))

    lab.that(plan() != plan(filter="score > 1.25"), "a different plan with a filter", "the same")
    lab.that("score" in plan(filter="score > 1.25"), "the filter in the plan", plan())
    lab.refused("ExplainTableQueryPlan", [13, 12], id=table, query={**query, "filter": "no = 1"})
    branch = lab.call("CreateTableBranch", id=table, name="side")
    added = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
    if (
        branch.succeeded
        and lab.call("AlterTableAddColumns", id=table, branch="side", **added).succeeded
    ):
        lab.ok(
            "ExplainTableQueryPlan", id=table, branch="side", query={**query, "filter": "twice > 2"}
        )
        lab.refused(
            "ExplainTableQueryPlan", [12, 13], id=table, query={**query, "filter": "twice > 2"}
        )


@check("LN-PLAN-005", "AnalyzeTableQueryPlan runs the requested query.",
       "rest.yaml, AnalyzeTableQueryPlanRequest", "AnalyzeTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def analysis(lab: Lab) -> None:
    table = lab.new_table()
    request = {"id": table, "vector": lab.no_vector(), "k": 3}
    plain = str(lab.ok("AnalyzeTableQueryPlan", **request).get("analysis"))
    other = str(
        lab.ok("AnalyzeTableQueryPlan", **request, filter=f"score > {_LIMIT}").get("analysis")
    )
    lab.that("score" in other and _LIMIT in other, "the filter in the plan's analysis", other[:300])
    lab.that(_LIMIT not in plain, "no filter in the analysis of a query without one", plain[:300])
    lab.refused("AnalyzeTableQueryPlan", [12, 13], **request, filter="nothing = 1")
    lab.refused("AnalyzeTableQueryPlan", [12, 13], **request, columns={"column_names": ["nothing"]})
    query = {**request, "columns": {"column_names": ["nothing"]}}
    lab.refused("ExplainTableQueryPlan", [12, 13], id=query.pop("id"), query=query)


@check("LN-PLAN-060", "A plan is made for the requested version and search, and is rejected if "
       "the query would be.",
       "rest.yaml, ExplainTableQueryPlan and AnalyzeTableQueryPlan", "ExplainTableQueryPlan",
       "AlterTableDropColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def plan_of_version_and_search(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    before = newest_version(lab, table)
    lab.given("AlterTableDropColumns", id=table, columns=["score"])
    scan: dict[str, Any] = {"vector": lab.no_vector(), "k": 2}
    near = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2, "vector_column": "vec"}
    old = {**scan, "filter": "score > 1", "version": before}
    lab.ok("ExplainTableQueryPlan", id=table, query=old)
    reply = lab.call("AnalyzeTableQueryPlan", id=table, **old)
    if reply.code != 0:
        lab.must_succeed(reply)
    told = []
    for query in (near, scan):
        brief, full = (
            str(lab.ok("ExplainTableQueryPlan", id=table, query=query, verbose=v).get("plan"))
            for v in (False, True)
        )
        lab.that(len(full) >= len(brief), "at least as much detail with verbose", full[:300])
        told.append(brief)
    lab.that(told[0] != told[1], "different plans for a search and a scan", told[0][:300])
    for wrong, codes in (
        ({"vector_column": "nothing"}, [12, 13]),
        ({"vector": {"single_vector": [1.0]}}, [13]),
        ({"columns": {"column_names": ["score"]}}, NO_COLUMN),
        ({"filter": "id > > 1"}, [13]),
        ({"filter": "score > 1", "version": before + 1}, [12, 13]),
    ):
        asked = {**near, **wrong}
        lab.refused("ExplainTableQueryPlan", codes, id=table, query=asked)
        reply = lab.call("AnalyzeTableQueryPlan", id=table, **asked)
        if reply.code != 0:
            lab.must_fail(reply, codes)
    lab.same(newest_version(lab, table), before + 1, "the version after the plans, unchanged")
