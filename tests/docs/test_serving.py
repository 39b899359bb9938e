"""Every attack in the threat model names its tests, and these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "serving" / "security.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<attack>[^|]+) \| (?P<tests>`[^|]+`) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_test_of_an_attack_exists() -> None:
    _, _, table = PAGE.partition("\n## Tests\n")
    named = [[*NAMED.findall(row["tests"])] for row in ROW.finditer(table.partition("\n## ")[0])]
    assert len(named) > 10 and all(named)
    missing = [
        f"{file}::{name}"
        for tests in named
        for file, name in tests
        if f"\ndef {name}(" not in (TESTS / file).read_text("utf-8")
    ]
    assert missing == []


def test_every_file_of_attacks_is_listed() -> None:
    files = {path.name for path in (TESTS / "server" / "attacks").glob("test_*.py")}
    assert files <= {Path(file).name for file, _ in NAMED.findall(PAGE)}
