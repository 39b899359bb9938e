"""The prose in docstrings, comments, messages and pages avoids the patterns of the style guide.

`vocabulary.toml` has the allowed number of hits for each package and pattern. A count may fall but not
rise. ``python -m tests.core.test_vocabulary`` writes the current counts to it. CONTRIBUTING.md lists
the replacements.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = Path(__file__).with_name("vocabulary.toml")
FOLDERS = (
    "lance_namespace_impls", "codegen", "docs", "examples", "benchmarks", "demo", "tests", ".github",
)  # fmt: skip
# This file has the patterns in its strings; the others are generated, or are the style guide itself.
EXCLUDED = {
    "tests/core/test_vocabulary.py",
    "lance_namespace_impls/properties.py",
    "docs/clients.md",
    "CONTRIBUTING.md",
}
PATTERNS = {
    "what": r"what (?!to\b)",
    "where": r"where (?:it|its|they|there|this|that|these|no|none|one|nothing|both|neither|not|he|who)\b",
    "take": r"(?:takes?|taken|took|taking)\b(?! (?:an? |up to |about |at most |the )?"
    r"(?:\d|hour|minute|second|effect|place|precedence|longer|time))",
    "give": r"(?:gives?|given|gave|giving)\b",
    "say": r"(?:says?|said|saying|tells?|told|telling)\b",
    "ask": r"ask(?:s|ed|ing)?\b",
    "at once": r"(?:at once|meanwhile|anew|by now|of late)\b",
    "goes": r"(?:goes|gone)\b",
    "beside": r"(?:beside|of which|in the midst)\b",
    "of its own": r"of (?:its|their|his|her|my|your|our|one's|another's|\w+'s) own\b",
    "as it is": r"as (?:it|they) (?:is|are|was|were)\b",
    "whoever": r"(?:whoever|whom|nobody|somebody|anybody|everybody)\b",
}
COMPILED = {
    name: re.compile(rf"(?<![\w-]){pattern}", re.IGNORECASE) for name, pattern in PATTERNS.items()
}
# Matches a comment or a string; the alternatives are tried in the order in which a lexer would.
PYTHON = re.compile(
    r'#[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL
)
CODE_IN_MARKDOWN = re.compile(r"^ *```.*?^ *```$|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`+[^`]*`+|\{[^{}]*\}")


def prose_of(path: Path) -> str:
    """Return the prose of a file, without code."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        text = "\n".join(part for part in PYTHON.findall(text) if " " in part)
    else:
        text = CODE_IN_MARKDOWN.sub(" ", text)
    return re.sub(r"\s+", " ", CODE.sub(" ", text))


def files() -> Iterator[Path]:
    """Yield the files with prose of this project."""
    yield from ROOT.glob("*.md")
    yield from ROOT.glob("*.py")
    for folder in FOLDERS:
        for pattern in ("*.py", "*.md"):
            yield from (ROOT / folder).rglob(pattern)


def package_of(name: str) -> str:
    """Return the package of a file: the first two directories of its path."""
    return "/".join(name.split("/")[:-1][:2]) or "."


def counts() -> dict[str, dict[str, int]]:
    """Return the number of hits for each package and pattern."""
    found: dict[str, dict[str, int]] = {}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if name in EXCLUDED:
            continue
        package = found.setdefault(package_of(name), dict.fromkeys(PATTERNS, 0))
        prose = prose_of(path)
        for pattern, compiled in COMPILED.items():
            package[pattern] += len(compiled.findall(prose))
    return found


def write() -> None:
    """Write the current counts, one line per package."""
    rows = [
        f'"{package}" = {[*found.values()]}'
        for package, found in sorted(counts().items())
        if any(found.values())
    ]
    head = "# Hits of each pattern; written by `python -m tests.core.test_vocabulary`.\n"
    patterns = ", ".join(f'"{name}"' for name in PATTERNS)
    ALLOWED.write_text(f"{head}patterns = [{patterns}]\n\n[hits]\n" + "\n".join(rows) + "\n")


def test_no_count_rises() -> None:
    allowed = tomllib.loads(ALLOWED.read_text("utf-8"))
    assert allowed["patterns"] == [*PATTERNS]
    risen = []
    for package, found in counts().items():
        limits = allowed["hits"].get(package, [0] * len(PATTERNS))
        risen += [
            f"{package}: {name!r} is used {hits} times, {limit} allowed"
            for (name, hits), limit in zip(found.items(), limits, strict=True)
            if hits > limit
        ]
    assert risen == [], "use the replacements in CONTRIBUTING.md, section Prose"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ('"""Return what is there."""', "what"),
        ("# Where there is none, it fails.", "where"),
        ('message = "a limit takes a number"', "take"),
        ('f"the default unless {name} is given"', "give"),
        ("# the server says so", "say"),
        ('"""Ask\n    the catalog."""', "ask"),
        ("# all at once", "at once"),
        ("x = 'the table is gone'", "goes"),
        ("# two, of which one is empty", "beside"),
        ("# a process of its own", "of its own"),
        ("# left as it is", "as it is"),
        ("# for whoever reads it", "whoever"),
    ],
)
def test_a_pattern_is_found(tmp_path: Path, text: str, pattern: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert COMPILED[pattern].search(prose_of(path))


def test_code_is_not_prose(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("given = take(what, told)  # `given` is `gone`\nsaid = f'a {told} b'\n")
    page = tmp_path / "page.md"
    page.write_text("It takes a minute.\n\n```sh\necho what is told\n```\n\nSee [it](gone.md).\n")
    for path in (module, page):
        assert not any(compiled.search(prose_of(path)) for compiled in COMPILED.values())


if __name__ == "__main__":
    write()
