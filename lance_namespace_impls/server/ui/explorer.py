"""The web pages: the namespace tree, tables with columns and rows, and the operations.

The pages call the server's own operations with the user's credentials, so authorization and all
limits apply. They change nothing, and consist of plain HTML; the content security policy forbids
scripts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import json
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Scope

from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    UnauthenticatedError,
    error_for,
)
from lance_namespace_client.operations import OPERATIONS

from ...core.identifiers import DEFAULT_DELIMITER
from ..http.requests import Headers
from ..security.origin import AccessCheck
from .cells import Cell, cell

if TYPE_CHECKING:
    import jinja2
    import pyarrow as pa

__all__ = ["Explorer"]

PAGE_NAMES = 200
SEARCHED_NAMES = 20_000
"""Maximum number of names that a search reads; the page states whether there are more."""
SHOWN_ROWS = 10
LARGEST_ROWS = 32 << 20
"""Maximum size, in bytes, of the rows on a page; if a result is larger, the page shows an error."""
SHOWN_VERSIONS = 20
POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
# Headers of the user's request that are copied to the requests that a page makes.
_CREDENTIALS = (b"authorization", b"x-api-key", b"host")
_OPERATION_PAGES = {"x-frame-options": "DENY", "referrer-policy": "no-referrer"}


class Explorer:
    """The pages below ``/ui``, and ``/docs``.

    Args:
        operations: ASGI application for the protocol's routes, which the pages call like any
            client.
        access: a check that every request must pass.
        unknown: handles requests to unknown paths.
        asks_who_calls: whether a user without credentials is prompted for them.
    """

    def __init__(
        self, operations: ASGIApp, access: AccessCheck, unknown: ASGIApp, *, asks_who_calls: bool
    ) -> None:
        self._operations = operations
        self._unknown = unknown
        self._access = access
        self._prompts = asks_who_calls

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the pages."""
        return [
            Route("/", self._home),
            Route("/ui", self._page(self._namespace)),
            Route("/ui/table", self._page(self._table)),
            Route("/ui/style.css", _style),
            Route("/docs", self._page(_docs)),
        ]

    async def _home(self, request: Request) -> Any:
        """Redirect browsers to the pages; for clients of the protocol, the path does not exist."""
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(_at(request, "/ui"))
        return self._unknown

    def _page(self, build: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def page(request: Request) -> Response:
            try:
                self._check(request)
                name, values, status = await build(request)
            except LanceNamespaceError as error:
                name, values, status = "error.html", {"error": error}, error.http_status
            values["at"] = functools.partial(_at, request)
            html = await asyncio.to_thread(_templates().get_template(name).render, values)
            headers = {
                "content-security-policy": POLICY,
                "x-content-type-options": "nosniff",
                "cache-control": "no-store",
                **_OPERATION_PAGES,
            }
            if status == 401 and self._prompts:
                headers["www-authenticate"] = 'Basic realm="Lance namespace", charset="UTF-8"'
            return Response(html, status, headers, media_type="text/html")

        return page

    def _check(self, request: Request) -> None:
        """Reject requests from pages of other sites, except when the user follows a link."""
        headers = Headers(request.scope["headers"])
        if (
            headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        ):
            headers.pop("sec-fetch-site", None)
        self._access.check(headers)

    # --- pages

    async def _namespace(self, request: Request) -> tuple[str, dict[str, Any], int]:
        identifier = request.query_params.getlist("id")
        wanted = request.query_params.get("q", "").strip()
        tokens = {
            field: request.query_params.get(f"{field}_after") for field in ("namespaces", "tables")
        }
        answers: dict[str, Any] = {"id": identifier, "q": wanted, "levels": _levels(identifier)}
        listed: dict[str, list[str]] = {"namespaces": [], "tables": []}
        notes = []
        more: dict[str, str | None] = {}
        for operation, field in (("ListNamespaces", "namespaces"), ("ListTables", "tables")):
            if any(tokens.values()) and not tokens[field]:
                continue  # later pages contain only one kind of name
            try:
                listed[field], more[field] = await self._names(
                    request, operation, field, identifier, wanted, tokens[field] or None
                )
            except (InvalidInputError, PermissionDeniedError) as error:
                if not identifier and error.code is not ErrorCode.INVALID_INPUT:
                    raise
                notes.append(error.message)
                continue
            except LanceNamespaceError as error:
                if error.code is not ErrorCode.UNSUPPORTED:
                    raise
                notes.append(error.message)
                continue
        if identifier:
            try:
                found = await self._ask(request, "DescribeNamespace", {"id": identifier})
                answers["properties"] = sorted((found.get("properties") or {}).items())
            except LanceNamespaceError as error:
                notes.append(error.message)
        return "namespace.html", {**answers, **listed, "more": more, "notes": notes}, 200

    async def _names(
        self,
        request: Request,
        operation: str,
        field: str,
        identifier: list[str],
        wanted: str,
        token: str | None,
    ) -> tuple[list[str], str | None]:
        """Return one page of names, or all names that match a search."""
        found: list[str] = []
        seen = 0
        while True:
            body = {"id": identifier, "page_token": token, "limit": 1000 if wanted else PAGE_NAMES}
            response = await self._ask(request, operation, body)
            names = response.get(field) or []
            seen += max(len(names), 100)  # a page may be empty without being the last
            found += [name for name in names if wanted.lower() in name.lower()] if wanted else names
            token = response.get("page_token")
            if not wanted or not token or seen >= SEARCHED_NAMES or len(found) >= PAGE_NAMES:
                return found, token

    async def _table(self, request: Request) -> tuple[str, dict[str, Any], int]:
        identifier = request.query_params.getlist("id")
        if not identifier:
            raise InvalidInputError("the page of a table needs the query parameter 'id'")
        body: dict[str, Any] = {"id": identifier}
        described = await self._ask(request, "DescribeTable", {**body, "check_declared": True})
        values: dict[str, Any] = {
            "id": identifier,
            "name": identifier[-1],
            "levels": _levels(identifier),
            "location": described.get("location"),
            "properties": sorted((described.get("properties") or {}).items()),
            "declared": bool(described.get("is_only_declared")),
            "joined": DEFAULT_DELIMITER.join(identifier),
            "address": str(request.base_url).rstrip("/"),
            "shell_id": _shell(DEFAULT_DELIMITER.join(identifier)),
            "python_id": repr(identifier),
            "python_name": repr(identifier[-1]),
            "python_parent": repr(identifier[:-1]),
            "json_id": _shell(json.dumps({"id": identifier})),
            "query": {
                k: request.query_params.get(k, "") for k in ("where", "text", "near", "column")
            },
        }
        if values["declared"]:
            return "table.html", values, 200
        parts = {
            "count": ("CountTableRows", body),
            "versions": (
                "ListTableVersions",
                {**body, "descending": True, "limit": SHOWN_VERSIONS},
            ),
            "tags": ("ListTableTags", {**body, "limit": PAGE_NAMES}),
            "indices": ("ListTableIndices", {**body, "limit": PAGE_NAMES}),
        }
        answers = await asyncio.gather(
            *(
                self._part(request, operation, parameters)
                for operation, parameters in parts.values()
            ),
            self._rows(request, identifier),
        )
        for name, response in zip((*parts, "rows"), answers, strict=True):
            values[name] = response
        return "table.html", values, 200

    async def _part(self, request: Request, operation: str, body: dict[str, Any]) -> Any:
        """Return a response, or the error that this part of the page shows."""
        try:
            return await self._ask(request, operation, body)
        except LanceNamespaceError as error:
            return {"error": error.message}

    async def _rows(self, request: Request, identifier: list[str]) -> dict[str, Any]:
        given = request.query_params
        body: dict[str, Any] = {"id": identifier, "k": SHOWN_ROWS, "vector": None}
        if where := given.get("where", "").strip():
            body |= {"filter": where, "prefilter": True}
        if text := given.get("text", "").strip():
            body["full_text_query"] = {"string_query": {"query": text}}
        column = given.get("column", "").strip()
        try:
            if near := given.get("near", "").strip():
                body["vector"] = {
                    "single_vector": await self._vector(request, identifier, near, column)
                }
                if column:
                    body["vector_column"] = column
            elif not text:
                body["with_row_id"] = True
            response = await self._send(request, "QueryTable", body, largest=LARGEST_ROWS)
        except LanceNamespaceError as error:
            return {"error": error.message}
        return await asyncio.to_thread(_displayed_rows, response)

    async def _vector(
        self, request: Request, identifier: list[str], near: str, column: str
    ) -> list[float]:
        """Return the vector in a row, identified by its ``_rowid``."""
        if not near.isdecimal():
            raise InvalidInputError("near: specify the id of a row, as shown in the column _rowid")
        body: dict[str, Any] = {
            "id": identifier,
            "k": 1,
            "vector": None,
            "filter": f"_rowid = {near}",
        }
        rows = _read(await self._send(request, "QueryTable", body, largest=LARGEST_ROWS))
        vectors = [f.name for f in rows.schema if hasattr(f.type, "list_size")]
        chosen = [column] if column else vectors
        if len(chosen) != 1 or chosen[0] not in vectors:
            raise InvalidInputError(
                f"column: specify a vector column; this table has {', '.join(vectors) or 'none'}"
            )
        if not rows.num_rows or rows[chosen[0]][0].as_py() is None:
            raise InvalidInputError(f"there is no row {near} with a vector")
        return [float(value) for value in rows[chosen[0]][0].as_py()]

    # --- the server's own operations

    async def _ask(self, request: Request, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self._send(request, operation, body)
        found = json.loads(response) if response else {}
        if isinstance(found, dict):
            return found
        row = OPERATIONS[operation]
        return {row.answer_field or "answer": found}

    async def _send(
        self,
        request: Request,
        operation: str,
        body: dict[str, Any],
        largest: int | None = None,
    ) -> bytes:
        """Return the body of a response.

        Raises:
            LanceNamespaceError: the operation failed.
            InvalidInputError: code 13, the response has more bytes than `largest`.
        """
        given = json.dumps(
            {k: v for k, v in body.items() if v is not None or k == "vector"}
        ).encode()
        path = f"/{operation}"
        scope: Scope = {
            **{
                k: request.scope[k] for k in request.scope if k not in ("app", "router", "endpoint")
            },
            "method": "POST",
            "path": request.scope.get("root_path", "") + path,
            "raw_path": (request.scope.get("root_path", "") + path).encode(),
            "query_string": b"",
            "headers": [
                *((k, v) for k, v in _as_client(request.scope["headers"]) if k in _CREDENTIALS),
                (b"content-type", b"application/json"),
            ],
        }
        status, size = 500, 0
        parts: list[bytes] = []
        sent = False
        enough = asyncio.Event()

        async def receive() -> Message:
            nonlocal sent
            if sent:
                await (
                    enough.wait()
                )  # there are no further messages; returning would signal a disconnect
                return {"type": "http.disconnect"}
            sent = True
            return {"type": "http.request", "body": given, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                return
            part = message.get("body", b"")
            size += len(part)
            if largest is not None and size > largest:
                parts.clear()
                enough.set()
            else:
                parts.append(part)

        await self._operations(scope, receive, send)
        if enough.is_set():
            raise InvalidInputError(
                f"the rows exceed {largest:,} bytes, which is too much for a page; open the "
                "table with one of the clients below"
            )
        response = b"".join(parts)
        if status < 400:
            return response
        found = json.loads(response)
        raise error_for(int(found["code"]), str(found.get("error") or found.get("detail") or ""))


async def _style(request: Request) -> Response:
    text = resources.files(__package__).joinpath("pages/style.css").read_text("utf-8")
    return Response(text, headers={"cache-control": "max-age=300"}, media_type="text/css")


async def _docs(request: Request) -> tuple[str, dict[str, Any], int]:
    groups: dict[str, list[Any]] = {}
    for row in OPERATIONS.values():
        groups.setdefault(row.tag, []).append(
            (row, _fields(row.request_type), _fields(row.response_type))
        )
    return "docs.html", {"groups": groups, "codes": list(ErrorCode)}, 200


def _fields(model: Any) -> list[tuple[str, str]]:
    """Return the fields of a model: the keys, and whether each is required."""
    return [(wire.key, "required" if wire.required else "") for wire in model._wire]


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    loader = jinja2.PackageLoader("lance_namespace_impls.server.ui", "pages")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.globals["link"] = _link
    return environment


def _link(page: str, identifier: Sequence[str] = (), **more: str) -> str:
    pairs = [("id", name) for name in identifier] + [(k, v) for k, v in more.items() if v]
    return f"{page}?{urlencode(pairs)}" if pairs else page


def _at(request: Request, path: str) -> str:
    """Return a path in this application as browsers see it, including the mount point."""
    return str(request.scope.get("root_path", "")) + path


def _levels(identifier: Sequence[str]) -> list[tuple[str, list[str]]]:
    return [(name, list(identifier[: n + 1])) for n, name in enumerate(identifier)]


def _shell(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _read(response: bytes) -> pa.Table:
    import pyarrow as pa

    with pa.ipc.open_file(pa.py_buffer(response)) as reader:
        return reader.read_all()


def _displayed_rows(response: bytes) -> dict[str, Any]:
    from ...tables.schema import column_types

    rows = _read(response)
    return {
        "columns": list(column_types(rows.schema).items()),
        "rows": [
            [_cell_of(column[number]) for column in rows.columns] for number in range(rows.num_rows)
        ],
    }


def _cell_of(value: pa.Scalar[Any]) -> Cell:
    try:
        return cell(value.as_py())
    except Exception:  # noqa: BLE001 - Arrow has dates, times and text that Python cannot represent
        return Cell(f"{value.type}, cannot be shown")


def _as_client(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers in which the password of a browser's Basic credentials is sent as a token.

    Raises:
        UnauthenticatedError: code 16, the credentials cannot be read.
    """
    found = []
    for key, value in headers:
        given = value
        if key == b"authorization" and given[:6].lower() == b"basic ":
            try:
                _, _, password = base64.b64decode(given[6:], validate=True).partition(b":")
            except (binascii.Error, ValueError):
                raise UnauthenticatedError("the credentials cannot be read; log in again") from None
            given = b"Bearer " + password
        found.append((key, given))
    return found
