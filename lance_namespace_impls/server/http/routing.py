"""Finds the operation of a path; every route comes from the generated operation table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS, Operation

from ..lancedb.clone import CLONE_TABLE

__all__ = ["Endpoint", "Found", "RouteTable"]

# Routes beside those of the protocol, by which clients mean an operation of it.
OTHER_ROUTES: tuple[tuple[str, str, Operation[Any, Any]], ...] = (
    # LanceDB's; nothing of an index stays in memory between two requests: to warm one is to see that
    # it is there.
    (
        "POST",
        "/v1/table/{id}/index/{index_name}/prewarm",
        OPERATIONS["DescribeTableIndexStats"],
    ),
    (CLONE_TABLE.http_method, CLONE_TABLE.path, CLONE_TABLE),
    # What declaring a table was called before; pylance 1 writes new tables by it.
    ("POST", "/v1/table/{id}/create-empty", OPERATIONS["DeclareTable"]),
    # lance-core up to 7 asks so.
    ("GET", "/v1/table/{id}/tags/list", OPERATIONS["ListTableTags"]),
)


class Endpoint(NamedTuple):
    """One of the two ways to call an operation."""

    operation: Operation[Any, Any]
    by_name: bool
    """Whether it is ``POST /<name>``, where the body holds what the ``/v1`` route has in its path."""


class Found(NamedTuple):
    """What a path leads to."""

    methods: Mapping[str, Endpoint]
    segments: tuple[str, ...]
    """Segments that stand for fields, still percent-encoded, in the order of the path."""


class _Node:
    """The routes that share a beginning."""

    __slots__ = ("any", "literal", "methods")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.methods: dict[str, Endpoint] = {}


class RouteTable:
    """All routes, found segment by segment on the raw path.

    A segment is decoded only after the path was split, so that ``%2F`` stays within a name.
    """

    def __init__(self, operations: Iterable[Operation[Any, Any]] = OPERATIONS.values()) -> None:
        self._names: dict[str, dict[str, Endpoint]] = {}
        self._root = _Node()
        self._templates: list[str] = []
        for operation in operations:
            self._add(operation, operation.http_method, operation.path)
            self._templates.append(f"{operation.http_method} {operation.path}")
            for name in operation.names:
                self._names[f"/{name}"] = {"POST": Endpoint(operation, by_name=True)}
                self._templates.append(f"POST /{name}")
        for method, path, operation in OTHER_ROUTES:
            self._add(operation, method, path)

    def _add(self, operation: Operation[Any, Any], method: str, path: str) -> None:
        node = self._root
        for segment in path.split("/")[1:]:
            if segment.startswith("{"):
                if node.any is None:
                    node.any = _Node()
                node = node.any
            else:
                node = node.literal.setdefault(segment, _Node())
        endpoint = Endpoint(operation, by_name=False)
        node.methods[method] = endpoint
        if method == "GET":
            node.methods["HEAD"] = endpoint

    def find(self, raw_path: str) -> Found | None:
        """Find what a path leads to; one ``/`` at its end is as good as none.

        Args:
            raw_path: the path as it was sent, percent-encoded, without the query.
        """
        found = self._find(raw_path)
        if found is None and raw_path.endswith("/"):
            return self._find(raw_path[:-1])
        return found

    def _find(self, raw_path: str) -> Found | None:
        methods = self._names.get(raw_path)
        if methods is not None:
            return Found(methods, ())
        return _walk(self._root, raw_path.split("/")[1:], 0, ())

    def nearest(self, method: str, raw_path: str) -> list[str]:
        """Return the routes that a mistyped one is closest to."""
        return difflib.get_close_matches(f"{method} {raw_path}", self._templates, n=3, cutoff=0.5)


def _walk(node: _Node, segments: list[str], at: int, taken: tuple[str, ...]) -> Found | None:
    if at == len(segments):
        return Found(node.methods, taken) if node.methods else None
    segment = segments[at]
    literal = node.literal.get(segment)
    if literal is not None:
        found = _walk(literal, segments, at + 1, taken)
        if found is not None:
            return found
    if node.any is None:
        return None
    return _walk(node.any, segments, at + 1, (*taken, segment))


def decode(segment: str) -> str:
    """Undo the percent-encoding of one segment.

    Raises:
        InvalidInputError: code 13, the bytes are not UTF-8.
    """
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(f"path segment {segment!r} is not percent-encoded UTF-8") from None
