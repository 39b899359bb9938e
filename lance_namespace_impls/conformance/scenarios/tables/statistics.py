"""GetTableStats."""

from __future__ import annotations

from ...indexed_tables import built
from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import PEOPLE, numbers, people, stream

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)


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
    lab.same(
        (lengths.get("min"), lengths.get("max")), (2, len(ALL)), "the shortest and longest fragment"
    )
    lab.same(answer.get("num_indices"), 0, "num_indices")
    lab.that((answer.get("total_bytes") or 0) > 0, "a number of bytes", answer)


@check("LN-STATS-002", "GetTableStats of a missing table fails with code 4.", _CODES,
       "GetTableStats", capabilities=_TABLES)  # fmt: skip
def stats_missing(lab: Lab) -> None:
    lab.refused("GetTableStats", [4], id=lab.table_id())


@check("LN-STATS-003", "GetTableStats counts rows, bytes, fragments and fragment lengths.",
       "rest.yaml, GetTableStatsResponse, FragmentStats and FragmentSummary", "GetTableStats",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats_in_full(lab: Lab) -> None:
    table = lab.new_table()
    small = lab.ok("GetTableStats", id=table).get("total_bytes") or 0
    lab.given("InsertIntoTable", stream(people(*range(11, 41))), id=table)
    found = lab.ok("GetTableStats", id=table)
    lab.same(found.get("num_rows"), 40, "num_rows")
    lab.that((found.get("total_bytes") or 0) > small, f"more than {small} bytes", found)
    fragments = found.get("fragment_stats") or {}
    if fragments.get("num_fragments") == 2:
        lengths = fragments.get("lengths") or {}
        shown = [lengths.get(key) for key in ("min", "max", "mean")]
        lab.same(shown, [10, 30, 20], "the minimum, maximum and mean of the fragment lengths")
        lab.same(fragments.get("num_small_fragments"), 2, "num_small_fragments")
        spread = [lengths.get(key) or 0 for key in ("min", "p25", "p50", "p75", "p99", "max")]
        lab.same(spread, sorted(spread), "percentiles in ascending order")


@check("LN-STATS-004",
       "Fragment statistics report the minimum, maximum, mean and median number of rows.",
       "rest.yaml, FragmentSummary", "GetTableStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def fragment_sizes(lab: Lab) -> None:
    table = lab.new_table(1)
    for size in (2, 3, 4, 10):
        lab.given("InsertIntoTable", stream(people(*range(size))), id=table)
    found = lab.ok("GetTableStats", id=table).get("fragment_stats") or {}
    if found.get("num_fragments") != 5:
        raise Skipped("the target does not keep one fragment per write")
    lab.has(found.get("lengths"), {"min": 1, "max": 10, "mean": 4, "p50": 3}, "the lengths")
    for key, least, most in (("p25", 1, 3), ("p75", 3, 10), ("p99", 4, 10)):
        lab.that(least <= found["lengths"][key] <= most, f"{key} between {least} and {most}", found)


@check("LN-STATS-005", "Fragment statistics match the rows that were written.",
       "rest.yaml, GetTableStatsResponse and FragmentSummary", "GetTableStats", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def fragments_of_writes(lab: Lab) -> None:
    for sizes in ((3, 1, 1), (1, 2), (5,), (2, 2, 3, 4), (7, 1)):
        table = lab.table_id()
        lab.given("CreateTable", stream(numbers(*range(sizes[0]))), id=table)
        for size in sizes[1:]:
            lab.given("InsertIntoTable", stream(numbers(*range(size))), id=table)
        told = lab.ok("GetTableStats", id=table)
        lab.same(told.get("num_rows"), sum(sizes), f"num_rows for {sizes}")
        summary = told.get("fragment_stats") or {}
        lab.same(summary.get("num_fragments"), len(sizes), f"num_fragments for {sizes}")
        lengths = summary.get("lengths") or {}
        due = {"min": min(sizes), "max": max(sizes), "mean": sum(sizes) // len(sizes)}
        for key, value in due.items():
            lab.that(lengths.get(key) in (None, value), f"{key}={value} for {sizes}", lengths)


@check("LN-STATS-060",
       "Fragment statistics are 0 for a table without fragments and exact for other tables.",
       "rest.yaml, FragmentStats and FragmentSummary", "GetTableStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def spread(lab: Lab) -> None:
    table = lab.table_id()
    lab.given("CreateTable", stream(people().slice(0, 0)), id=table)
    told = lab.ok("GetTableStats", id=table)
    found = told["fragment_stats"]
    lab.same((told["num_rows"], told["num_indices"]), (0, 0), "num_rows and num_indices")
    if found["num_fragments"] == 0:
        figures = {found["num_small_fragments"], *found["lengths"].values()}
        lab.same(figures, {0}, "the statistics without fragments")
    for sizes, due in (((9, 1, 1, 1, 1), (1, 1, 1)), ((9, 9, 9, 1, 9), (9, 9, 9))):
        table = lab.new_table(*range(sizes[0]))
        for size in sizes[1:]:
            lab.given("InsertIntoTable", stream(people(*range(size))), id=table)
        found = lab.ok("GetTableStats", id=table)["fragment_stats"]
        if found["num_fragments"] != len(sizes):
            raise Skipped("the target does not keep one fragment per write")
        told = found["lengths"]
        lab.same(
            tuple(told[k] for k in ("p25", "p50", "p75")), due, f"p25, p50 and p75 for {sizes}"
        )
        below = sorted(sizes)[-2]  # a percentile may be the next lower length or interpolated
        lab.that(told["p99"] in (below, 8, 9), f"p99 to be {below}, 8 or 9 for {sizes}", told)
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lab.maybe("InsertIntoTable", stream(people(*range(20))), id=table, branch="side")
        lab.call("CreateTableScalarIndex", id=table, branch="side", column="id", index_type="BTREE")
        made = int(lab.last is not None and lab.last.succeeded)
        if made:
            built(lab, table, branch="side")
        for of, due in (({"branch": "side"}, (6, 20, made)), ({}, (5, 9, 0))):
            told = lab.maybe("GetTableStats", id=table, **of)
            found = told["fragment_stats"]
            shown = (found["num_fragments"], found["lengths"]["max"], told["num_indices"])
            lab.same(
                shown,
                due,
                f"the number of fragments, the longest length and the number of indices {of}",
            )
