"""The snippets of the README, and of the guide's queries, run as they stand but for their folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")
FOLDER = "/tmp/lake"


def snippets() -> dict[str, str]:
    """Return Python snippets under "Use it" by their heading; a heading's parts are one script."""
    found: dict[str, str] = {}
    section = README.split("\n## Use it\n")[1].split("\n## ")[0]
    parts = re.split(r"\n### (.+)\n", f"\n### Use it\n{section}")
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        if code := python_in(text):
            found[heading] = code
    return found


def python_in(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code.replace(FOLDER, str(folder))],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the first snippet leaves behind."""
    folder = tmp_path_factory.mktemp("readme") / "lake"
    printed = run(snippets()["Use it"], folder)
    assert "['letters']" in printed
    assert "table nothing does not exist" in printed
    return folder


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Search", "[{'name': 'near'"),
        ("Protocol operations", "[{'id': 2, 'name': 'b'}, {'id': 3, 'name': 'c'}]"),
        ("pylance", "3"),
        ("lancedb", "3"),
        ("lance-ray", "3"),
        ("Spark", "|  3|   c|"),
    ],
)
def test_a_snippet_runs(lake: Path, heading: str, expected: str) -> None:
    assert expected in run(snippets()[heading], lake)


def test_every_snippet_is_run() -> None:
    python = {"Use it", "Search", "Protocol operations", "pylance", "lancedb", "lance-ray", "Spark"}
    assert set(snippets()) == python


def test_the_queries_of_the_guide(tmp_path: Path) -> None:
    parts = [
        GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        for heading in ("Tables", "Search", "Queries")
    ]
    printed = run("\n".join(map(python_in, parts)), tmp_path / "lake").splitlines()
    nearest, indices, words = printed[-3:]
    assert re.findall(r"'text': '(.*?)', '_distance': (\S+?)}", nearest) == [
        ("a red apple", "0.0"),
        ("a red car", "25.0"),
    ]
    assert indices == "['id_idx', 'text_idx', 'vector_idx']"
    assert sorted(re.findall(r"'id': (\d)", words)) == ["1", "2"]
