"""Derives the asynchronous table objects from the synchronous ones.

The synchronous modules are the only definition of the objects. A function that makes a call of a
namespace becomes a coroutine function, and so does every function that calls it. A property that
contacts the catalog becomes a method. Functions of the module `blocking` run on threads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeAlias

from attrs import define, field, frozen

from .tools import format_python

__all__ = ["MODULES", "async_modules"]

MODULES = ("merge", "search", "table")
"""The modules to convert; module ``X`` becomes ``async_X``."""
CLASSES = {
    "Branches": "AsyncBranches",
    "MergeInsert": "AsyncMergeInsert",
    "Search": "AsyncSearch",
    "Table": "AsyncTable",
    "Tags": "AsyncTags",
}
NAMES = {"LanceNamespace": "AsyncOperations", "Rows": "AsyncData", **CLASSES}
NAME = re.compile(rf"(?<![\w.])(?:{'|'.join(NAMES)})\b")
BLOCKING = "blocking"
"""The module whose functions run on threads."""
CALLABLES = frozenset({"_execute", "build", "execute", "listing"})
"""Variables and parameters that contain asynchronous functions."""
READER = "reader"
"""The variable for rows, whose method `read_all` is awaited."""
LINE = 100  # the project's line length

Function: TypeAlias = ast.FunctionDef
Scope: TypeAlias = tuple[str | None, str]
"""The class, if any, and the name of a function."""


def async_modules(folder: Path, operations: Collection[str]) -> dict[str, str]:
    """Return the text of each asynchronous module, by file name.

    Args:
        folder: the package with the synchronous modules.
        operations: names of the methods that contact the catalog.

    Raises:
        ToolError: ruff rejects the generated code.
    """
    modules = [_Module.of(name, (folder / f"{name}.py").read_text("utf-8")) for name in MODULES]
    found = _coroutines(modules, frozenset(operations))
    texts = {f"async_{each.name}.py": _converted(each, found) for each in modules}
    return format_python(texts, LINE, first_party="lance_namespace_client")


@frozen
class _Function:
    """A function, with the class that contains it."""

    scope: Scope
    node: Function
    is_property: bool


@frozen
class _Module:
    """A synchronous module."""

    name: str
    text: str
    tree: ast.Module
    functions: list[_Function]
    blocking: frozenset[str]
    """Names of the imported functions that run on threads."""

    @classmethod
    def of(cls, name: str, text: str) -> _Module:
        tree = ast.parse(text)
        imported = (
            each.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == BLOCKING
            for each in node.names
        )
        return cls(name, text, tree, list(_functions(tree, None)), frozenset(imported))


def _functions(node: ast.AST, owner: str | None) -> Iterator[_Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            decorators = [each.id for each in child.decorator_list if isinstance(each, ast.Name)]
            yield _Function((owner, child.name), child, "property" in decorators)
        inner = child.name if isinstance(child, ast.ClassDef) else owner
        yield from _functions(child, inner)


@frozen
class _Coroutines:
    """Which names are awaited."""

    operations: frozenset[str]
    scopes: frozenset[Scope] = frozenset()
    properties: frozenset[Scope] = frozenset()

    def builder_methods(self) -> frozenset[str]:
        """Return the names of the asynchronous methods of the builders."""
        return frozenset(name for owner, name in self.scopes if owner in ("MergeInsert", "Search"))


def _coroutines(modules: list[_Module], operations: frozenset[str]) -> _Coroutines:
    """Find the functions that contact the catalog, directly or through others."""
    found = _Coroutines(operations)
    while True:
        scopes, properties = set(found.scopes), set(found.properties)
        for module in modules:
            for function in module.functions:
                if any(_awaited(each, function.scope, module, found) for each in _own(function)):
                    scopes.add(function.scope)
                    if function.is_property:
                        properties.add(function.scope)
        if scopes == found.scopes:
            return found
        found = _Coroutines(operations, frozenset(scopes), frozenset(properties))


def _own(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of the functions inside it."""
    waiting: list[ast.AST] = list(function.node.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Function):
            yield node
            waiting += ast.iter_child_nodes(node)


def _awaited(node: ast.AST, scope: Scope, module: _Module, found: _Coroutines) -> bool:
    """Return whether an expression in a function is awaited."""
    if isinstance(node, ast.Attribute):
        is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        return is_self and (scope[0], node.attr) in found.properties
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in module.blocking | CALLABLES or (None, called.id) in found.scopes
    if not isinstance(called, ast.Attribute):
        return False
    receiver = ast.unparse(called.value)
    if receiver == "self":
        return (scope[0], called.attr) in found.scopes or called.attr in CALLABLES
    if receiver.endswith("namespace"):
        return called.attr in found.operations
    if receiver in (READER, "time"):
        return called.attr in ("read_all", "sleep")
    # A chain such as self.search().limit(5).to_arrow(), or a builder in a variable.
    return receiver.startswith(("self.", "merge")) and called.attr in found.builder_methods()


@define
class _Edits:
    """Replacements in a text."""

    text: str
    _edits: list[tuple[int, int, str]] = field(factory=list)
    _starts: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        lines = self.text.encode().splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Return the position, in bytes, at which a node starts."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Return the position, in bytes, at which a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace a part of the text; an empty part is an insertion."""
        self._edits.append((start, end, new))

    def applied(self) -> str:
        """Return the text with all replacements; insertions at one position keep their order."""
        data = self.text.encode()
        out, last = [], 0
        for start, end, new in sorted(self._edits, key=lambda each: each[:2]):
            out += [data[last:start], new.encode()]
            last = end
        return b"".join([*out, data[last:]]).decode()


def _converted(module: _Module, found: _Coroutines) -> str:
    edits = _Edits(module.text)
    parents = {
        child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)
    }
    for function in module.functions:
        if function.scope in found.scopes:
            if _is_special(function.node.name):
                _remove(edits, function.node)
                continue
            _define(edits, function)
        for node in _own(function):
            if _awaited(node, function.scope, module, found):
                assert isinstance(node, ast.Call | ast.Attribute)
                _await(edits, node, parents[node], module)
            elif isinstance(node, ast.With):
                opened = node.items[0].context_expr
                if _awaited(opened, function.scope, module, found):
                    edits.replace(edits.start(node), edits.start(node), "async ")
    _await_callables(edits, module)
    return _renamed(edits.applied(), module)


def _is_special(name: str) -> bool:
    """Return whether Python or a notebook calls the method, which therefore cannot be awaited."""
    return (name.startswith("__") and name.endswith("__")) or name == "_repr_html_"


def _remove(edits: _Edits, node: Function) -> None:
    edits.replace(edits.start(node), edits.end(node), "")


def _define(edits: _Edits, function: _Function) -> None:
    start = edits.start(function.node)
    if function.is_property:
        (decorator,) = function.node.decorator_list
        edits.replace(edits.start(decorator) - 1, start, "async ")  # starts with @
    else:
        edits.replace(start, start, "async ")


def _await(edits: _Edits, node: ast.Call | ast.Attribute, parent: ast.AST, module: _Module) -> None:
    start, end = edits.start(node), edits.end(node)
    is_inside = (isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node) or (
        isinstance(parent, ast.Call) and parent.func is node
    )
    opening, closing = ("(await ", ")") if is_inside else ("await ", "")
    if isinstance(node, ast.Attribute):  # a property becomes a method
        closing = f"(){closing}"
    elif isinstance(node.func, ast.Name) and node.func.id in module.blocking:
        edits.replace(start, start, opening)
        edits.replace(start, edits.end(node.func) + 1, f"in_thread({node.func.id}, ")
        for argument in node.args:
            if ast.unparse(argument) == "self.namespace":
                edits.replace(edits.end(argument), edits.end(argument), ".synchronous")
        edits.replace(end, end, closing)
        return
    edits.replace(start, start, opening)
    edits.replace(end, end, closing)


def _await_callables(edits: _Edits, module: _Module) -> None:
    """Make the results of callables awaitable in the annotations of parameters and variables."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, node.annotation
        else:
            continue
        if name in CALLABLES and isinstance(annotation, ast.Subscript):
            assert isinstance(annotation.slice, ast.Tuple)
            result = annotation.slice.elts[1]
            edits.replace(edits.start(result), edits.start(result), "Awaitable[")
            edits.replace(edits.end(result), edits.end(result), "]")


def _with_new_names(text: str) -> str:
    """Rename classes and types; in docstrings, where names may be ordinary words, only in code."""
    edits = _Edits(text)
    tree = ast.parse(text)
    documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = [
        (edits.start(node.body[0]), edits.end(node.body[0]))
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    ]
    for found in NAME.finditer(text):
        start, end = (len(text[:each].encode()) for each in found.span())
        is_prose = any(first <= start < last for first, last in docstrings)
        if not is_prose or text[found.start() - 1] == "`":
            edits.replace(start, end, NAMES[found[0]])
    return edits.applied()


def _renamed(text: str, module: _Module) -> str:
    text = _with_new_names(text)
    text = text.replace("lance_namespace_client.namespace", ".async_operations")
    for each in MODULES:
        text = text.replace(f"from .{each} import", f"from .async_{each} import")
    text = text.replace("time.sleep(", "asyncio.sleep(")
    text = re.sub(r"\bpa\.RecordBatchReader\b", "AsyncRows", text)
    text = text.replace(">>> table.", ">>> await table.")
    future = "from __future__ import annotations\n"
    imports = (
        "import asyncio\n"
        "from collections.abc import Awaitable\n"
        "from lance_namespace_client.async_namespace import AsyncRows\n"
        "from ..core.async_calls import in_thread\n"
    )
    source = f"{module.name}.py"
    header = f"# Generated from {source} by `python -m codegen`. Edit {source} instead.\n"
    return header + text.replace(future, f"{future}\n{imports}", 1)
