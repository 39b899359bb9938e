"""Looks up routes; the protocol's routes come from the generated operation table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS, Operation

from ..lancedb.clone import CLONE_TABLE

__all__ = ["Endpoint", "Found", "RouteTable"]

# Additional routes that clients use for the protocol's operations.
OTHER_ROUTES: tuple[tuple[str, str, Operation[Any, Any]], ...] = (
    # LanceDB's route. No index is cached between requests, so prewarming an index only checks that
    # the index exists.
    (
        "POST",
        "/v1/table/{id}/index/{index_name}/prewarm",
        OPERATIONS["DescribeTableIndexStats"],
    ),
    (CLONE_TABLE.http_method, CLONE_TABLE.path, CLONE_TABLE),
    # Former name for declaring a table; pylance 1 uses it to write new tables.
    ("POST", "/v1/table/{id}/create-empty", OPERATIONS["DeclareTable"]),
    # Used by lance-core up to version 7.
    ("GET", "/v1/table/{id}/tags/list", OPERATIONS["ListTableTags"]),
)


class Endpoint(NamedTuple):
    """One of the two endpoints of an operation."""

    operation: Operation[Any, Any]
    by_name: bool
    """Whether the endpoint is ``POST /<name>``. Its body contains the fields that the ``/v1`` route
    has in its path.
    """


class Found(NamedTuple):
    """The result of a route lookup."""

    methods: Mapping[str, Endpoint]
    segments: tuple[str, ...]
    """The percent-encoded path segments that contain fields, in order."""


class _Node:
    """Routes with a common prefix."""

    __slots__ = ("any", "literal", "methods")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.methods: dict[str, Endpoint] = {}


class RouteTable:
    """The table of all routes; a lookup compares the raw path segment by segment.

    Segments are decoded after the path is split, so ``%2F`` remains part of a name.
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
        """Find the route for a path; one trailing ``/`` is ignored.

        Args:
            raw_path: the path as sent, percent-encoded, without the query string.
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
        """Return the routes most similar to a mistyped one."""
        return difflib.get_close_matches(f"{method} {raw_path}", self._templates, n=3, cutoff=0.5)


def _walk(node: _Node, segments: list[str], at: int, captured: tuple[str, ...]) -> Found | None:
    if at == len(segments):
        return Found(node.methods, captured) if node.methods else None
    segment = segments[at]
    literal = node.literal.get(segment)
    if literal is not None:
        found = _walk(literal, segments, at + 1, captured)
        if found is not None:
            return found
    if node.any is None:
        return None
    return _walk(node.any, segments, at + 1, (*captured, segment))


def decode(segment: str) -> str:
    """Decode a percent-encoded segment.

    Raises:
        InvalidInputError: code 13, the bytes are not UTF-8.
    """
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(f"path segment {segment!r} is not percent-encoded UTF-8") from None
