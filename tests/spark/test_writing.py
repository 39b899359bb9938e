"""A single commit of the rows that many workers write, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.write_plan import FileOptions, Mode, Target, WritePlan
from tests.spark.conftest import Lake

ROWS = pa.table({"a": [1, 2, 3]})


def planned(target: Target, mode: Mode, rows: pa.Table = ROWS, **more: Any) -> WritePlan:
    plan = write_plan.plan_write(target, rows.schema, mode, **more)
    assert plan is not None
    return plan


def written(plan: WritePlan, rows: pa.Table = ROWS) -> list[dict[str, Any]]:
    fragments = write_plan.write_rows(plan, rows.to_batches())
    return json.loads(json.dumps(fragments))  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", [Mode.CREATE, Mode.EXIST_OK, Mode.OVERWRITE])
def test_a_new_table_appears_with_its_rows(quiet_lake: Lake, mode: Mode) -> None:
    target = quiet_lake.target()
    plan = planned(target, mode)
    fragments = written(plan) + written(plan)
    assert list(target.namespace.iter_tables(include_declared=False)) == []
    assert write_plan.commit(plan, fragments) == 1
    assert list(target.namespace.iter_tables(include_declared=False)) == ["t"]
    assert quiet_lake.dataset("t").count_rows() == 6


def test_modes_with_an_existing_table(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    target = quiet_lake.target()
    with pytest.raises(TableAlreadyExistsError):
        write_plan.plan_write(target, ROWS.schema, Mode.CREATE)
    assert write_plan.plan_write(target, ROWS.schema, Mode.EXIST_OK) is None
    append = planned(target, Mode.APPEND)
    assert write_plan.commit(append, written(append)) == 2
    overwrite = planned(target, Mode.OVERWRITE, other := pa.table({"b": ["x"]}))
    assert write_plan.commit(overwrite, written(overwrite, other)) == 3
    assert quiet_lake.dataset("t").to_table() == other


def test_append_to_a_missing_table(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    with pytest.raises(TableNotFoundError):
        write_plan.plan_write(target, ROWS.schema, Mode.APPEND)
    plan = planned(target, Mode.APPEND, makes_table=True)
    assert write_plan.commit(plan, written(plan)) == 1


def test_a_declared_table_is_filled(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    target.namespace.declare_table({"id": ["t"]})
    plan = planned(target, Mode.CREATE)
    assert not plan.declared
    assert write_plan.commit(plan, written(plan)) == 1


def test_a_missing_namespace(quiet_lake: Lake) -> None:
    class Missing:
        def describe_table(self, request: Any) -> Any:
            raise TableNotFoundError("no")

        def declare_table(self, request: Any) -> Any:
            raise NamespaceNotFoundError("no")

        def partition_store(self, identifier: Any) -> Any:
            raise UnsupportedError("no")

    with pytest.raises(NamespaceNotFoundError):
        write_plan.plan_write(
            Target(namespace=Missing(), table=("n", "t")), ROWS.schema, Mode.CREATE
        )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (pa.schema([]), "no columns"),
        (pa.schema([("a", pa.int8()), ("a", pa.int8())]), "two columns are named 'a'"),
        (pa.schema([("a.b", pa.int8())]), "has a dot in its name"),
        (pa.schema([("", pa.int8())]), "a column has an empty name"),
    ],
)
def test_schemas_that_lance_cannot_store(quiet_lake: Lake, schema: pa.Schema, message: str) -> None:
    target = quiet_lake.target()
    with pytest.raises(TableSchemaValidationError, match=message):
        write_plan.plan_write(target, schema, Mode.CREATE)
    assert list(target.namespace.iter_tables()) == []


@pytest.mark.parametrize("theirs", ["append", "overwrite"])
def test_overwrite_after_any_change_conflicts_and_leaves_nothing(
    quiet_lake: Lake, theirs: str
) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake.target(), Mode.OVERWRITE)
    fragments = written(plan)
    quiet_lake.put("t", ROWS, mode=theirs)
    files = quiet_lake.data_files("t")
    with pytest.raises(ConcurrentModificationError, match=r"table t was changed.*version 1"):
        write_plan.commit(plan, fragments)
    assert quiet_lake.dataset("t").version == 2
    assert quiet_lake.data_files("t") == files - {fragments[0]["files"][0]["path"]}


def test_one_of_two_first_overwrites_wins(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    first = planned(target, Mode.OVERWRITE)
    second = planned(target, Mode.OVERWRITE)
    assert (first.declared, second.declared) == (True, False)
    ours, theirs = written(first), written(second)
    write_plan.commit(second, theirs)
    with pytest.raises(ConcurrentModificationError, match="it was found without data"):
        write_plan.commit(first, ours)
    write_plan.abort(first, ours)
    assert quiet_lake.dataset("t").to_table() == ROWS
    assert quiet_lake.data_files("t") == {theirs[0]["files"][0]["path"]}


def test_abort_deletes_files_and_the_declared_table(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    plan = planned(target, Mode.CREATE)
    write_plan.abort(plan, written(plan))
    assert list(target.namespace.iter_tables()) == []
    assert not Path(quiet_lake.path("t")).exists()
    again = planned(target, Mode.CREATE)
    assert write_plan.commit(again, written(again)) == 1


def test_abort_keeps_a_table_that_another_client_declared(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    target.namespace.declare_table({"id": ["t"]})
    plan = planned(target, Mode.CREATE)
    write_plan.abort(plan, written(plan))
    assert list(target.namespace.iter_tables()) == ["t"]
    assert quiet_lake.data_files("t") == set()


def test_abort_deletes_only_files_that_no_version_uses(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake.target(), Mode.APPEND)
    committed, lost = written(plan), written(plan)
    write_plan.commit(plan, committed)
    quiet_lake.put("t", ROWS, mode="overwrite")
    write_plan.abort(plan, committed + lost)
    assert lance.dataset(quiet_lake.path("t"), version=2).count_rows() == 6
    assert lost[0]["files"][0]["path"] not in quiet_lake.data_files("t")


def test_rows_that_fail_midway_leave_nothing(quiet_lake: Lake) -> None:
    plan = planned(quiet_lake.target(), Mode.CREATE, files=FileOptions(rows=3))

    def batches() -> Any:
        yield from ROWS.to_batches() * 3
        raise TableSchemaValidationError("file x: column a")

    with pytest.raises(TableSchemaValidationError, match="file x: column a"):
        write_plan.write_rows(plan, batches())
    assert quiet_lake.data_files("t") == set()


def test_a_table_that_moved_is_not_written_to(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    quiet_lake.put("other", ROWS)
    target = quiet_lake.target()
    plan = planned(target, Mode.APPEND)
    target.namespace.rename_table({"id": ["t"], "new_table_name": "gone"})
    with pytest.raises(TableNotFoundError):
        written(plan)
    Path(quiet_lake.path("other")).rename(quiet_lake.root / "t")
    with pytest.raises(ConcurrentModificationError, match="moved concurrently from"):
        written(plan)


def test_no_rows_for_a_new_and_for_an_existing_table(quiet_lake: Lake) -> None:
    target = quiet_lake.target()
    create = planned(target, Mode.CREATE)
    assert written(create, ROWS.slice(0, 0)) == []
    assert write_plan.commit(create, []) == 1
    assert quiet_lake.dataset("t").schema == ROWS.schema
    append = planned(target, Mode.APPEND)
    assert write_plan.commit(append, []) == 1


def test_files_that_cannot_be_deleted_are_named(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(quiet_lake.target(), Mode.CREATE)
    fragments = written(plan)

    def refuse(*_: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr("lance.file.LanceFileSession.delete_file", refuse)
    with pytest.warns(UserWarning, match=fragments[0]["files"][0]["path"]):
        assert not write_plan.delete_files(plan, [fragments[0]["files"][0]["path"]])


def test_a_commit_with_an_unknown_error_keeps_the_files(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(quiet_lake.target(), Mode.CREATE)
    fragments = written(plan)

    def unknown(*_: Any, **__: Any) -> None:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(lance.LanceDataset, "commit", unknown)
    with pytest.raises(InternalError, match="disk is on fire"):
        write_plan.commit(plan, fragments)
    assert len(quiet_lake.data_files("t")) == 1
