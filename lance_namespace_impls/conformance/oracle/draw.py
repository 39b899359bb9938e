"""Random calls on the data of a table: most are valid for its content, some are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import define

from .calls import Call, Rows
from .columns import is_number, is_text, type_of, value_of
from .dataset import Dataset, Line
from .known import Identifier
from .predicates import BROKEN, MISSING, condition
from .tree import Tree

__all__ = ["DATA_OPERATIONS", "WIDE_OPERATIONS", "data_call"]

TAGS = ("one", "two", "One")
BRANCHES = ("side", "other")
INDICES = ("by_one", "by_two")
MISSING_VERSION = 999
MISSING_BRANCH = "nowhere"
METADATA_KEYS = ("kit.a", "kit.b", "kit.A")
METADATA_VALUES = ("1", "", "ä b", None)


@define
class _Bench:
    """The data that one call is drawn from."""

    identifier: Identifier
    dataset: Dataset
    line: Line
    request: dict[str, Any]
    chance: random.Random
    wide: bool = False
    """Whether calls that only some sources describe are drawn, too."""

    def one_in(self, times: int) -> bool:
        """Return True once in `times` calls on average."""
        return self.chance.randrange(times) == 0

    def key(self) -> str | None:
        """Return an integer column; None if there is none."""
        return next((name for name in self.line.head.columns if is_number(name)), None)

    def column(self) -> str:
        """Return a column, occasionally a missing one."""
        return MISSING if self.one_in(8) else self.chance.choice(self.line.head.columns)

    def predicate(self) -> str | None:
        """Return a condition on the columns; None if no column is suitable."""
        if self.wide and self.one_in(14):
            return self.chance.choice((*BROKEN, f"{MISSING} = 1"))
        if self.wide and self.one_in(2):
            return condition(self.line.head.columns, self.chance)
        key = self.key()
        sign = self.chance.choice((">", "<=", "="))
        return None if key is None else f"{key} {sign} {self.chance.randrange(12)}"

    def rows(self) -> Rows:
        """Return rows that match the schema; seldom many or none."""
        count = self.chance.randrange(1, 4)
        if self.wide and self.one_in(12):
            count = self.chance.choice((0, 13, 1_300))
        numbers = [self.chance.randrange(12) for _ in range(count)]
        columns = self.line.head.columns
        values = {name: tuple(value_of(name, n) for n in numbers) for name in columns}
        return Rows(values, batch_rows=self.chance.choice((None, 1, 2)) if self.wide else None)

    def vector(self) -> str | None:
        """Return a column of vectors; None if there is none."""
        kind = type_of("vec")
        return next((name for name in self.line.head.columns if type_of(name) == kind), None)

    def version(self) -> int:
        """Return a version of the line with known content, or a missing version."""
        known = [number for number, held in self.line.versions.items() if held is not None]
        if self.wide and self.one_in(20):
            return self.chance.choice((0, -1))
        return MISSING_VERSION if not known or self.one_in(6) else self.chance.choice(known)

    def call(self, operation: str, rows: Rows | None = None, **more: Any) -> Call:
        """Return the call."""
        return Call(operation, {**self.request, **more}, rows)


Draw: TypeAlias = "Callable[[_Bench], Call | None]"
DATA_OPERATIONS: dict[str, Draw] = {}
"""The function that draws the calls of each operation."""
WIDE_OPERATIONS: dict[str, Draw] = {}
"""The same for operations that are only drawn if `data_call` is called with ``wide``."""
_ON_MAIN = {
    "CreateTableTag", "GetTableTagVersion", "UpdateTableTag", "DeleteTableTag", "ListTableTags",
    "CreateTableBranch", "DeleteTableBranch", "ListTableBranches", "RestoreTable",
    "CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "AlterTableAddColumns",
    "AlterTableAlterColumns", "AlterTableDropColumns",
}  # fmt: skip
"""Operations that are drawn on the main line only."""
_NO_BRANCH = {
    "GetTableTagVersion", "DeleteTableTag", "ListTableTags", "CreateTableBranch",
    "DeleteTableBranch", "ListTableBranches",
}  # fmt: skip
"""Operations without a branch in their request."""
_NEEDS_NUMBERS = (
    "RestoreTable", "CreateTableTag", "UpdateTableTag", "DescribeTableVersion",
    "BatchDeleteTableVersions",
)  # fmt: skip


def data_call(
    operation: str,
    tree: Tree,
    identifier: Identifier,
    chance: random.Random,
    *,
    wide: bool = False,
) -> Call | None:
    """Return a call on the data of a table; None if no call is suitable for it.

    Args:
        operation: one of `DATA_OPERATIONS`, or of `WIDE_OPERATIONS` if `wide`.
        tree: model of the state.
        identifier: the table.
        chance: random number generator.
        wide: whether to draw calls on missing tables and branches, too, and calls on branches that
            a target may reject.
    """
    dataset = tree.dataset_of(identifier)
    on_main = _NO_BRANCH if wide else _ON_MAIN
    if wide and identifier not in tree.tables:
        dataset = _stand_in() if chance.randrange(6) == 0 else None
    if dataset is None or (dataset.remnants and operation in (_ON_MAIN | set(_HISTORY))):
        return None
    request: dict[str, Any] = {"id": list(identifier)}
    line = dataset.main
    if operation not in on_main and dataset.branches and chance.randrange(3) == 0:
        request["branch"] = chance.choice(sorted(dataset.branches))
        line = dataset.branches[request["branch"]]
    # Lance lists the versions of a branch before it creates the branch, so a catalog that stores
    # versions itself lists none instead of failing.
    elif wide and operation not in (on_main | {"ListTableVersions"}) and chance.randrange(25) == 0:
        request["branch"] = MISSING_BRANCH
    if operation in _NEEDS_NUMBERS and line.pending and request.get("branch") != MISSING_BRANCH:
        more = {"branch": request["branch"]} if "branch" in request else {}
        return Call("ListTableVersions", {"id": list(identifier), **more})
    draws = WIDE_OPERATIONS | DATA_OPERATIONS if wide else DATA_OPERATIONS
    return draws[operation](_Bench(identifier, dataset, line, request, chance, wide))


_HISTORY = ("BatchDeleteTableVersions", "DescribeTable")


def _stand_in() -> Dataset:
    """Return data from which calls on a missing table are drawn."""
    return Dataset.of(Rows({"id": (1, 2), "name": ("n1", "n2")}), 1)


def _drawn(operation: str, *, wide: bool = False) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        (WIDE_OPERATIONS if wide else DATA_OPERATIONS)[operation] = draw
        return draw

    return add


@_drawn("InsertIntoTable")
def _insert(bench: _Bench) -> Call:
    rows = bench.rows()
    if bench.one_in(8):
        rows = Rows({"elsewhere": (1,)})
        return bench.call("InsertIntoTable", rows, mode="append")
    mode = bench.chance.choice(("append", "overwrite"))
    if bench.wide:
        mode = bench.chance.choice(("append", "append", "overwrite", "OVERWRITE", "Append"))
        if bench.one_in(20):
            mode = bench.chance.choice(("sometimes", ""))
        elif bench.one_in(6):
            return bench.call("InsertIntoTable", rows)  # append
    return bench.call("InsertIntoTable", rows, mode=mode)


@_drawn("UpdateTable")
def _update(bench: _Bench) -> Call | None:
    fit = [c for c in bench.line.head.columns if is_number(c) or is_text(c)]
    predicate = bench.predicate()
    if not fit or predicate is None:
        return None
    column = MISSING if bench.one_in(8) else bench.chance.choice(fit)
    columns = [column]
    if bench.wide and bench.one_in(3):
        columns = list(dict.fromkeys((column, bench.chance.choice(fit))))
    updates = []
    for name in columns:
        number = bench.chance.randrange(12)
        updates.append([name, str(number) if is_number(name) else f"'v{number}'"])
    if bench.wide and bench.one_in(8):  # every row
        return bench.call("UpdateTable", updates=updates)
    return bench.call("UpdateTable", updates=updates, predicate=predicate)


@_drawn("DeleteFromTable")
def _delete(bench: _Bench) -> Call | None:
    predicate = bench.predicate()
    if bench.wide and bench.one_in(20):
        predicate = ""
    return None if predicate is None else bench.call("DeleteFromTable", predicate=predicate)


@_drawn("MergeInsertIntoTable")
def _merge(bench: _Bench) -> Call | None:
    key = bench.key()
    held = [record.get(key) for record in bench.line.head.records] if key else []
    if key is None or len(held) != len(set(held)) or None in held:
        return None  # with duplicate keys, the updated row is unspecified
    numbers = bench.chance.sample(range(12), 3)
    columns = bench.line.head.columns
    rows = Rows({name: tuple(value_of(name, n) for n in numbers) for name in columns})
    request: dict[str, Any] = {"on": key, "when_not_matched_insert_all": True}
    if bench.one_in(2):
        request["when_matched_update_all"] = True
    if bench.one_in(4):
        request["when_not_matched_by_source_delete"] = True
    if bench.wide:
        _widen_merge(bench, request, key)
    return bench.call("MergeInsertIntoTable", rows, **request)


def _widen_merge(bench: _Bench, request: dict[str, Any], key: str) -> None:
    """Add conditions, drop actions, or name a wrong key."""
    if bench.one_in(3) and "when_matched_update_all" in request:
        if bench.one_in(2):
            del request["when_not_matched_insert_all"]
        if key == key.lower() and bench.one_in(2):
            limit = bench.chance.randrange(12)
            request["when_matched_update_all_filt"] = f"target.{key} > {limit}"
    if "when_not_matched_by_source_delete" in request and key == key.lower() and bench.one_in(2):
        limit = bench.chance.randrange(12)
        request["when_not_matched_by_source_delete_filt"] = f"{key} < {limit}"
    if bench.one_in(12):
        request["on"] = MISSING
    elif bench.one_in(20):
        del request["on"]


@_drawn("CountTableRows")
def _count(bench: _Bench) -> Call:
    more: dict[str, Any] = {}
    if bench.one_in(3) and not bench.line.pending:
        more["version"] = bench.version()
    predicate = bench.predicate()
    plain = "version" not in more and bench.one_in(3) and predicate is not None
    if plain or (bench.wide and bench.one_in(3) and _fits(bench, more.get("version"), predicate)):
        more["predicate"] = predicate
    return bench.call("CountTableRows", **more)


@_drawn("QueryTable")
def _query(bench: _Bench) -> Call:
    more: dict[str, Any] = {"vector": None, "k": 1000}
    predicate = bench.predicate()
    if bench.one_in(3) and not bench.line.pending:
        more["version"] = bench.version()
    elif bench.one_in(3) and predicate is not None:
        more["filter"] = predicate
    if bench.one_in(4) and "version" not in more:
        more["columns"] = {"column_names": [bench.chance.choice(bench.line.head.columns)]}
    if bench.wide:
        _widen_query(bench, more)
    return bench.call("QueryTable", **more)


def _fits(bench: _Bench, version: int | None, predicate: str | None) -> bool:
    """Return whether a version has the columns that conditions are drawn from."""
    held = bench.line.head if version is None else bench.line.versions.get(version)
    columns = bench.line.head.columns
    return predicate is not None and held is not None and set(columns) <= set(held.columns)


def _widen_query(bench: _Bench, request: dict[str, Any]) -> None:
    """Add the other fields of a query."""
    predicate, version = bench.predicate(), request.get("version")
    if version is not None and bench.one_in(3) and _fits(bench, version, predicate):
        request["filter"] = predicate
    if bench.one_in(3):
        request["k"] = bench.chance.choice((1, 2, 3, 5))
    if bench.one_in(4):
        request["offset"] = bench.chance.choice((0, 1, 2, 50))
    if bench.one_in(6):
        request["with_row_id"] = True
    columns = list(bench.line.head.columns)
    if bench.one_in(4) and _fits(bench, version, "any"):
        bench.chance.shuffle(columns)
        names = columns[: bench.chance.randrange(1, 4)]
        request["columns"] = {"column_names": [MISSING] if bench.one_in(6) else names}
        if bench.one_in(4) and names[0] == names[0].lower():
            request["columns"] = {"column_aliases": {"shown": names[0]}}
    vector = bench.vector()
    if vector is not None and bench.one_in(3) and _fits(bench, version, "any"):
        number = bench.chance.randrange(12)
        single = [number + 0.25, 0.0, 0.0] if bench.one_in(10) else [number + 0.25, 0.0]
        request["vector"] = {"single_vector": single}
        request["vector_column"] = MISSING if bench.one_in(10) else vector
        request.pop("columns", None)
        if "filter" in request:
            request["prefilter"] = True
        if bench.one_in(2):
            request["distance_type"] = bench.chance.choice(("l2", "dot"))
        for bound in ("lower_bound", "upper_bound"):
            if bench.one_in(4):
                request[bound] = bench.chance.choice((1.0, 4.0, 20.0))


def _plain_query(bench: _Bench) -> dict[str, Any]:
    """Return the fields of a query by version or filter."""
    more: dict[str, Any] = {"vector": None, "k": 10}
    predicate = bench.predicate()
    if bench.one_in(3) and not bench.line.pending:
        more["version"] = bench.version()
    elif bench.one_in(2) and predicate is not None:
        more["filter"] = predicate
    elif bench.one_in(3):
        more["columns"] = {"column_names": [bench.column()]}
    vector = bench.vector()
    if vector is not None and bench.one_in(3) and "version" not in more:
        more |= {"vector": {"single_vector": [1.0, 0.0]}, "vector_column": vector}
    return more


@_drawn("ExplainTableQueryPlan", wide=True)
def _explain(bench: _Bench) -> Call:
    return bench.call("ExplainTableQueryPlan", query=_plain_query(bench))


@_drawn("AnalyzeTableQueryPlan", wide=True)
def _analyze(bench: _Bench) -> Call:
    return bench.call("AnalyzeTableQueryPlan", **_plain_query(bench))


@_drawn("GetTableStats", wide=True)
def _stats(bench: _Bench) -> Call:
    return bench.call("GetTableStats")


@_drawn("DescribeTableIndexStats", wide=True)
def _index_stats(bench: _Bench) -> Call:
    return bench.call("DescribeTableIndexStats", index_name=bench.chance.choice(INDICES))


@_drawn("DescribeTable", wide=True)
def _describe(bench: _Bench) -> Call:
    more: dict[str, Any] = {"load_detailed_metadata": True}
    kind = bench.chance.randrange(4)
    if kind == 0 and not bench.line.pending and "branch" not in bench.request:
        more["version"] = bench.version()
    elif kind == 1 and "branch" not in bench.request:
        more["tag"] = bench.chance.choice(TAGS)
    if bench.one_in(4):
        more["with_table_uri"] = True
    if bench.one_in(6) and "version" in more:
        more["tag"] = bench.chance.choice(TAGS)
    return bench.call("DescribeTable", **more)


@_drawn("UpdateTableSchemaMetadata", wide=True)
def _set_metadata(bench: _Bench) -> Call:
    pairs = {key: value or "" for key, value in _metadata(bench).items()}
    return bench.call("UpdateTableSchemaMetadata", metadata=pairs)


def _metadata(bench: _Bench) -> dict[str, str | None]:
    keys = bench.chance.sample(METADATA_KEYS, bench.chance.randrange(1, 3))
    return {key: bench.chance.choice(METADATA_VALUES) for key in keys}


@_drawn("UpdateFieldMetadata", wide=True)
def _set_field_metadata(bench: _Bench) -> Call:
    updates = []
    for column in {bench.column(): None, bench.column(): None}:
        entry: dict[str, Any] = {"path": column, "metadata": _metadata(bench)}
        if bench.one_in(3):
            entry["replace"] = bench.one_in(2)
        updates.append(entry)
    return bench.call("UpdateFieldMetadata", updates=updates)


@_drawn("BatchDeleteTableVersions", wide=True)
def _delete_versions(bench: _Bench) -> Call | None:
    line, dataset = bench.line, bench.dataset
    used = {*dataset.tags.values(), *(b.parent[1] for b in dataset.branches.values() if b.parent)}
    if dataset.branches or not line.tells_all:
        return None  # branches may need versions of the main line
    free = [v for v in sorted(line.versions)[:-1] if v not in used]
    start = bench.chance.choice(free) if free and not bench.one_in(5) else 500
    spans = [{"start_version": start, "end_version": start + 1}]
    if free and bench.one_in(3):
        last = bench.chance.choice(free)
        spans.append({"start_version": last, "end_version": last + 1})
    return bench.call("BatchDeleteTableVersions", ranges=spans)


@_drawn("ListTableVersions")
def _versions(bench: _Bench) -> Call:
    more: dict[str, Any] = {}
    if bench.wide and bench.one_in(2):
        more["descending"] = bench.one_in(2)
        if bench.one_in(2) and not bench.line.pending:
            more["limit"] = bench.chance.randrange(1, 4)
    return bench.call("ListTableVersions", **more)


@_drawn("DescribeTableVersion")
def _version(bench: _Bench) -> Call:
    if bench.wide and bench.one_in(3):  # the newest
        return bench.call("DescribeTableVersion")
    return bench.call("DescribeTableVersion", version=bench.version())


@_drawn("RestoreTable")
def _restore(bench: _Bench) -> Call:
    return bench.call("RestoreTable", version=bench.version())


@_drawn("CreateTableTag")
def _tag(bench: _Bench) -> Call:
    return bench.call("CreateTableTag", tag=bench.chance.choice(TAGS), version=bench.version())


@_drawn("UpdateTableTag")
def _move_tag(bench: _Bench) -> Call:
    return bench.call("UpdateTableTag", tag=bench.chance.choice(TAGS), version=bench.version())


@_drawn("GetTableTagVersion")
def _tagged(bench: _Bench) -> Call:
    return bench.call("GetTableTagVersion", tag=bench.chance.choice(TAGS))


@_drawn("DeleteTableTag")
def _untag(bench: _Bench) -> Call:
    return bench.call("DeleteTableTag", tag=bench.chance.choice(TAGS))


@_drawn("ListTableTags")
def _tags(bench: _Bench) -> Call:
    return bench.call("ListTableTags")


@_drawn("CreateTableBranch")
def _branch(bench: _Bench) -> Call:
    more: dict[str, Any] = {}
    if bench.one_in(3) and not bench.line.pending:
        more["from_version"] = bench.version()
    if bench.wide and bench.dataset.branches and bench.one_in(3):
        more = {"from_branch": bench.chance.choice(sorted(bench.dataset.branches))}
    return bench.call("CreateTableBranch", name=bench.chance.choice(BRANCHES), **more)


@_drawn("DeleteTableBranch")
def _drop_branch(bench: _Bench) -> Call | None:
    name = bench.chance.choice(BRANCHES)
    started = any(b.parent and b.parent[0] == name for b in bench.dataset.branches.values())
    if name in bench.dataset.tag_branches.values() or started:
        return None  # whether a branch in use can be deleted is unspecified
    return bench.call("DeleteTableBranch", name=name)


@_drawn("ListTableBranches")
def _branches(bench: _Bench) -> Call:
    return bench.call("ListTableBranches")


@_drawn("CreateTableScalarIndex")
def _index(bench: _Bench) -> Call | None:
    if not bench.line.head.records:
        return None
    column = bench.column()
    if column != MISSING and not (is_number(column) or is_text(column)):
        return None
    name = bench.chance.choice(INDICES)
    return bench.call("CreateTableScalarIndex", column=column, index_type="BTREE", name=name)


@_drawn("ListTableIndices")
def _indices(bench: _Bench) -> Call:
    return bench.call("ListTableIndices")


@_drawn("DropTableIndex")
def _drop_index(bench: _Bench) -> Call:
    return bench.call("DropTableIndex", index_name=bench.chance.choice(INDICES))


@_drawn("AlterTableAddColumns")
def _add_column(bench: _Bench) -> Call | None:
    key = bench.key()
    if key is None:
        return None
    entry = {"name": bench.chance.choice(("c1", "c2", key)), "expression": f"{key} + 1"}
    entries = [entry]
    if bench.wide and bench.one_in(3):
        name = "c1" if entry["name"] == "c2" else "c2"
        source = MISSING if bench.one_in(4) else key
        entries.append({"name": name, "expression": f"{source} + 2"})
    if key != key.lower():
        return None  # the letter case of names in SQL is unspecified
    return bench.call("AlterTableAddColumns", new_columns=entries)


@_drawn("AlterTableAlterColumns")
def _rename_column(bench: _Bench) -> Call:
    column = bench.column()
    entry = {"path": column, "rename": f"{column[:8]}{bench.chance.randrange(3)}"}
    entries = [entry]
    other = bench.column()
    if bench.wide and bench.one_in(3) and other not in (column, entry["rename"]):
        entries.append({"path": other, "rename": f"{other[:8]}{bench.chance.randrange(3)}"})
    return bench.call("AlterTableAlterColumns", alterations=entries)


@_drawn("AlterTableDropColumns")
def _drop_column(bench: _Bench) -> Call | None:
    key, column = bench.key(), bench.column()
    columns = [column]
    other = bench.column()
    if bench.wide and bench.one_in(3) and other != column:
        columns.append(other)
    return None if key in columns else bench.call("AlterTableDropColumns", columns=columns)
