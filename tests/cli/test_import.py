"""lance-ns import: one run with Spark, and the behavior around the job without Spark."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import TableSchemaValidationError
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.commands import import_files
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.ingest import file_import
from lance_namespace_impls.spark import session

MAIN = "from lance_namespace_impls.cli import main; main()"
SECONDS = 300


class Spark:
    """A stand-in for a Spark session that records whether it was stopped."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    started = Spark()
    monkeypatch.setattr(session, "local_session", lambda **_: started)
    return started


def test_import_runs_on_spark(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"part{number}.csv").write_text(f"n;name\n{number};a\n{number}0;NA\n")
    options = ("--impl", "dir", "-p", f"path={tmp_path / 'lake'}", "--json")
    reading = ("--option", "delimiter=;", "--option", "nulls=NA", "--cores", "1", "--spark")
    found = subprocess.run(
        [sys.executable, "-c", MAIN, "import", "t", str(tmp_path / "*.csv"), *reading, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert found.returncode == Status.OK, found.stderr
    document = json.loads(found.stdout)
    assert document["rows"] == 4
    assert document["files"] == 2
    assert document["location"] == str(tmp_path / "lake" / "t.lance")
    rows = lance.dataset(document["location"]).to_table().sort_by("n").to_pylist()
    assert rows == [
        {"n": 1, "name": "a"},
        {"n": 2, "name": "a"},
        {"n": 10, "name": None},
        {"n": 20, "name": None},
    ]


def test_import_passes_every_option_to_the_job(
    tmp_path: Path, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[str, Any] = {}

    def job(start: Callable[[], Any], **given: Any) -> file_import.ImportResult:
        given.pop("progress")(1, 2, 1000)
        called.update(given, session=start())
        return file_import.ImportResult(
            table=("t",),
            location="/lake/t.lance",
            version=3,
            rows=12345,
            files=2,
            fragments=4,
            seconds=1.25,
        )

    monkeypatch.setattr(file_import, "import_files", job)
    options = ["--impl", "dir", "-p", f"path={tmp_path}", "-p", "storage.secret_key=hidden"]
    extra = ["--mode", "append", "--format", "csv", "--option", "delimiter=;"]
    result = CliRunner().invoke(app, ["import", "t", "a.csv", "b.csv", *extra, *options])
    assert result.exit_code == Status.OK, result.output
    assert called["session"] is spark
    assert called["impl"] == "dir"
    assert called["properties"]["path"] == str(tmp_path)
    assert called["properties"]["storage.secret_key"] == "hidden"
    assert called["table"] == ("t",)
    assert called["sources"] == ["a.csv", "b.csv"]
    assert (called["mode"], called["format"]) == ("append", "csv")
    assert called["options"] == {"delimiter": ";"}
    assert "table t: 12,345 rows imported\n" in result.stdout
    assert "  fragments   4\n" in result.stdout
    assert spark.stopped
    assert (called["cores"], called["small_bytes"]) == (None, file_import.SMALL_BYTES)
    result = CliRunner().invoke(
        app, ["import", "a$t", "x", "--cores", "3", "--spark", "--json", *options]
    )
    assert json.loads(result.stdout) == {
        "kind": "table",
        "id": ["a", "t"],
        "location": "/lake/t.lance",
        "version": 3,
        "rows": 12345,
        "files": 2,
        "fragments": 4,
        "seconds": 1.25,
    }
    assert (called["cores"], called["small_bytes"]) == (3, -1)
    assert (called["mode"], called["format"], called["options"]) == ("create", None, {})


def test_small_files_are_imported_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(session, "local_session", lambda **given: started.append(given) or Spark())
    (tmp_path / "a.csv").write_text("n\n1\n2\n")
    for name, more in (("t", ()), ("u", ("--no-spark",))):
        options = ["--impl", "dir", "-p", f"path={tmp_path / 'lake'}", *more]
        result = CliRunner().invoke(app, ["import", name, str(tmp_path / "a.csv"), *options])
        assert result.exit_code == Status.OK, result.output
        assert result.stdout.startswith(f"table {name}: 2 rows imported\n  location")
    assert started == []


def test_the_bar_shows_that_spark_starts(spark: Spark) -> None:
    class Bar:
        def update(self, done: int, total: int | None, note: str) -> None:
            noted.append((done, total, note))

    noted: list[Any] = []
    with import_files.lazy_spark(Bar(), "x", 2) as start:  # type: ignore[arg-type]
        assert noted == [] and not spark.stopped
        assert start() is spark
        assert noted == [(0, None, "starting Spark")] and not spark.stopped
    assert spark.stopped


def test_a_failed_job_stops_spark_and_reports_the_error(
    tmp_path: Path, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(start: Callable[[], Any], **_: Any) -> None:
        start()
        raise TableSchemaValidationError("a.csv: column n: not a number")

    monkeypatch.setattr(file_import, "import_files", job)
    options = ["--impl", "dir", "-p", f"path={tmp_path}"]
    result = CliRunner().invoke(app, ["import", "t", "a.csv", *options])
    assert result.exit_code == Status.INVALID
    assert result.stderr == ("error 20 TableSchemaValidationError: a.csv: column n: not a number\n")
    assert spark.stopped


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["a.csv", "-p", "pth=x"], "property 'pth' is unknown"),
        (["nowhere.csv"], "nowhere.csv"),
        (["a.csv", "--mode", "replace"], "mode 'replace' is unknown"),
        (["a.csv", "--option", "delimeter=;"], "delimeter"),
        (["a.csv", "--format", "xlsx"], "xlsx"),
    ],
)
def test_invalid_arguments_are_rejected_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: list[str], said: str
) -> None:
    def start(**_: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "local_session", start)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("n\n1\n")
    options = ["--impl", "dir", "-p", f"path={tmp_path / 'lake'}"]
    result = CliRunner().invoke(app, ["import", "t", *wrong, *options])
    assert result.exit_code == Status.INVALID, result.output
    assert said in result.stderr


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_while_spark_starts_waits_and_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Spark()

    def start(**_: Any) -> Spark:
        interrupt()
        return spark

    def job(start: Callable[[], Any], **_: Any) -> None:
        start()
        raise AssertionError("the job was run")

    monkeypatch.setattr(session, "local_session", start)
    monkeypatch.setattr(file_import, "import_files", job)
    check_interrupted(tmp_path, spark)


def test_ctrl_c_while_the_job_runs_is_one_line(
    tmp_path: Path, spark: Spark, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def job(start: Callable[[], Any], **_: Any) -> None:
        start()
        try:
            interrupt()
            time.sleep(SECONDS)
        except KeyboardInterrupt:
            logging.getLogger("py4j").exception("interrupted while sending command")
            raise

    monkeypatch.setattr(file_import, "import_files", job)
    check_interrupted(tmp_path, spark)
    assert caplog.records == []


def check_interrupted(tmp_path: Path, spark: Spark) -> None:
    handler = signal.getsignal(signal.SIGINT)
    options = ["--impl", "dir", "-p", f"path={tmp_path}"]
    result = CliRunner().invoke(app, ["import", "t", "a.csv", *options])
    assert result.exit_code == Status.INTERRUPTED
    assert result.output == "error: interrupted\n"
    assert spark.stopped
    assert signal.getsignal(signal.SIGINT) is handler
    assert logging.getLogger("py4j").isEnabledFor(logging.ERROR)
