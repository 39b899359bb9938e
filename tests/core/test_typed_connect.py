"""Types of ``connect``: a type checker accepts exactly the properties of each implementation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs._generate import properties
from lance_namespace_impls.registry import built_in

ROOT = Path(__file__).parents[2]
GOOD = """
import os
from lance_namespace_impls import AsyncRestNamespace, connect, connect_config

connect("dir", {"path": "/data", "storage.region": "eu-west-1", "cache_mib": 64})
connect("glue", {"region": "eu-west-1", "glue.root": "s3://lake", "connect_timeout": "10s"})
connect("memory")
connect(profile="prod")
connect_config({"impl": os.environ["IMPL"], "anything": 1})
connect_config({"impl": "rest", "uri": "http://lake", "headers.x-tenant": "a"})


async def main() -> list[str]:
    async with AsyncRestNamespace.from_properties({"uri": "http://lake"}) as namespace:
        rows = await namespace.query_table({"id": ["t"], "k": 1})
        print((await rows.read_all()).num_rows)
        return (await namespace.list_tables()).tables
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """Return mypy's errors in a user's file, by line number."""
    folder = tmp_path_factory.mktemp("typed")
    bad = [f'connect("{impl}", {{"wrong_key": "x"}})' for impl in built_in()]
    bad += ['connect("dir", {"path": ["a"]})', 'connect("rest", {"region": "eu-west-1"})']
    (folder / "user.py").write_text(GOOD + "\n".join(bad) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "user.py"],
        cwd=folder,
        env={"MYPYPATH": f"{ROOT / 'generated'}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    said: dict[int, str] = {}
    for line in done.stdout.splitlines():
        if line.startswith("user.py") and " error: " in line:
            said.setdefault(int(line.split(":")[1]), line)
    return said


@pytest.mark.slow
def test_correct_calls_pass(checked: dict[int, str]) -> None:
    good = len(GOOD.splitlines())
    assert not {number: text for number, text in checked.items() if number <= good}


@pytest.mark.slow
def test_a_wrong_key_and_a_wrong_type_are_errors(checked: dict[int, str]) -> None:
    good = len(GOOD.splitlines())
    assert sorted(checked) == list(range(good + 1, good + len(built_in()) + 3))
    assert all("[call-overload]" in text for text in checked.values()), checked


def test_the_types_match_the_configuration_classes() -> None:
    """``python -m docs._generate.properties`` generates the types."""
    assert properties.TARGET.read_text("utf-8") == properties.text()
