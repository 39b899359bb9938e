"""Apache Polaris' generic tables: a double, and a proxy that compares it with the real server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import httpx

from . import real
from .process import ANSWER_SECONDS
from .web import Answer, Asked, FaultProxy, WebServer

__all__ = ["CATALOG", "PolarisServer", "PolarisTables"]

CATALOG = "lake"
DELEGATION = "polaris-generic-table-access-delegation"
TOKENS = "/v1/oauth/tokens"
# Characters that Java's URI class rejects in a path.
ILLEGAL = re.compile(r'[ "<>\\^`{|}\[\]]')
MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")

Levels = tuple[str, ...]


def _failure(status: int, kind: str, message: str) -> Answer:
    return Answer(status=status, body={"error": {"message": message, "type": kind, "code": status}})


class PolarisTables(WebServer):
    """A double of Polaris 1.4.1, from recordings, with one catalog ``lake``.

    Not emulated: tokens, grants, Iceberg tables, and names that would put two namespaces into one
    folder (``a/b``). The credentials in ``storage-access-configs`` come from `vends`, because
    Polaris 1.4.1 returns none for generic tables.

    Args:
        location: URI of the catalog's folder, without a trailing slash.
    """

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location
        self.namespaces: dict[Levels, dict[str, str]] = {}
        self.tables: dict[Levels, dict[str, Any]] = {}
        self.vends: Callable[[Mapping[str, Any], Asked], Sequence[Mapping[str, Any]]] = (
            lambda table, asked: ()
        )
        """Returns the credentials for a table in a request."""

    def clear(self) -> None:
        self.namespaces.clear()
        self.tables.clear()

    def respond(self, asked: Asked) -> Answer:
        if asked.path == "/v1/config":
            if asked.query.get("warehouse") != CATALOG:
                message = f"Unable to find warehouse {asked.query.get('warehouse')}"
                return _failure(404, "NotFoundException", message)
            defaults = {"default-base-location": self.location}
            return Answer(body={"defaults": defaults, "overrides": {"prefix": CATALOG}})
        parts = [unquote(part) for part in asked.path.strip("/").split("/")]
        generic = parts[0] == "polaris"
        if parts[generic : generic + 3] != ["v1", CATALOG, "namespaces"]:
            return _no_route(parts)
        levels, rest = (), parts[generic + 3 :]
        if rest:
            levels, rest = tuple(rest[0].split("\x1f")), rest[1:]
        if generic and rest[:1] == ["generic-tables"] and len(rest) <= 2:
            return self._generic(asked, levels, rest[1:])
        if not levels:
            return self._add(asked.json) if asked.method == "POST" else self._children(asked)
        if rest not in ([], ["properties"]) or generic:
            return _no_route(parts)
        if levels not in self.namespaces:
            return _no_namespace(levels)
        if rest:
            return self._change(levels, asked.json)
        if asked.method == "DELETE":
            return self._drop(levels)
        return Answer(body={"namespace": levels, "properties": self.namespaces[levels]})

    # --- namespaces

    def _children(self, asked: Asked) -> Answer:
        above = tuple(asked.query["parent"].split("\x1f")) if "parent" in asked.query else ()
        if above and above not in self.namespaces:
            return _no_namespace(above)
        found = [each for each in self.namespaces if each[:-1] == above]
        return Answer(body={"namespaces": found, "next-page-token": None})

    def _add(self, body: dict[str, Any]) -> Answer:
        levels = tuple(body["namespace"])
        if levels in self.namespaces:
            message = f"Cannot create namespace {'.'.join(levels)}. Namespace already exists"
            return _failure(409, "AlreadyExistsException", message)
        if levels[:-1] and levels[:-1] not in self.namespaces:
            return _no_namespace(levels[:-1])
        above = self.location
        if levels[:-1]:
            above = self.namespaces[levels[:-1]].get("location", self.location).rstrip("/")
        location = f"{above}/{levels[-1]}/"
        for pattern, what in (
            (ILLEGAL, "Illegal character in path"),
            (MALFORMED, "Malformed escape pair"),
        ):
            if found := pattern.search(location):
                message = f"{what} at index {found.start()}: {location}"
                return _failure(400, "IllegalArgumentException", message)
        for taken in self._child_locations(levels[:-1]):
            if _overlap(location, taken):
                message = (
                    f"Unable to create table at location '{location}' because it conflicts with "
                    f"existing table or namespace at location '{taken}'"
                )
                return _failure(403, "ForbiddenException", message)
        self.namespaces[levels] = {**body["properties"], "location": location}
        return Answer(body={"namespace": levels, "properties": self.namespaces[levels]})

    def _child_locations(self, above: Levels) -> list[str]:
        """Return the locations of the direct children of a namespace."""
        spaces = [
            each["location"] for levels, each in self.namespaces.items() if levels[:-1] == above
        ]
        tables = [each["base-location"] for name, each in self.tables.items() if name[:-1] == above]
        return [each for each in (*spaces, *tables) if each]

    def _change(self, levels: Levels, body: dict[str, Any]) -> Answer:
        held = self.namespaces[levels]
        held |= body["updates"]
        removed = [key for key in body["removals"] if key in held]
        if body["removals"] and body["updates"]:
            message = f"Concurrent modification of namespace: {'.'.join(levels)}"
            return _failure(409, "CommitConflictException", message)
        for key in removed:
            del held[key]
        missing = [key for key in body["removals"] if key not in removed]
        return Answer(body={"removed": removed, "updated": [*body["updates"]], "missing": missing})

    def _drop(self, levels: Levels) -> Answer:
        if any(each[:-1] == levels for each in (*self.namespaces, *self.tables)):
            message = f"Namespace {'.'.join(levels)} is not empty"
            return _failure(409, "NamespaceNotEmptyException", message)
        del self.namespaces[levels]
        return Answer(status=204)

    # --- generic tables

    def _generic(self, asked: Asked, levels: Levels, rest: list[str]) -> Answer:
        if not rest:
            if levels not in self.namespaces:
                return _no_namespace(levels)
            if asked.method == "POST":
                return self._create(asked, levels)
            names = [
                {"namespace": levels, "name": each[-1]}
                for each in self.tables
                if each[:-1] == levels
            ]
            return Answer(body={"next-page-token": None, "identifiers": names})
        name = (*levels, rest[0])
        if asked.method == "DELETE" and levels not in self.namespaces:
            return _no_namespace(levels)
        if name not in self.tables:
            message = f"Generic table does not exist: {'.'.join(name)}"
            return _failure(404, "NoSuchTableException", message)
        if asked.method == "DELETE":
            del self.tables[name]
            return Answer(status=204)
        return self._table(asked, name)

    def _create(self, asked: Asked, levels: Levels) -> Answer:
        body = asked.json
        if not body.get("format"):
            return Answer(status=400)
        if not body.get("name"):
            message = "Invalid table name: null or empty"
            return _failure(400, "IllegalArgumentException", message)
        name = (*levels, str(body["name"]))
        if name in self.tables:
            message = f"Generic table already exists: {'.'.join(name)}"
            return _failure(409, "AlreadyExistsException", message)
        self.tables[name] = {
            "name": name[-1],
            "format": body["format"],
            "base-location": body.get("base-location"),
            "doc": body.get("doc"),
            "properties": body.get("properties") or {},
        }
        return self._table(asked, name)

    def _table(self, asked: Asked, name: Levels) -> Answer:
        table = self.tables[name]
        asks = asked.headers.get(DELEGATION) == "vended-credentials"
        return Answer(
            body={
                "table": table,
                "storage-access-configs": self.vends(table, asked) if asks else (),
            }
        )


def _no_route(parts: list[str]) -> Answer:
    """Return the real server's response to an unknown path, inside or outside its API."""
    is_api = parts[0] in ("v1", "polaris")
    message = "Unable to find matching target resource method" if is_api else "HTTP 404 Not Found"
    return _failure(404, "NotFoundException", message)


def _no_namespace(levels: Levels) -> Answer:
    message = f"Namespace does not exist: {'.'.join(levels)}"
    return _failure(404, "NoSuchNamespaceException", message)


def _overlap(one: str, other: str) -> bool:
    one, other = f"{one.rstrip('/')}/", f"{other.rstrip('/')}/"
    return one.startswith(other) or other.startswith(one)


class PolarisServer(FaultProxy):
    """A proxy for the real server, whose catalog ``lake`` only tests use.

    It records the requests in `asked`, and also sends each of them to a double with the same
    content. `differences` lists the responses that differ.
    """

    def __init__(self) -> None:
        self._running = real.running("polaris")
        super().__init__(self._running.uri)
        self.location = f"{self._running.settings['root']}/{CATALOG}"
        self.differences: list[str] = []
        self._double = PolarisTables(self.location)

    @property
    def credentials(self) -> dict[str, str]:
        """The properties that a client needs to get tokens."""
        return {"credential": self._running.settings["credential"]}

    def respond(self, asked: Asked) -> Answer:
        answer = super().respond(asked)
        if asked.path not in (TOKENS, "/v1/config"):
            expected = self._double.respond(asked)
            if _plain(answer) != _plain(expected):
                self.differences.append(
                    f"{asked.method} {asked.path} {dict(asked.query)} {asked.content[:300]!r}:\n"
                    f"  server: {_plain(answer)}\n  double: {_plain(expected)}"
                )
        return answer

    def __exit__(self, *raised: object) -> None:
        differences = self.differences[:]
        self.clear()  # tests of Iceberg tables use the same catalog
        self.differences = differences
        super().__exit__(*raised)

    # --- without the API under test

    def clear(self) -> None:
        """Delete the contents of the catalog and of the double."""
        headers = {"Authorization": f"Bearer {self._token()}"}
        with httpx.Client(
            base_url=self._running.uri, headers=headers, timeout=ANSWER_SECONDS
        ) as client:
            _clear(client, ())
        shutil.rmtree(self.location.removeprefix("file://"), ignore_errors=True)
        self._double.clear()
        self.differences.clear()

    def _token(self) -> str:
        """Return a new token, because the one in the server's folder expires after an hour."""
        settings = self._running.settings
        client_id, _, secret = settings["credential"].partition(":")
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        answer = httpx.post(settings["token_uri"], data={**form, "scope": settings["scope"]})
        return str(answer.raise_for_status().json()["access_token"])


def _clear(client: httpx.Client, levels: Levels) -> None:
    query = {"parent": "\x1f".join(levels)} if levels else {}
    base = f"/v1/{CATALOG}/namespaces"
    for child in client.get(base, params=query).raise_for_status().json()["namespaces"]:
        _clear(client, tuple(child))
    if not levels:
        return
    path = f"{base}/{'%1F'.join(map(_encode, levels))}"
    # Names of Iceberg tables are decoded twice.
    for kind, encode in (
        (f"{path}/tables", lambda name: _encode(_encode(name))),
        (f"/polaris{path}/generic-tables", _encode),
    ):
        for table in client.get(kind).raise_for_status().json()["identifiers"]:
            client.delete(f"{kind}/{encode(table['name'])}").raise_for_status()
    client.delete(path).raise_for_status()


def _encode(name: str) -> str:
    return "".join(
        chr(each) if chr(each).isascii() and chr(each).isalnum() else f"%{each:02X}"
        for each in name.encode()
    )


def _plain(answer: Answer) -> tuple[int, Any]:
    """Return the parts of a response to compare: its status, and its body with sorted lists."""
    content = answer.content()
    body = json.loads(content) if content else None
    for key in ("namespaces", "identifiers", "removed", "updated", "missing"):
        if isinstance(body, dict) and isinstance(body.get(key), list):
            body[key] = sorted(body[key], key=json.dumps)
    return answer.status, body
