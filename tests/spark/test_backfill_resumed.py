"""`add_columns` with a function that calls a service: kills, failures, retries and the rate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    TableSchemaValidationError,
)
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.distributed import calls
from lance_namespace_impls.distributed.calls import Calls
from lance_namespace_impls.distributed.runners import ThreadRunner
from lance_namespace_impls.maintenance import maintain
from lance_namespace_impls.spark import add_columns, backfill
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

FRAGMENTS = 8
ROWS_EACH = 10

# The process that is killed.
JOB = """
import sys
from pathlib import Path
from lance_namespace_impls import connect
from lance_namespace_impls.spark import local_session
from tests.spark.test_backfill_resumed import add_embeddings

spark = local_session("backfill", cores=2)
add_embeddings(spark, connect("dir", {"path": sys.argv[1]}), Path(sys.argv[2]), hangs_from=40)
"""


def add_embeddings(spark: Any, namespace: Namespace, folder: Path, hangs_from: int = 1000) -> Any:
    """Add a column with a function that records each batch in a folder, and hangs from a row on."""

    def embed(rows: pa.RecordBatch) -> pa.RecordBatch:
        first = rows.column("id")[0].as_py()
        with open(folder / str(first), "a") as file:
            file.write("called\n")
        if first >= hangs_from:
            time.sleep(600)  # until the process is killed
        return twice(rows)

    return add_columns(
        spark, namespace, "t", embed, types="twice:int64", reads=["id"], resume="embeddings"
    )


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.put("t", pa.table({"id": range(FRAGMENTS * ROWS_EACH)}), max_rows_per_file=ROWS_EACH)
    return lake


@pytest.fixture
def quiet(quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Return the same table for tests whose tasks run in threads of this process."""
    monkeypatch.setattr(backfill, "spark_runner", lambda spark: ThreadRunner(2))
    rows = pa.table({"id": range(FRAGMENTS * ROWS_EACH)})
    quiet_lake.put("t", rows, max_rows_per_file=ROWS_EACH)
    return quiet_lake


def called(folder: Path) -> Counter[int]:
    """Return how often the function was called for the fragment of each first row."""
    return Counter({int(each.name): len(each.read_text().split()) for each in folder.iterdir()})


def records(lake: Lake) -> int:
    return sum(1 for each in Path(lake.path("t"), "_transactions").glob("*/*.lance"))


def test_a_killed_job_resumes_at_its_unfinished_fragments(
    table: Lake, spark: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    before = table.data_files("t")
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, str(table.root), str(folder)],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 300
        while records(table) < 3:
            assert process.poll() is None, "the job ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    finished = records(table)
    assert 3 <= finished < FRAGMENTS
    assert table.dataset("t").schema.names == ["id"]
    assert add_embeddings(spark, table.namespace, folder).rows == FRAGMENTS * ROWS_EACH
    found = table.dataset("t").to_table().to_pydict()
    assert found == {"id": [*range(80)], "twice": [2 * n for n in range(80)]}
    # Fragments that the killed process had finished were not computed again.
    repeated = [n for n, times in called(folder).items() if times > 1]
    assert len(called(folder)) == FRAGMENTS
    assert len(repeated) <= min(
        2, FRAGMENTS - finished
    )  # those in progress at the time of the kill
    assert table.notes() == []
    # A file that the killed process did not record is an orphan, which maintain deletes.
    from datetime import timedelta

    from lance_namespace_impls.maintenance import Upkeep

    rest = table.data_files("t") - before - table.used_files()
    assert len(rest) <= 2
    maintain(table.namespace, upkeep=Upkeep(orphans_older_than=timedelta(0), compact=False))
    assert table.data_files("t") == table.used_files()


def twice(rows: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"twice": [2 * n for n in rows.column("id").to_pylist()]})


class Service:
    """A function that fails for some rows, and counts its calls."""

    def __init__(self, failing: dict[int, int], error: type[Exception] = ConnectionError) -> None:
        self.failing = failing
        self.error = error
        self.calls: list[int] = []
        self.times: list[float] = []

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        first = rows.column("id")[0].as_py()
        self.calls.append(first)
        self.times.append(time.monotonic())
        if self.failing.get(first, 0):
            self.failing[first] -= 1
            raise self.error("overloaded")
        return twice(rows)


def add(lake: Lake, function: Any, **more: Any) -> Any:
    spark: Any = None
    return add_columns(
        spark, lake.namespace, "t", function, types="twice:int64", reads=["id"], **more
    )


def test_a_failed_job_keeps_its_fragments_and_its_error_names_fragment_and_attempt(
    quiet: Lake,
) -> None:
    service = Service({70: 99})
    with pytest.raises(ServiceUnavailableError) as caught:
        add(quiet, service, attempts=3, backoff_seconds=0.001, resume="one")
    assert "fragment 7, rows 0 to 9, attempt 3 of 3: ConnectionError: overloaded" in str(
        caught.value
    )
    assert service.calls.count(70) == 3
    service = Service({})
    assert add(quiet, service, resume="one").rows == 80
    assert service.calls == [70]
    assert quiet.dataset("t").to_table()["twice"].to_pylist() == [2 * n for n in range(80)]
    assert quiet.notes() == []
    assert quiet.data_files("t") == quiet.used_files()


def test_without_a_name_a_failed_job_leaves_nothing(quiet: Lake) -> None:
    files = quiet.data_files("t")
    with pytest.raises(InvalidInputError, match="attempt 1 of 1: ValueError: overloaded"):
        add(quiet, Service({70: 1}, ValueError))
    assert (quiet.data_files("t"), quiet.notes()) == (files, [])


def test_failed_calls_are_retried_with_exponential_backoff(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service({0: 3})
    pauses: list[float] = []
    import tenacity.nap

    own = SimpleNamespace(sleep=pauses.append)  # other threads must not call it
    monkeypatch.setattr(tenacity.nap, "time", own)
    add(quiet, service, attempts=4, backoff_seconds=0.5, batch_rows=5)
    assert Counter(service.calls) == Counter({0: 4, **dict.fromkeys(range(5, 80, 5), 1)})
    assert len(pauses) == 3
    for pause, least in zip(pauses, (0.5, 1.0, 2.0), strict=True):
        assert least <= pause <= least + 0.5


def test_only_exceptions_in_retry_on_are_retried(quiet: Lake) -> None:
    service = Service({0: 1}, KeyError)
    with pytest.raises(InvalidInputError, match=r"fragment 0, rows 0 to 9, attempt 1 of 5: KeyErr"):
        add(quiet, service, attempts=5, backoff_seconds=0, retry_on=ConnectionError)
    assert service.calls.count(0) == 1


def test_the_rate_is_a_limit_for_all_tasks_together(quiet: Lake) -> None:
    service = Service({0: 2})
    add(quiet, service, calls_per_second=40, attempts=3, backoff_seconds=0, batch_rows=5)
    assert len(service.times) == 18  # 16 batches and 2 repeated calls
    times = sorted(service.times)
    for start, time_of in enumerate(times):
        within = [each for each in times[start:] if each < time_of + 0.2]
        assert len(within) <= 40 * 0.2 + 2  # each of the two tasks may begin with a call
    assert times[-1] - times[0] >= 16 / 40 - 2 / 40


def test_a_job_that_ended_after_its_commit_returns_the_same_result(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Ends the job like a kill at this point."""

    def dies(*args: Any, **more: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(backfill.write_plan, "delete_rest", dies)
        with pytest.raises(Killed):
            add(quiet, twice, resume="one")
    assert quiet.notes()
    quiet.dataset("t").delete("id = 5")
    service = Service({})
    added = add(quiet, service, resume="one")
    assert (added.version, added.columns, added.rows) == (2, ("twice",), 80)
    assert service.calls == []
    assert quiet.notes() == []
    with pytest.raises(TableSchemaValidationError, match="already has the column twice"):
        add(quiet, service, resume="two")


def test_column_changes_between_two_runs_restart_the_job(quiet: Lake) -> None:
    with pytest.raises(LanceNamespaceError):
        add(quiet, Service({70: 1}), resume="one")
    kept = records(quiet)
    assert kept == 7
    quiet.dataset("t").add_columns({"theirs": "id + 1"})
    service = Service({})
    assert add(quiet, service, resume="one").rows == 80
    assert len(service.calls) == 8  # field ids of the first run belong to the other column
    found = quiet.dataset("t").to_table()
    assert found.to_pydict() == {
        "id": [*range(80)],
        "theirs": [n + 1 for n in range(80)],
        "twice": [2 * n for n in range(80)],
    }
    assert quiet.data_files("t") == quiet.used_files()


def test_rows_changed_between_two_runs_are_correct(quiet: Lake) -> None:
    with pytest.raises(LanceNamespaceError):
        add(quiet, Service({70: 1}), resume="one")
    quiet.dataset("t").delete("id IN (3, 75)")
    quiet.dataset("t").update({"id": "id + 1000"}, "id = 12")
    quiet.put("t", pa.table({"id": [500]}), mode="append")
    service = Service({})
    assert add(quiet, service, resume="one").rows == 79
    assert sorted(service.calls) == [70, 500, 1012]
    rows = quiet.dataset("t").to_table().to_pylist()
    assert all(row["twice"] == 2 * row["id"] for row in rows)
    assert len(rows) == 79


def test_a_column_change_during_a_run_conflicts_and_leaves_nothing(
    quiet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = quiet.data_files("t")

    def theirs(rows: pa.RecordBatch) -> pa.RecordBatch:
        if rows.column("id")[0].as_py() == 70:
            quiet.dataset("t").add_columns(pa.schema([("theirs", pa.int8())]))
        return twice(rows)

    with pytest.raises(ConcurrentModificationError):
        add(quiet, theirs, resume="one")
    assert quiet.notes() == []
    assert quiet.data_files("t") == files


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"calls_per_second": 0}, "calls_per_second must be greater than 0"),
        ({"calls_per_second": float("nan")}, "calls_per_second must be greater than 0"),
        ({"attempts": 0}, "attempts must be a whole number"),
        ({"backoff_seconds": -1}, "backoff_seconds must be 0 or more"),
        ({"retry_on": ()}, "retry_on must be an exception class"),
        ({"retry_on": KeyboardInterrupt}, "retry_on must be an exception class"),
        ({"resume": " "}, "resume must be the name"),
    ],
)
def test_invalid_options_are_rejected(quiet: Lake, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        add(quiet, twice, **more)


def test_expressions_reject_function_options(table: Lake, spark: Any) -> None:
    with pytest.raises(InvalidInputError, match="apply only to a function"):
        add_columns(spark, table.namespace, "t", {"b": "id"}, attempts=2)


def test_expressions_and_frames_resume_too(table: Lake, spark: Any) -> None:
    added = add_columns(spark, table.namespace, "t", {"b": "id + 1"}, resume="b")
    assert added == add_columns(spark, table.namespace, "t", {"b": "id + 1"}, resume="b")
    frame = spark.range(80).selectExpr("id", "id + 2 AS c")
    add_columns(spark, table.namespace, "t", frame, on="id", resume="c")
    found = table.dataset("t").to_table()
    assert found["c"].to_pylist() == [n + 2 for n in range(80)]
    assert found["b"].to_pylist() == [n + 1 for n in range(80)]


def test_a_service_error_keeps_its_code() -> None:
    def limited(value: int) -> int:
        raise ServiceUnavailableError("too many calls")

    once = Calls()
    with pytest.raises(ServiceUnavailableError, match="batch, attempt 1 of 1: too many calls"):
        once.call(limited, 1, "batch", once.pace(1))
    assert calls.MAX_BACKOFF_SECONDS == 60
