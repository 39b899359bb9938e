"""A double of Unity Catalog's open-source server; `unity_real` runs the real server.

It emulates version 0.7.0, from recordings, for catalogs, schemas and external tables: valid names,
the splitting of full names, error codes with their messages and HTTP statuses, pages of at most 100
entries and their tokens, updates of schema properties, the text that responds to DELETE, maximum
lengths of texts, and the normalization of locations. Tests with the real server also send every
request to a double, and the responses must match.

Not emulated: authentication, permissions, volumes, functions, models, managed tables, credential
vending, owners, other checks of columns, and the server's race conditions.
"""

from __future__ import annotations

import posixpath
import re
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from .web import Answer, Asked, WebServer

__all__ = ["API", "PAGE_SIZE", "Name", "UnityDouble"]

API = "/api/2.1/unity-catalog"
PAGE_SIZE = 100
NAME = re.compile(r"[a-zA-Z0-9_@-]{1,255}")
SCHEMES = ("file", "s3", "gs", "abfs", "abfss")
TEXT = {"Content-Type": "text/plain; charset=utf-8"}

STATUSES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "CATALOG_ALREADY_EXISTS": 400,
    "SCHEMA_ALREADY_EXISTS": 400,
    "TABLE_ALREADY_EXISTS": 400,
    "CATALOG_NOT_FOUND": 404,
    "SCHEMA_NOT_FOUND": 404,
    "TABLE_NOT_FOUND": 404,
    "INTERNAL": 500,
}

Name = tuple[str, ...]


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnityDouble(WebServer):
    """An in-memory double of the open-source server, in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[Name, dict[str, Any]] = {}
        """Responses for catalogs, schemas and tables, by their one, two or three names."""
        self._lock = threading.Lock()

    def respond(self, asked: Asked) -> Answer:
        parts = [unquote(part) for part in asked.path.removeprefix(API).strip("/").split("/")]
        if not asked.path.startswith(API) or parts[0] not in _LEVELS or len(parts) > 2:
            return Answer(
                status=404, body=b"Status: 404\nDescription: Not Found\n", headers=dict(TEXT)
            )
        try:
            with self._lock:
                return self._serve(asked, _LEVELS[parts[0]], parts[1:])
        except _Refused as refused:
            return Answer(
                status=STATUSES[refused.code],
                body={
                    "error_code": refused.code,
                    "details": [
                        {
                            "reason": refused.code,
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        }
                    ],
                    "message": str(refused),
                },
            )

    # --- without the API

    def add_catalog(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        self.objects[(name,)] = _shown((name,), {"properties": properties})

    def add_schema(self, name: Name, properties: Mapping[str, str] | None = None) -> None:
        self.objects[name] = _shown(name, {"properties": properties})

    def add_table(
        self,
        name: Name,
        table_type: str = "EXTERNAL",
        properties: Mapping[str, str] | None = None,
        storage_location: str | None = None,
    ) -> None:
        """Add a table, as other tools do."""
        self.objects[name] = _shown(
            name,
            {
                "table_type": table_type,
                "data_source_format": "DELTA" if table_type == "MANAGED" else "TEXT",
                "properties": properties,
                "storage_location": storage_location or f"file:///nowhere/{'/'.join(name)}",
            },
        )

    def held(self) -> dict[Name, dict[str, Any]]:
        return dict(self.objects)

    def clear(self) -> None:
        self.objects.clear()

    # --- the API

    def _serve(self, asked: Asked, level: int, rest: list[str]) -> Answer:
        if not rest:
            listed = asked.method == "GET"
            return Answer(body=self._list(asked, level) if listed else self._add(asked, level))
        # The server's router joins the parts of a path with this character.
        full = rest[0].replace("\x1f", ".")
        name = tuple(full.split(".")) if level > 1 else (full,)
        if len(name) != level:
            kind = {2: "schema full name", 3: "table name"}[level]
            raise _Refused("INVALID_ARGUMENT", f"Invalid {kind}: {full}")
        self._require(name, asked.method == "DELETE")
        if asked.method == "DELETE":
            self._remove(name, asked.query.get("force") == "true")
            return Answer(body=b"200 OK", headers=dict(TEXT))
        if asked.method == "PATCH" and asked.json.get("properties"):
            _check_length("update schema", asked.json)
            changed = {"properties": dict(asked.json["properties"]), "updated_at": _now()}
            self.objects[name] = {**self.objects[name], **changed}
        return Answer(body=self.objects[name])

    def _require(self, name: Name, deleting: bool = False) -> None:
        for level in range(1, len(name) + 1):
            if name[:level] not in self.objects:
                kind = _KIND[level]
                said = name[-1] if deleting and level == 3 else ".".join(name[:level])
                raise _Refused(
                    f"{kind.upper()}_NOT_FOUND", f"{kind.capitalize()} not found: {said}"
                )

    def _add(self, asked: Asked, level: int) -> dict[str, Any]:
        body = asked.json
        above = [body["catalog_name"], body.get("schema_name")][: level - 1] if level > 1 else []
        name = (*above, body["name"])
        _check_name(body["name"])
        self._require(name[:-1])
        if name in self.objects:
            kind = _KIND[level]
            said = ".".join(name) if level == 3 else name[-1]
            raise _Refused(
                f"{kind.upper()}_ALREADY_EXISTS", f"{kind.capitalize()} already exists: {said}"
            )
        if level == 3 and not body.get("storage_location"):
            raise _Refused("INTERNAL", f"Error creating table: {'.'.join(name)}: no location")
        if level == 3:
            body = {**body, "storage_location": _written(body["storage_location"])}
        _check_length(f"create {_KIND[level]}", body)
        self.objects[name] = _shown(name, body)
        return self.objects[name]

    def _list(self, asked: Asked, level: int) -> dict[str, Any]:
        parent = tuple(asked.query[key] for key in ("catalog_name", "schema_name")[: level - 1])
        size = int(asked.query.get("max_results") or 0)
        if size < 0:
            raise _Refused("INVALID_ARGUMENT", "maxResults must be greater than or equal to 0")
        self._require(parent)
        size = min(size or PAGE_SIZE, PAGE_SIZE)
        after = asked.query.get("page_token", "")
        names = sorted(n for n in self.objects if n[:-1] == parent and n[-1] > after)[:size]
        entries = [self.objects[name] for name in names]
        if asked.query.get("omit_columns") == "true":
            entries = [{**entry, "columns": []} for entry in entries]
        token = names[-1][-1] if len(names) == size else None
        return {f"{_KIND[level]}s": entries, "next_page_token": token}

    def _remove(self, name: Name, force: bool) -> None:
        below = [n for n in self.objects if n[: len(name)] == name and n != name]
        if below and not force:
            held = "schemas" if len(name) == 1 else "tables"
            raise _Refused("FAILED_PRECONDITION", f"Cannot delete {_KIND[len(name)]} with {held}")
        for gone in (name, *below):
            del self.objects[gone]


_LEVELS = {"catalogs": 1, "schemas": 2, "tables": 3}
_KIND = {1: "catalog", 2: "schema", 3: "table"}
_COLUMN = (
    "name", "type_text", "type_json", "type_name", "type_precision", "type_scale",
    "type_interval_type", "position", "comment", "nullable", "partition_index",
)  # fmt: skip


def _check_name(name: str) -> None:
    if not name:
        raise _Refused("INVALID_ARGUMENT", "Name cannot be empty")
    if len(name) > 255:
        raise _Refused("INVALID_ARGUMENT", "Name cannot be longer than 255 characters")
    if not NAME.fullmatch(name):
        raise _Refused(
            "INVALID_ARGUMENT",
            "Name cannot contain a period, space, forward-slash, or control characters",
        )


def _written(location: str) -> str:
    """Return a location in the server's normalized form."""
    scheme, _, rest = location.partition("://")
    if scheme not in SCHEMES:
        raise _Refused("INVALID_ARGUMENT", f"Unsupported URI scheme: {scheme}")
    if set(rest) & set(' "<>\\^`{|}'):
        raise _Refused("INVALID_ARGUMENT", f"Unsupported path: {location}")
    bucket, slash, path = rest.partition("/")
    return f"{scheme}://{bucket}{slash}{posixpath.normpath('/' + path).lstrip('/')}"


def _check_length(doing: str, body: Mapping[str, Any]) -> None:
    properties = body.get("properties") or {}
    texts = [*properties, *properties.values(), *(c["name"] for c in body.get("columns") or ())]
    if any(len(text.encode("utf-16-le")) > 2 * 255 for text in texts):
        raise _Refused(
            "INTERNAL", f"Failed to {doing}: could not execute statement [Value too long for column"
        )


def _now() -> int:
    return int(time.time() * 1000)


def _shown(name: Name, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response for an object from the body of the request that created it."""
    now = _now()
    common = {
        "name": name[-1],
        "comment": body.get("comment"),
        "properties": dict(body.get("properties") or {}),
        "owner": None,
        "created_at": now,
        "created_by": None,
        "updated_at": now,
        "updated_by": None,
    }
    managed = {"storage_root": None, "storage_location": None}
    if len(name) == 1:
        return {**common, **managed, "id": str(uuid.uuid4())}
    common["catalog_name"] = name[0]
    if len(name) == 2:
        return {**common, **managed, "full_name": ".".join(name), "schema_id": str(uuid.uuid4())}
    return {
        **common,
        "schema_name": name[1],
        "table_type": body["table_type"],
        "data_source_format": body["data_source_format"],
        "columns": [{key: each.get(key) for key in _COLUMN} for each in body.get("columns") or ()],
        "storage_location": body["storage_location"],
        "table_id": str(uuid.uuid4()),
        "view_definition": None,
        "view_dependencies": None,
    }
