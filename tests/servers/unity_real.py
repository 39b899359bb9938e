"""Unity Catalog's open-source server, with a double whose responses must match."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from . import real
from .process import ANSWER_SECONDS
from .unity import API, Name, UnityDouble
from .web import Answer, Asked, FaultProxy

__all__ = ["UnityServer"]

CATALOGS = ("main", "other")
# Start of a database error; the server appends the SQL statement.
DATABASE = "could not execute statement [Value too long for column"
# Fields with values that each server chooses.
CHOSEN = {"id", "schema_id", "table_id", "created_at", "updated_at"}


class UnityServer(FaultProxy):
    """A proxy for the real server, whose catalogs ``main`` and ``other`` only tests use.

    It records the requests in `asked`, and also sends each of them to a double with the same
    content. `differences` lists the responses that differ.
    """

    def __init__(self) -> None:
        running = real.running("unity")
        super().__init__(running.uri)
        self.differences: list[str] = []
        self._double = UnityDouble()
        self._bare = httpx.Client(base_url=f"{running.uri}{API}", timeout=ANSWER_SECONDS)
        self._managed = tempfile.TemporaryDirectory(prefix="unity-managed-")

    def respond(self, asked: Asked) -> Answer:
        answer = super().respond(asked)
        expected = self._double.respond(asked)
        if _plain(answer) != _plain(expected):
            self.differences.append(
                f"{asked.method} {asked.path} {dict(asked.query)} {asked.content[:300]!r}:\n"
                f"  server: {_plain(answer)}\n  double: {_plain(expected)}"
            )
        return answer

    # --- without the API under test

    def add_catalog(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        """Add a catalog with a storage root for managed tables."""
        root = Path(self._managed.name).as_uri()
        self._add("catalogs", (name,), name=name, properties=properties or {}, storage_root=root)

    def add_schema(self, name: Name, properties: Mapping[str, str] | None = None) -> None:
        above = {"catalog_name": name[0]}
        self._add("schemas", name, name=name[1], **above, properties=properties or {})

    def add_table(
        self,
        name: Name,
        table_type: str = "EXTERNAL",
        properties: Mapping[str, str] | None = None,
        storage_location: str | None = None,
    ) -> None:
        names = dict(zip(("catalog_name", "schema_name", "name"), name, strict=True))
        has = dict(properties or {})
        kind = "TEXT"
        if table_type == "MANAGED":
            staged = self._post("staging-tables", names)
            storage_location, kind = staged["staging_location"], "DELTA"
            has |= {
                "io.unitycatalog.tableId": staged["id"],
                "delta.feature.catalogManaged": "supported",
            }
        location = storage_location or f"file:///nowhere/{'/'.join(name)}"
        view = {"view_definition": "SELECT 1"} if table_type == "VIEW" else {}
        self._add(
            "tables", name, **names, table_type=table_type, data_source_format=kind, columns=[],
            storage_location=location, properties=has, **view,
        )  # fmt: skip

    def held(self) -> dict[Name, dict[str, Any]]:
        """Return all objects in the catalogs."""
        found: dict[Name, dict[str, Any]] = {}
        for name in CATALOGS:
            answer = self._bare.get(f"/catalogs/{name}")
            if answer.status_code == 404:
                continue
            found[(name,)] = answer.raise_for_status().json()
            for schema in self._pages("schemas", catalog_name=name):
                found[(name, schema["name"])] = schema
                within = {"catalog_name": name, "schema_name": schema["name"]}
                for table in self._pages("tables", **within):
                    found[(name, schema["name"], table["name"])] = table
        return found

    def clear(self) -> None:
        for name in CATALOGS:
            answer = self._bare.delete(f"/catalogs/{name}", params={"force": "true"})
            if answer.status_code != 404:
                answer.raise_for_status()
        self._double.clear()
        self.differences.clear()

    def _pages(self, kind: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            page = self._bare.get(f"/{kind}", params={**query, "page_token": token})
            body = page.raise_for_status().json()
            found += body[kind]
            token = body["next_page_token"]
            if not token:
                return found

    def _post(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._bare.post(f"/{kind}", json=body)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def _add(self, kind: str, made: Name, **body: Any) -> None:
        self._double.objects[made] = self._post(kind, body)

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._bare.close()
        self._managed.cleanup()


def _plain(answer: Answer) -> tuple[int, str, Any]:
    """Return the parts of a response that do not depend on the server."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    content = answer.content()
    try:
        body = _without_chosen(json.loads(content))
    except ValueError:
        body = content
    return answer.status, headers.get("content-type", "application/json"), body


def _without_chosen(body: Any) -> Any:
    if isinstance(body, list):
        return [_without_chosen(each) for each in body]
    if not isinstance(body, dict):
        return body
    if body.get("error_code") == "INTERNAL" and DATABASE in str(body.get("message")):
        # The original message also contains the SQL statement and its line.
        body = {**body, "message": DATABASE}
    return {
        key: type(value).__name__ if key in CHOSEN else _without_chosen(value)
        for key, value in body.items()
    }
