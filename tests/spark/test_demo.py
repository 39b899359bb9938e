"""The demo fails where a result is wrong."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

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
def test_wrong_results_do_not(demo: Any, wrong: list[tuple[str, str, int, float]]) -> None:
    with pytest.raises(demo.DemoError):
        demo.check_delays(wrong, SOURCES)


def test_the_package_s_tables_are_written_as_csv(demo: Any, tmp_path: Path) -> None:
    files = demo.write_csv_files(tmp_path)
    assert sorted(files) == ["airlines", "airports", "flights", "planes", "weather"]
    assert demo.read_csv(files["flights"]).num_rows == 336_776


def test_the_search_and_the_picture(demo: Any, tmp_path: Path) -> None:
    with connect("memory") as namespace, serving(namespace) as uri:
        answers = demo.search_services(uri)
    assert [len(found) for found in answers.values()] == [5, 5, 5]
    services = {service for found in answers.values() for service, _ in found}
    assert {"Amazon Machine Learning", "AWS Lake Formation"} <= services
    picture = tmp_path / "demo.png"
    demo.draw(picture, RIGHT, answers)
    assert picture.read_bytes().startswith(b"\x89PNG")
