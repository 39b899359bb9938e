"""Task attempts that fail, are repeated or lose to another attempt leave no files."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    LanceNamespaceError,
)
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.attempts import Attempts
from lance_namespace_impls.distributed.write_plan import Mode, WritePlan
from tests.spark.conftest import Lake

ROWS = pa.table({"a": range(10)})


def planned(lake: Lake, mode: Mode = Mode.APPEND) -> WritePlan:
    target = lake.target()
    plan = write_plan.plan_write(
        target, ROWS.schema, mode, makes_table=True, files=write_plan.FileOptions(rows=3)
    )
    assert plan is not None
    return plan


def written(plan: WritePlan) -> list[dict[str, Any]]:
    return write_plan.write_rows(plan, ROWS.to_batches())


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
@pytest.mark.parametrize("there", [True, False])
def test_the_commit_deletes_the_files_of_attempts_that_lost(
    quiet_lake: Lake, mode: Mode, there: bool
) -> None:
    if there:
        quiet_lake.put("t", ROWS)
    before = quiet_lake.data_files("t")
    plan = planned(quiet_lake, mode)
    won = [written(plan), written(plan), written(plan)][1]
    assert len(quiet_lake.data_files("t") - before) == 12
    write_plan.commit(plan, won)
    assert quiet_lake.data_files("t") == before | quiet_lake.used_files()
    assert len(quiet_lake.used_files() - before) == 4
    assert quiet_lake.notes() == []


def test_an_append_without_rows_deletes_files_of_lost_attempts(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake)
    written(plan)
    assert write_plan.commit(plan, []) == 1
    assert quiet_lake.data_files("t") == quiet_lake.used_files()
    assert quiet_lake.notes() == []


@pytest.mark.parametrize("there", [True, False])
def test_abort_deletes_files_that_no_message_names(quiet_lake: Lake, there: bool) -> None:
    if there:
        quiet_lake.put("t", ROWS)
    before = quiet_lake.data_files("t")
    plan = planned(quiet_lake)
    written(plan)
    write_plan.abort(plan, [])
    assert quiet_lake.data_files("t") == before
    assert quiet_lake.notes() == []


@pytest.mark.parametrize("there", [True, False])
def test_abort_keeps_committed_files(quiet_lake: Lake, there: bool) -> None:
    """The driver may not know that its commit succeeded."""
    if there:
        quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake)
    won, lost = written(plan), written(plan)
    rows = quiet_lake.dataset("t").count_rows() if there else 0
    write_plan.commit(plan, won)
    write_plan.abort(plan, [*won, *lost])
    assert quiet_lake.dataset("t").count_rows() == rows + 10
    assert quiet_lake.data_files("t") == quiet_lake.used_files()


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_an_attempt_that_ends_after_the_job_deletes_its_files(quiet_lake: Lake, end: str) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake)
    won = written(plan)

    def slow() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        getattr(write_plan, end)(plan, won)

    with pytest.raises(ConcurrentModificationError, match="ended before this task attempt"):
        write_plan.write_rows(plan, slow())
    assert quiet_lake.data_files("t") == quiet_lake.used_files()
    assert quiet_lake.dataset("t").count_rows() == (20 if end == "commit" else 10)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, OSError, ValueError])
def test_a_task_that_fails_after_its_files_deletes_them(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    quiet_lake.put("t", ROWS)
    before = quiet_lake.data_files("t")
    plan = planned(quiet_lake)

    def fail(_: Attempts) -> bool:
        assert len(quiet_lake.data_files("t") - before) == 4
        raise failure("no")

    with monkeypatch.context() as patch:
        patch.setattr(Attempts, "is_open", fail)
        with pytest.raises((failure, LanceNamespaceError)):
            written(plan)
    assert quiet_lake.data_files("t") == before
    write_plan.commit(plan, [])
    assert quiet_lake.notes() == []


def test_a_note_that_cannot_be_written_fails_the_task(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_lake.put("t", ROWS)
    before = quiet_lake.data_files("t")
    plan = planned(quiet_lake)
    real, count = Attempts.note, iter(range(10))

    def fail_third(self: Attempts, file: str, answer: str) -> None:
        if next(count) == 2:
            raise OSError("the disk is full")
        real(self, file)

    monkeypatch.setattr(Attempts, "note", fail_third)
    with pytest.raises(InternalError, match="disk is full"):
        written(plan)
    assert quiet_lake.data_files("t") == before


def test_an_attempt_reports_that_its_job_ended_while_it_wrote_a_note(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake)
    won = written(plan)

    def end_first(_: Attempts, __: str, ___: str) -> None:
        if quiet_lake.notes():
            write_plan.commit(plan, won)
        raise OSError("failed to persist temp file")

    monkeypatch.setattr(Attempts, "note", end_first)
    with pytest.raises(ConcurrentModificationError, match="ended before this task attempt"):
        written(plan)
    assert quiet_lake.data_files("t") == quiet_lake.used_files()
    assert quiet_lake.dataset("t").count_rows() == 20


KILLED = """
import os, pickle, signal, sys, time
from pathlib import Path
import pyarrow as pa
from lance_namespace_impls.distributed import write_plan

def rows():
    yield from [pa.record_batch({"a": range(10)})] * 3
    while len(list(Path(sys.argv[2]).glob("*/*.lance"))) < 10:  # notes of files with 3 rows
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

write_plan.write_rows(pickle.load(open(sys.argv[1], "rb")), rows())
"""


def test_finished_files_of_a_killed_worker_are_deleted(quiet_lake: Lake, tmp_path: Path) -> None:
    quiet_lake.put("t", ROWS)
    before = quiet_lake.data_files("t")
    plan = planned(quiet_lake)
    sent = tmp_path / "plan"
    sent.write_bytes(pickle.dumps(plan))
    command = [sys.executable, "-c", KILLED, str(sent), f"{quiet_lake.path('t')}/_transactions"]
    done = subprocess.run(command, check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert len(quiet_lake.data_files("t") - before) == 10
    write_plan.commit(plan, written(plan))
    assert {
        f for f in quiet_lake.data_files("t") if f.endswith(".lance")
    } == quiet_lake.used_files()
    assert quiet_lake.dataset("t").count_rows() == 20


def test_files_of_a_concurrent_write_remain(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    ours, theirs = planned(quiet_lake), planned(quiet_lake)
    files = written(theirs)
    write_plan.commit(ours, written(ours))
    write_plan.abort(planned(quiet_lake), [])
    write_plan.commit(theirs, files)
    assert quiet_lake.dataset("t").to_table().num_rows == 30
    assert quiet_lake.notes() == []


def test_dropping_a_table_deletes_its_notes(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake)
    written(plan)
    plan.target.namespace.drop_table({"id": ["t"]})
    assert not Path(quiet_lake.path("t")).exists()


def failing_once(folder: str) -> Any:
    """Return a function for mapInArrow that fails a task's first attempt after all its rows."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        task: Any = TaskContext.get()
        mark = Path(folder, str(task.partitionId()))
        if not mark.exists():
            mark.touch()
            raise ValueError("the first attempt fails")

    return fail


RETRIES = """
import json, os, sys
from pathlib import Path
from lance_namespace_impls.spark import datasource, local_session
from tests.spark.test_attempts import failing_once

session = local_session("t", settings={"spark.master": "local[2,4]", "spark.sql.shuffle.partitions": "2"})
rows = session.range(0, 30, 1, 3).mapInArrow(failing_once(sys.argv[2]), "id long")
writer = rows.write.format("lance_namespace").options(impl="dir", root=sys.argv[1], rows_per_file="4")
writer.mode("append").save("t")
session.stop()
"""


def test_spark_retries_leave_no_duplicate_rows_and_no_files(
    quiet_lake: Lake, tmp_path: Path
) -> None:
    """Use a separate session, since the master URL sets the maximum number of task failures."""
    quiet_lake.put("t", pa.table({"id": pa.array([-1])}))
    marks = tmp_path / "marks"
    marks.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RETRIES, str(quiet_lake.root), str(marks)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(list(marks.iterdir())) == 3
    assert quiet_lake.values() == list(range(-1, 30))
    assert quiet_lake.data_files("t") == quiet_lake.used_files()
    assert quiet_lake.notes() == []
