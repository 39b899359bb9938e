"""Count the lines of every package: ``python -m tests.lines [ROOT]``.

Prints for each package the number of files, lines, lines with code or docstrings, and lines with
code.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def counts(source: str) -> tuple[int, int, int]:
    """Return the number of lines, of lines with code or docstrings, and of lines with code."""
    filled: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            filled.update(range(token.start[0], token.end[0] + 1))
    blank = {number for number, line in enumerate(source.splitlines(), 1) if not line.strip()}
    filled -= blank
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(source.splitlines()), len(filled), len(filled - documented)


def package_of(path: Path) -> str:
    """Return the package that a file counts for: the first two folders of its path."""
    parts = path.parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0] if len(parts) > 1 else "."


def main(root: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=root, capture_output=True, text=True, check=True
    )
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name in listed.stdout.splitlines():
        for index, number in enumerate((1, *counts((root / name).read_text("utf-8")))):
            found[package_of(Path(name))][index] += number
    print(f"{'package':44}{'files':>7}{'lines':>8}{'filled':>8}{'code':>8}")
    for package, numbers in sorted(found.items()):
        print(f"{package:44}" + "".join(f"{n:{w}}" for n, w in zip(numbers, (7, 8, 8, 8))))  # noqa: B905
    for total in ("lance_namespace_impls", "tests", ""):
        rows = [n for package, n in found.items() if package.startswith(total)]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        print(f"{total or 'all':44}{sums[0]:7}{sums[1]:8}{sums[2]:8}{sums[3]:8}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
