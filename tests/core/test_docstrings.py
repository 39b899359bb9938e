"""Docstrings open with what is returned or done: "Return ...", "Raise ...", "Create ..."."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("lance_namespace_impls", "generated/lance_namespace_client", "codegen")
REFUSED = frozenset(
    {"Give", "Gives", "Say", "Says", "Tell", "Tells", "Put", "Puts", "Make", "Makes"}
)


def openings(source: str) -> Iterator[tuple[str, str]]:
    """Walk the classes and functions of a module, each with the first word of its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.name, text.split(maxsplit=1)[0]


def modules() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def test_openings_are_found() -> None:
    source = (
        'def f():\n    """Give the sum."""\n\n'
        'class C:\n    """Gives one."""\n    def g(self):\n        """Return it."""\n'
    )
    assert list(openings(source)) == [("f", "Give"), ("C", "Gives"), ("g", "Return")]


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_open_with_what_is_returned_or_done(folder: str) -> None:
    refused, seen = [], 0
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(f"{folder}/"):
            for opened, word in openings(path.read_text("utf-8")):
                seen += 1
                if word in REFUSED:
                    refused.append(f"{name}: {opened}: {word} ...")
    assert seen > 50
    assert refused == []
