"""Random calls on the data of a table: most are valid for its content, some are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import define

from .calls import Call, Rows, is_number, value_of
from .dataset import Dataset, Line
from .known import Identifier
from .tree import Tree

__all__ = ["DATA_OPERATIONS", "data_call"]

TAGS = ("one", "two")
BRANCHES = ("side", "other")
INDICES = ("by_one", "by_two")
MISSING_VERSION = 999


@define
class _Bench:
    """The data that one call is drawn from."""

    identifier: Identifier
    dataset: Dataset
    line: Line
    request: dict[str, Any]
    chance: random.Random

    def one_in(self, times: int) -> bool:
        """Return True once in `times` calls on average."""
        return self.chance.randrange(times) == 0

    def key(self) -> str | None:
        """Return an integer column; None if there is none."""
        return next((name for name in self.line.head.columns if is_number(name)), None)

    def column(self) -> str:
        """Return a column, occasionally a missing one."""
        return "nothing" if self.one_in(8) else self.chance.choice(self.line.head.columns)

    def predicate(self) -> str | None:
        """Return a condition on an integer column; None if there is none."""
        key = self.key()
        sign = self.chance.choice((">", "<=", "="))
        return None if key is None else f"{key} {sign} {self.chance.randrange(12)}"

    def rows(self) -> Rows:
        """Return rows that match the schema."""
        numbers = [self.chance.randrange(12) for _ in range(self.chance.randrange(1, 4))]
        columns = self.line.head.columns
        return Rows({name: tuple(value_of(name, n) for n in numbers) for name in columns})

    def version(self) -> int:
        """Return a version of the line with known content, or a missing version."""
        known = [number for number, held in self.line.versions.items() if held is not None]
        return MISSING_VERSION if not known or self.one_in(6) else self.chance.choice(known)

    def call(self, operation: str, rows: Rows | None = None, **more: Any) -> Call:
        """Return the call."""
        return Call(operation, {**self.request, **more}, rows)


Draw: TypeAlias = "Callable[[_Bench], Call | None]"
DATA_OPERATIONS: dict[str, Draw] = {}
"""The function that draws the calls of each operation."""
_ON_MAIN = {
    "CreateTableTag", "GetTableTagVersion", "UpdateTableTag", "DeleteTableTag", "ListTableTags",
    "CreateTableBranch", "DeleteTableBranch", "ListTableBranches", "RestoreTable",
    "CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "AlterTableAddColumns",
    "AlterTableAlterColumns", "AlterTableDropColumns",
}  # fmt: skip
"""Operations that are drawn on the main line only."""
_NEEDS_NUMBERS = ("RestoreTable", "CreateTableTag", "UpdateTableTag", "DescribeTableVersion")


def data_call(
    operation: str, tree: Tree, identifier: Identifier, chance: random.Random
) -> Call | None:
    """Return a call on the data of a table; None if no call is suitable for it.

    Args:
        operation: one of `DATA_OPERATIONS`.
        tree: model of the state.
        identifier: the table.
        chance: random number generator.
    """
    dataset = tree.dataset_of(identifier)
    if dataset is None or (dataset.remnants and operation in _ON_MAIN):
        return None
    request: dict[str, Any] = {"id": list(identifier)}
    line = dataset.main
    if operation not in _ON_MAIN and dataset.branches and chance.randrange(3) == 0:
        request["branch"] = chance.choice(sorted(dataset.branches))
        line = dataset.branches[request["branch"]]
    if operation in _NEEDS_NUMBERS and line.pending:
        return Call("ListTableVersions", request)
    return DATA_OPERATIONS[operation](_Bench(identifier, dataset, line, request, chance))


def _drawn(operation: str) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        DATA_OPERATIONS[operation] = draw
        return draw

    return add


@_drawn("InsertIntoTable")
def _insert(bench: _Bench) -> Call:
    rows = bench.rows()
    if bench.one_in(8):
        rows = Rows({"elsewhere": (1,)})
        return bench.call("InsertIntoTable", rows, mode="append")
    return bench.call("InsertIntoTable", rows, mode=bench.chance.choice(("append", "overwrite")))


@_drawn("UpdateTable")
def _update(bench: _Bench) -> Call | None:
    fit = [c for c in bench.line.head.columns if not c.startswith(("vec", "score"))]
    predicate = bench.predicate()
    if not fit or predicate is None:
        return None
    column = "nothing" if bench.one_in(8) else bench.chance.choice(fit)
    number = bench.chance.randrange(12)
    value = str(number) if is_number(column) else f"'v{number}'"
    return bench.call("UpdateTable", updates=[[column, value]], predicate=predicate)


@_drawn("DeleteFromTable")
def _delete(bench: _Bench) -> Call | None:
    predicate = bench.predicate()
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
    return bench.call("MergeInsertIntoTable", rows, **request)


@_drawn("CountTableRows")
def _count(bench: _Bench) -> Call:
    more: dict[str, Any] = {}
    if bench.one_in(3) and not bench.line.pending:
        more["version"] = bench.version()
    predicate = bench.predicate()
    if bench.one_in(3) and predicate is not None and "version" not in more:
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
    return bench.call("QueryTable", **more)


@_drawn("ListTableVersions")
def _versions(bench: _Bench) -> Call:
    return bench.call("ListTableVersions")


@_drawn("DescribeTableVersion")
def _version(bench: _Bench) -> Call:
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
    return bench.call("CreateTableBranch", name=bench.chance.choice(BRANCHES), **more)


@_drawn("DeleteTableBranch")
def _drop_branch(bench: _Bench) -> Call:
    return bench.call("DeleteTableBranch", name=bench.chance.choice(BRANCHES))


@_drawn("ListTableBranches")
def _branches(bench: _Bench) -> Call:
    return bench.call("ListTableBranches")


@_drawn("CreateTableScalarIndex")
def _index(bench: _Bench) -> Call | None:
    if not bench.line.head.records:
        return None
    column = bench.column()
    if column.startswith(("vec", "score")):
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
    return bench.call("AlterTableAddColumns", new_columns=[entry])


@_drawn("AlterTableAlterColumns")
def _rename_column(bench: _Bench) -> Call:
    column = bench.column()
    entry = {"path": column, "rename": f"{column[:8]}{bench.chance.randrange(3)}"}
    return bench.call("AlterTableAlterColumns", alterations=[entry])


@_drawn("AlterTableDropColumns")
def _drop_column(bench: _Bench) -> Call | None:
    key, column = bench.key(), bench.column()
    return None if column == key else bench.call("AlterTableDropColumns", columns=[column])
