"""The dataset at the location of a table."""

from __future__ import annotations

import os

from ....core.imports import load
from ...lab import Lab, NotReached, Skipped
from ...locations import local_folder
from ...requirement import check
from ...rows import numbers, plain

_MANAGED = "general specification, Storage Managed Table"
_BOTH = f"general specification, Implementation Managed Table; {_MANAGED}"


@check("LN-STORAGE-001", "Rows that InsertIntoTable adds are in the dataset at the location.",
       _MANAGED, "CreateTable", "DescribeTable", "InsertIntoTable",
       capabilities=["tables"])  # fmt: skip
def inserted_at_location(lab: Lab) -> None:
    lance = load("lance")

    table = lab.table_id()
    lab.given("CreateTable", plain(1, 2, 3), id=table)
    described = lab.ok("DescribeTable", id=table)
    if described.get("managed_versioning"):
        raise Skipped("the namespace manages the versions")
    path = local_folder(described)
    lab.ok("InsertIntoTable", plain(4, 5), id=table)
    lab.same(lance.dataset(path).count_rows(), 5, f"the number of rows at {path}")


@check("LN-STORAGE-002",
       "A commit made directly on storage is visible, unless managed_versioning reports"
       " that the namespace keeps the versions.",
       f"{_BOTH}; rest.yaml, DescribeTableResponse", "CreateTable", "DescribeTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def committed_past_the_namespace(lab: Lab) -> None:
    lance = load("lance")

    table = lab.table_id()
    lab.given("CreateTable", plain(1, 2, 3), id=table)
    described = lab.ok("DescribeTable", id=table)
    path, managed = local_folder(described), bool(described.get("managed_versioning"))
    if not os.access(os.path.join(path, "_versions"), os.W_OK):
        raise Skipped("this machine cannot write to the location")
    # The same path may be an unrelated local directory, which must not be changed.
    if lance.dataset(path).to_table().to_pydict() != {"x": [1, 2, 3]}:
        raise NotReached("the dataset at the location does not belong to the table")
    lab.same(lab.count(table), 3, "the number of rows")
    lance.write_dataset(numbers(4, 5), path, mode="append")
    keeper = "the namespace" if managed else "storage"
    due = 3 if managed else 5
    lab.same(
        lab.count(table), due, f"the number of rows in a table whose versions {keeper} manages"
    )


@check("LN-STORAGE-003",
       "The metadata that is returned for a table matches the dataset at its location.",
       f"{_MANAGED}; rest.yaml, TableBasicStats, GetTableStatsResponse and TableVersion",
       "CreateTable", "DescribeTable", "DeleteFromTable",
       capabilities=["tables"])  # fmt: skip
def told_of_storage(lab: Lab) -> None:
    lance = load("lance")

    table = lab.new_table()
    lab.given("DeleteFromTable", id=table, predicate="id = 3")
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    dataset = lance.dataset(local_folder(described))
    fragments = dataset.get_fragments()
    deleted = sum(fragment.num_deletions for fragment in fragments)
    lab.same(described.get("version"), dataset.version, "the version")
    stats = described.get("stats") or {}
    for key, due in (("num_deleted_rows", deleted), ("num_fragments", len(fragments))):
        if stats.get(key) is not None:
            lab.same(stats[key], due, key)
    whole = lab.call("GetTableStats", id=table)
    if whole.succeeded:
        held = (whole.answer or {}).get("fragment_stats") or {}
        lab.same((whole.answer or {}).get("num_rows"), dataset.count_rows(), "num_rows")
        lab.same(held.get("num_fragments"), len(fragments), "num_fragments")
    listed = lab.call("ListTableVersions", id=table)
    if listed.succeeded:
        versions = (listed.answer or {}).get("versions") or ()
        due_versions = sorted(entry["version"] for entry in dataset.versions())
        lab.same(sorted(entry["version"] for entry in versions), due_versions, "the versions")


@check("LN-STORAGE-004", "DropTable deletes the data; DeregisterTable keeps it.",
       "rest.yaml, DropTable, DeregisterTable and RenameTable", "CreateTable", "DescribeTable",
       "DropTable", "DeregisterTable", capabilities=["tables"])  # fmt: skip
def data_on_storage(lab: Lab) -> None:
    lance = load("lance")

    dropped, deregistered = lab.new_table(1, 2), lab.new_table(3, 4)
    gone = local_folder(lab.ok("DescribeTable", id=dropped))
    kept = local_folder(lab.ok("DescribeTable", id=deregistered))
    if (held := lance.dataset(kept).count_rows()) != 2:
        raise NotReached(f"CreateTable stored {held} of 2 rows at {kept}")
    lab.ok("DropTable", id=dropped)
    left = [name for _, _, files in os.walk(gone) for name in files if name.endswith(".lance")]
    lab.same(left, [], f"the data files left at {gone}")
    lab.maybe("DeregisterTable", id=deregistered)
    lab.same(lance.dataset(kept).count_rows(), 2, f"the rows at {kept}")
