"""A double of Apache Polaris, from recordings: its differences to the Iceberg project's server.

It has only what tests need: one warehouse ``lake`` with tables in one namespace ``db``. If a
request sets and removes properties, it sets them and then fails. A table name in a path is decoded
twice. Not emulated: authorization, paging and checks of locations.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, unquote_plus

from .web import Answer, Asked, WebServer

__all__ = ["PolarisDouble"]

BASE = "/v1/lake/namespaces"


def _failure(status: int, kind: str, message: str) -> Answer:
    return Answer(status=status, body={"error": {"message": message, "type": kind, "code": status}})


class PolarisDouble(WebServer):
    """A double of Polaris 1.4.1; `location` is the location of the namespace ``db``."""

    def __init__(self, location: str | None = None) -> None:
        super().__init__()
        self.properties = {} if location is None else {"location": location}
        self.tables: dict[str, dict[str, Any]] = {}
        self.failing_removals: list[Answer] = []
        """Responses to the next requests that only remove properties."""

    def respond(self, asked: Asked) -> Answer:
        if asked.path == "/v1/config":
            return Answer(body={"defaults": {}, "overrides": {"prefix": "lake"}})
        if asked.path == f"{BASE}/db/properties":
            return self._change(asked.json)
        if asked.path == f"{BASE}/db/tables":
            return self._add(asked.json) if asked.method == "POST" else self._list()
        if asked.path.startswith(f"{BASE}/db/tables/"):
            return self.load_table(asked)
        if asked.path == f"{BASE}/db":
            return Answer(body={"namespace": ["db"], "properties": self.properties})
        name = unquote(asked.path.removeprefix(f"{BASE}/")).replace("\x1f", ".")
        return _failure(404, "NoSuchNamespaceException", f"Namespace does not exist: {name}")

    def _change(self, body: dict[str, Any]) -> Answer:
        if body["removals"] and not body["updates"] and self.failing_removals:
            return self.failing_removals.pop(0)
        self.properties |= body["updates"]
        if body["removals"] and body["updates"]:
            message = "Concurrent modification of namespace: db"
            return _failure(409, "CommitConflictException", message)
        for key in body["removals"]:
            self.properties.pop(key, None)
        return Answer(body={"removed": body["removals"], "updated": [*body["updates"]]})

    def _list(self) -> Answer:
        found = [{"namespace": ["db"], "name": name} for name in self.tables]
        return Answer(body={"identifiers": found})

    def _add(self, body: dict[str, Any]) -> Answer:
        metadata = {"location": body["location"], "properties": body["properties"]}
        self.tables[body["name"]] = metadata
        return Answer(body={"metadata": metadata})

    def load_table(self, asked: Asked) -> Answer:
        once = unquote(asked.path.removeprefix(f"{BASE}/db/tables/"))
        if "%zz" in once:
            return _failure(400, "IllegalArgumentException", "URLDecoder: Illegal hex characters")
        name = unquote_plus(once)
        if name not in self.tables:
            return _failure(404, "NoSuchTableException", f"Table does not exist: db.{name}")
        if asked.method == "DELETE":
            del self.tables[name]
            return Answer(status=204)
        return Answer(body={"metadata": self.tables[name]})
