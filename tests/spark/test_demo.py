"""The demo fails if a result is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving

SOURCES = {
    "flights": pa.table({"carrier": ["A", "A", "B"], "dep_delay": [1.0, None, 5.0]}),
    "airlines": pa.table({"carrier": ["A", "B"], "name": ["Alpha", "Beta"]}),
}
RIGHT = [("B", "Beta", 1, 5.0), ("A", "Alpha", 2, 1.0)]


@pytest.fixture(scope="module")
def demo() -> Any:
    path = Path(__file__).parents[2] / "demo" / "demo.py"
    spec = spec_from_file_location("demo", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_right_results_pass(demo: Any) -> None:
    demo.check_delays(RIGHT, SOURCES)


@pytest.mark.parametrize(
    "wrong",
    [
        RIGHT[:1],
        [("B", "Beta", 1, 5.0), ("A", "Alpha", 2, 1.0001)],
        [("B", "Beta", 1, 5.0), ("A", "Alpha", 3, 1.0)],
        [("B", "Alpha", 1, 5.0), ("A", "Beta", 2, 1.0)],
    ],
)
def test_wrong_results_fail(demo: Any, wrong: list[tuple[str, str, int, float]]) -> None:
    with pytest.raises(demo.DemoError):
        demo.check_delays(wrong, SOURCES)


def test_the_tables_of_the_package_are_written_as_csv(demo: Any, tmp_path: Path) -> None:
    files = demo.write_csv_files(tmp_path)
    assert sorted(files) == ["airlines", "airports", "flights", "planes", "weather"]
    assert demo.read_csv(files["flights"]).num_rows == 336_776


def test_the_search_and_the_picture(demo: Any, tmp_path: Path) -> None:
    with connect("memory") as namespace, serving(namespace) as uri:
        answers = demo.search_services(uri)
    assert [len(found) for found in answers.values()] == [6, 6, 6]
    expected = (
        {"AWS Lake Formation", "Amazon Athena"},
        {"Amazon Machine Learning"},
        {"Amazon Simple Email Service", "Amazon Simple Notification Service"},
    )
    for (question, found), services in zip(answers.items(), expected, strict=True):
        assert services <= {service for service, _ in found}, question
    picture = tmp_path / "demo.png"
    demo.draw(picture, RIGHT, answers)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_small_file_is_not_0_kb(demo: Any, tmp_path: Path) -> None:
    for length, shown in ((0, "0 bytes"), (461, "461 bytes"), (104_400, "104 kB")):
        file = tmp_path / "file"
        file.write_bytes(b"x" * length)
        assert demo.size(file) == shown


def test_concurrent_runs_have_separate_folders(demo: Any, tmp_path: Path) -> None:
    wanted = tmp_path / "demo-data"
    with demo.own_folder(wanted) as first, demo.own_folder(wanted) as second:
        assert (first, second) == (wanted, tmp_path / "demo-data-2")
        with demo.own_folder(wanted) as third:
            assert third == tmp_path / "demo-data-3"
    # The lock file of an ended run, even of a killed one, does not reserve the folder.
    with demo.own_folder(wanted) as again:
        assert again == wanted


def test_a_killed_run_releases_its_lock(demo: Any, tmp_path: Path) -> None:
    wanted = tmp_path / "demo-data"
    script = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import demo\n"
        "with demo.own_folder(Path(sys.argv[2])): print('held', flush=True); time.sleep(600)"
    )
    folder = str(Path(__file__).parents[2] / "demo")
    with subprocess.Popen(
        [sys.executable, "-c", script, folder, str(wanted)], stdout=subprocess.PIPE
    ) as held:
        try:
            assert held.stdout is not None
            assert held.stdout.readline() == b"held\n"
            with demo.own_folder(wanted) as other:
                assert other == tmp_path / "demo-data-2"
        finally:
            held.kill()
    with demo.own_folder(wanted) as again:
        assert again == wanted


def test_only_the_incubator_warning_of_java_is_hidden(capfd: Any, demo: Any) -> None:
    script = "echo 'WARNING: Using incubator modules: x' >&2; echo 'WARNING: other' >&2"
    with demo.without_incubator_warning():
        subprocess.run(["sh", "-c", script], check=True, timeout=60)
    os.write(2, b"after\n")
    seen = ""
    deadline = time.monotonic() + 60
    while "other" not in seen and time.monotonic() < deadline:
        time.sleep(0.01)
        seen += capfd.readouterr().err
    assert sorted(seen.split("\n")) == ["", "WARNING: other", "after"]


@pytest.fixture
def small(demo: Any, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Any:
    """Return the demo with few flights and services, in the session of the tests."""

    def write_csv_files(folder: Path) -> dict[str, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            "flights": "carrier,dep_delay\nA,1\nA,NA\nB,5\n",
            "airlines": "carrier,name\nA,Alpha\nB,Beta\n",
        }
        files = {name: folder / f"{name}.csv" for name in demo.TABLES}
        for name, file in files.items():
            file.write_text(texts.get(name, "x\n1\n"))
        return files

    monkeypatch.setattr(demo, "write_csv_files", write_csv_files)
    monkeypatch.setattr(demo, "local_session", lambda name: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    return demo


def test_the_demo_runs_repeatedly(small: Any, tmp_path: Path) -> None:
    for _ in range(2):
        with small.own_folder(tmp_path / "demo-data") as folder:
            small.run(folder)
    with connect("dir", {"path": str(tmp_path / "demo-data" / "lance")}) as lake:
        assert list(lake.iter_tables()) == sorted([*small.TABLES, small.SERVICES])


@pytest.mark.parametrize("interrupted", ["import_all", "search_services"])
def test_the_demo_runs_after_an_interruption(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str
) -> None:
    lake = tmp_path / "lance"
    whole = getattr(small, interrupted)

    def stopped(*arguments: Any) -> None:
        whole(*arguments)
        (lake / "services.lance").mkdir(exist_ok=True)  # created, but still empty
        raise KeyboardInterrupt

    monkeypatch.setattr(small, interrupted, stopped)
    with pytest.raises(KeyboardInterrupt):
        small.run(tmp_path)
    monkeypatch.setattr(small, interrupted, whole)
    small.run(tmp_path)
