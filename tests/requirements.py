"""The requirements of the specifications, and the tests marked with them.

``requirements.csv`` has one row for each requirement. The id begins with the specification.
``sentence`` is the requirement. A row has either ``checks``, the conformance checks that observe it
as a client, or ``native``, the reason why no client can observe it (`NATIVE`). ``needs`` is ``aws``
if only an AWS account can show the whole requirement; the tests then use a test double.

``@pytest.mark.requirement("general-001")`` on a test states that the test shows that requirement.

``python -m tests.requirements`` writes requirements, checks and tests to ``build/requirements.md``.
"""

from __future__ import annotations

import ast
import csv
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from attrs import frozen

__all__ = ["NATIVE", "SPECIFICATIONS", "Requirement", "complaints", "marked", "read", "table"]

ROOT = Path(__file__).resolve().parents[1]
SPECIFICATIONS = ("general", "glue", "hive2", "hive3", "unity", "iceberg")
NATIVE = {
    "configured": "it depends on properties that the namespace is connected with",
    "failing": "the catalog has to fail or to refuse, which no call of the protocol causes",
    "foreign": "it needs an object in the catalog that the protocol cannot create",
    "stored": "it is about how the catalog or its storage keeps an object",
    "tools": "it is about documents, tools and packages, not about a namespace",
}
"""Reasons why a client of the protocol cannot observe a requirement."""
SKIPPED = ("skip", "skipif", "xfail")


@frozen
class Requirement:
    """A row of the table."""

    id: str
    checks: tuple[str, ...]
    native: str
    needs: str
    sentence: str

    @property
    def spec(self) -> str:
        """The specification with the requirement, from the id."""
        return self.id.partition(".")[0].partition("-")[0]


def read(path: Path = ROOT / "tests" / "requirements.csv") -> list[Requirement]:
    """Return the rows of the table."""
    with path.open(encoding="utf-8", newline="") as rows:
        return [
            Requirement(**{**row, "checks": tuple(row["checks"].split())})
            for row in csv.DictReader(rows, strict=True)
        ]


def marked(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the tests marked with each id.

    They are read from the source code, because some tests need programs that are not installed. If
    pytest skips or does not collect a marked test, its name is followed by the reason in
    parentheses.
    """
    found = defaultdict(list)
    for path in sorted((root / "tests").rglob("*.py")):
        source = path.read_text("utf-8")
        if "pytest.mark.requirement(" in source:
            file = path.relative_to(root).as_posix()
            for id, name in _marked_in(ast.parse(source), path.name.startswith("test_")):
                found[id].append(f"{file}::{name}")
    return dict(found)


def _marked_in(module: ast.Module, collected: bool) -> Iterator[tuple[str, str]]:
    held = [(module, "", collected)] + [
        (node, f"{node.name}::", collected and node.name.startswith("Test"))
        for node in module.body
        if isinstance(node, ast.ClassDef)
    ]
    of_module = ast.unparse([node for node in module.body if _is_pytestmark(node)])  # type: ignore[arg-type]
    for holder, prefix, is_collected in held:
        for node in holder.body:
            if isinstance(node, ast.FunctionDef):
                marks = " ".join([of_module, *map(ast.unparse, node.decorator_list)])
                reason = next((f" ({each})" for each in SKIPPED if f"mark.{each}" in marks), "")
                if not (is_collected and node.name.startswith("test_")):
                    reason = " (not a test)"
                for id in _ids(node):
                    yield id, f"{prefix}{node.name}{reason}"


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def _ids(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                yield from (ast.literal_eval(each) for each in node.args)


def complaints(
    rows: list[Requirement], tests: Mapping[str, list[str]], checks: Collection[str]
) -> list[str]:
    """Return the faults of the table and the markers, one line each."""
    ids = Counter(row.id for row in rows)
    found = [f"{id} has {count} rows" for id, count in ids.items() if count > 1]
    for row in rows:
        found += [f"{row.id} {fault}" for fault in _faults(row, tests.get(row.id, []), checks)]
    for id, names in tests.items():
        if id not in ids:
            found += [f"{name} is marked with the unknown requirement {id}" for name in names]
        found += [f"{name} cannot show {id}" for name in names if name.endswith(")")]
    return found


def _faults(row: Requirement, tests: list[str], checks: Collection[str]) -> Iterator[str]:
    if row.spec not in SPECIFICATIONS:
        yield f"does not begin with one of {', '.join(SPECIFICATIONS)}"
    if not row.sentence.endswith("."):
        yield "has no sentence"
    if not row.checks and not tests:
        yield "has neither a check nor a test"
    yield from (f"names the unknown check {id}" for id in row.checks if id not in checks)
    if len(set(row.checks)) < len(row.checks):
        yield "names a check twice"
    if bool(row.checks) == (row.native in NATIVE):
        yield f"needs either checks or one of {', '.join(NATIVE)} as native"


def table(rows: list[Requirement], tests: Mapping[str, list[str]]) -> str:
    """Return the requirements as a Markdown table, with their checks and tests."""
    lines = ["| requirement | sentence | checks and tests |", "| --- | --- | --- |"]
    for row in rows:
        shown = "<br>".join(f"`{each}`" for each in (*row.checks, *tests.get(row.id, ())))
        lines.append(f"| {row.id} | {row.sentence.replace('|', chr(92) + '|')} | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    written = ROOT / "build" / "requirements.md"
    written.parent.mkdir(exist_ok=True)
    written.write_text(table(read(), marked()), "utf-8")
    print(written.relative_to(ROOT))
