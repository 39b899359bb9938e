"""Generate faults from the syntax tree, deterministically."""

from __future__ import annotations

import ast
import hashlib
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from lance_namespace_client import errors

from .packages import PACKAGES, ROOT

__all__ = ["Mutant", "equivalents", "mutants_of"]

SEED = 20261122
HERE = Path(__file__).parent
COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
PROTOCOL_ERRORS = frozenset(errors.__all__)


@frozen
class Mutant:
    """One fault: a replacement of text in one file."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    why: str
    first: int = 0
    last: int = 0
    """First and last line of the enclosing statement; only of the head of a compound statement."""

    @property
    def name(self) -> str:
        """An id that stays the same until the line number or the text changes."""
        text = "\0".join((self.file, str(self.line), self.old, self.new))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def apply(self, root: Path) -> None:
        """Insert the fault into a copy of the project."""
        path = root / self.file
        source = path.read_bytes()
        assert source[self.start : self.end].decode() == self.old, f"{self.file} has changed"
        path.write_bytes(source[: self.start] + self.new.encode() + source[self.end :])

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:70] for text in (self.old, self.new))
        return f"{self.file}:{self.line}: {self.why}: {old} -> {new}"


class Finder(ast.NodeVisitor):
    """Finds all faults that can be inserted into a file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.found: list[Mutant] = []
        self._file, self._source = file, source
        lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))
        self._statement = (0, 0)

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and record the statement that contains it."""
        before = self._statement
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = node.end_lineno or node.lineno
            if body and not isinstance(node, ast.If):
                last = max(node.lineno, body[0].lineno - 1)
            self._statement = (node.lineno, last)
        super().visit(node)
        self._statement = before

    def _put(self, node: ast.AST, new: str, why: str) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        old = self._source[start:end].decode()
        line: int = node.lineno  # type: ignore[attr-defined]
        if old != new:
            self.found.append(Mutant(self._file, line, start, end, old, new, why, *self._statement))

    def visit_If(self, node: ast.If) -> None:
        if _is_checking(node.test):
            return
        last = node.body[-1]
        if isinstance(last, ast.Raise | ast.Return | ast.Continue) and not node.orelse:
            self._put(node.test, "False", "a guard is dropped")
        text = ast.unparse(node.test)
        self._put(node.test, f"(not ({text}))", "a condition is negated")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            new = COMPARED[type(node.ops[0])]
            self._put(node, f"({left} {new} {right})", "a comparison is another")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = " or " if isinstance(node.op, ast.And) else " and "
        parts = [f"({ast.unparse(value)})" for value in node.values]
        self._put(node, f"({other.join(parts)})", "and is or")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._put(node, str(not node.value), "a constant is another")
        elif isinstance(node.value, int | float):
            self._put(node, str(node.value + 1), "a constant is another")

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        if called in ("TypeVar", "ParamSpec", "cast", "overload"):
            return  # only for the type checker
        for keyword in node.keywords:
            if keyword.arg is None or isinstance(keyword.value, ast.Constant):
                continue
            why = (
                "a field of an answer is dropped"
                if "Response" in called
                else "a parameter is ignored"
            )
            self._put(keyword.value, "None", why)
        if len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args[:2]):
            start, end = node.args[0], node.args[1]
            between = ast.Tuple(elts=[end, start], ctx=ast.Load())
            ast.copy_location(between, start)
            between.end_lineno, between.end_col_offset = end.end_lineno, end.end_col_offset
            self._put(between, f"{ast.unparse(end)}, {ast.unparse(start)}", "arguments are swapped")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key in node.keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._put(key, repr(key.value + "_"), "a key is another")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            self._put(node.slice, repr(node.slice.value + "_"), "a key is another")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not ast.unparse(node.value.func).startswith("log"):
            self._put(node, "pass", "a call is dropped")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # Annotations, keyword-only defaults and decorators have no behavior that tests observe.
        for each in (*node.body, *node.args.defaults):
            self.visit(each)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            self.visit(each)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Change the class of an error, and so its code, but not its message."""
        made = node.exc
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name | ast.Attribute):
            called = ast.unparse(made.func)
            if called.rpartition(".")[2] in PROTOCOL_ERRORS:
                other = (
                    "InternalError" if not called.endswith("InternalError") else "InvalidInputError"
                )
                new = f"__import__('lance_namespace_client.errors', fromlist=['*']).{other}"
                self._put(made.func, new, "an error has another code")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip f-strings: before Python 3.12, their parts have no positions."""


def _is_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'")


def _in_file(path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    finder = Finder(path.relative_to(ROOT).as_posix(), source)
    finder.visit(ast.parse(source))
    yield from finder.found


def equivalents() -> dict[str, str]:
    """Return the names of the mutants that behave like the original, with the reasons."""
    rows = tomllib.loads((HERE / "equivalent.toml").read_text("utf-8"))
    return {row["mutant"]: row["why"] for row in rows.get("equivalent", [])}


def by_hand(package: str) -> list[Mutant]:
    """Return the faults of a package that are listed in ``by_hand.toml``."""
    rows = tomllib.loads((HERE / "by_hand.toml").read_text("utf-8"))
    found = []
    for row in rows.get(package, []):
        source = (ROOT / row["file"]).read_bytes()
        old = row["old"].encode()
        if source.count(old) != 1:
            raise ValueError(f"{row['file']} has {source.count(old)} of: {row['old']}")
        start = source.index(old)
        line = source.count(b"\n", 0, start) + 1
        end, last = start + len(old), line + old.count(b"\n")
        found.append(
            Mutant(row["file"], line, start, end, row["old"], row["new"], row["why"], line, last)
        )
    return found


def mutants_of(package: str, seed: int = SEED) -> list[Mutant]:
    """Return the faults of a package: all listed ones, and the configured number of generated ones.

    The kinds of fault are chosen in turn, so that frequent kinds do not crowd out the others.
    Equivalent mutants are skipped.
    """
    passed_over = equivalents()
    kinds: dict[str, list[Mutant]] = {}
    for path in PACKAGES[package].files():
        for mutant in _in_file(path):
            kinds.setdefault(mutant.why, []).append(mutant)
    chance = random.Random(f"{seed}{package}")
    for found in kinds.values():
        chance.shuffle(found)
    chosen: list[Mutant] = []
    while len(chosen) < PACKAGES[package].mutants and any(kinds.values()):
        for why in sorted(kinds):
            if kinds[why]:
                mutant = kinds[why].pop()
                if mutant.name not in passed_over:
                    chosen.append(mutant)
    return [*by_hand(package), *chosen[: PACKAGES[package].mutants]]
