"""Unity Catalog servers for tests.

`UnityServer` is a server written by others, built from its crate by cargo where it is not installed.
It takes names of every kind, which it tells apart without regard to the case of ASCII letters, and
lists 50 tables a page. It does not see to it that a parent is there or that a schema is empty, and
takes no notice of ``force``; a storage location must be in an external location, and in no other
table's.

`UnityDouble` stands in for the open-source Unity Catalog server, whose artifact
``io.unitycatalog:unitycatalog-server`` cannot be had from Maven Central everywhere. It has what
that server does with catalogs, schemas and external tables: which names it takes, how it splits
full names, its error codes and their HTTP statuses, its pages of at most 100 and their tokens, its
update of schema properties. It does not copy: authentication, permissions, volumes, functions,
models, managed tables, credential vending, comments and owners, and checks of columns.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
from attrs import define

from .maven import cache_folder
from .process import ServerProcess
from .web import Answer, Asked, WebServer

__all__ = ["API", "UnityDouble", "UnityServer"]

API = "/api/2.1/unity-catalog"
CRATE, VERSION = "olai-uc-server", "0.0.11"
BINARY = "uc-server"
BUILD_SECONDS = 1800
PAGE_SIZE = 100
NAME = re.compile(r"[a-zA-Z0-9_@-]{1,255}")

STATUSES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "CATALOG_ALREADY_EXISTS": 400,
    "SCHEMA_ALREADY_EXISTS": 400,
    "TABLE_ALREADY_EXISTS": 400,
    "NOT_FOUND": 404,
}

Name = tuple[str, ...]


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnityDouble(WebServer):
    """A double of the open-source server, in this process and in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[Name, dict[str, Any]] = {}
        """Catalogs, schemas and tables by their one, two or three names."""
        self._lock = threading.Lock()

    def respond(self, asked: Asked) -> Answer:
        """Answer one request."""
        parts = [unquote(part) for part in asked.path.removeprefix(API).strip("/").split("/")]
        if not asked.path.startswith(API) or parts[0] not in _LEVELS or len(parts) > 2:
            return Answer(status=404, body=b"Status: 404", headers={"Content-Type": "text/plain"})
        try:
            with self._lock:
                return Answer(body=self._serve(asked, _LEVELS[parts[0]], parts[1:]))
        except _Refused as refused:
            return Answer(
                status=STATUSES[refused.code],
                body={
                    "error_code": refused.code,
                    "message": str(refused),
                    "details": [{"@type": "google.rpc.ErrorInfo", "reason": refused.code}],
                },
            )

    def add_table(self, name: Name, table_type: str = "EXTERNAL", **more: Any) -> None:
        """Put a table in as other tools do."""
        self.objects[name] = {"table_type": table_type, "properties": {}, **more}

    def clear(self) -> None:
        """Empty it."""
        self.objects.clear()

    def _serve(self, asked: Asked, level: int, rest: list[str]) -> dict[str, Any]:
        if not rest:
            return self._list(asked, level) if asked.method == "GET" else self._add(asked, level)
        name = tuple(rest[0].split("."))
        # The server looks no further than the names that it expects of a schema.
        name = name[:2] if level == 2 and asked.method != "DELETE" else name
        if len(name) != level:
            raise _Refused("INVALID_ARGUMENT", f"Invalid {_KIND[level]} name: {rest[0]}")
        self._require(name)
        if asked.method == "DELETE":
            return self._remove(name, asked.query.get("force") == "true")
        if asked.method == "PATCH" and asked.json.get("properties"):
            self.objects[name]["properties"] = dict(asked.json["properties"])
        return self._shown(name)

    def _require(self, name: Name) -> None:
        for level in range(1, len(name) + 1):
            if name[:level] not in self.objects:
                kind = _KIND[level].capitalize()
                raise _Refused("NOT_FOUND", f"{kind} not found: {'.'.join(name[:level])}")

    def _add(self, asked: Asked, level: int) -> dict[str, Any]:
        body = asked.json
        above = [body["catalog_name"], body.get("schema_name")][: level - 1] if level > 1 else []
        name = (*above, body["name"])
        if not NAME.fullmatch(body["name"]):
            raise _Refused(
                "INVALID_ARGUMENT",
                "Name cannot contain a period, space, forward-slash, or control characters",
            )
        self._require(name[:-1])
        if name in self.objects:
            kind = _KIND[level]
            raise _Refused(
                f"{kind.upper()}_ALREADY_EXISTS", f"{kind.capitalize()} already exists: {name[-1]}"
            )
        if level == 3 and not body.get("storage_location"):
            raise _Refused("INVALID_ARGUMENT", "Storage location is required for external table")
        self.objects[name] = {**body, "id": str(uuid.uuid4())}
        return self._shown(name)

    def _shown(self, name: Name) -> dict[str, Any]:
        held = self.objects[name]
        above = dict(zip(("catalog_name", "schema_name"), name[:-1], strict=False))
        return {
            "owner": None,
            "comment": None,
            "created_at": 1,
            **held,
            **above,
            "name": name[-1],
            "full_name": ".".join(name),
            "properties": held.get("properties") or {},
        }

    def _list(self, asked: Asked, level: int) -> dict[str, Any]:
        parent = tuple(asked.query[key] for key in ("catalog_name", "schema_name")[: level - 1])
        self._require(parent)
        size = int(asked.query.get("max_results") or 0)
        if size < 0:
            raise _Refused("INVALID_ARGUMENT", "maxResults must be greater than or equal to 0")
        size = min(size or PAGE_SIZE, PAGE_SIZE)
        after = asked.query.get("page_token", "")
        names = sorted(n for n in self.objects if n[:-1] == parent and n[-1] > after)[:size]
        entries = [self._shown(name) for name in names]
        if asked.query.get("omit_columns") == "true":
            entries = [{**entry, "columns": None} for entry in entries]
        token = names[-1][-1] if len(names) == size else None
        return {f"{_KIND[level]}s": entries, "next_page_token": token}

    def _remove(self, name: Name, force: bool) -> dict[str, Any]:
        below = [n for n in self.objects if n[: len(name)] == name and n != name]
        if below and not force:
            raise _Refused("FAILED_PRECONDITION", f"Cannot delete {_KIND[len(name)]} with tables")
        for gone in (name, *below):
            del self.objects[gone]
        return {}


_LEVELS = {"catalogs": 1, "schemas": 2, "tables": 3}
_KIND = {1: "catalog", 2: "schema", 3: "table"}


@define(kw_only=True)
class UnityServer(ServerProcess):
    """A real server, in memory, with the catalog ``main`` and storage in a folder."""

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def root(self) -> Path:
        """The folder in which tables can be."""
        return self.folder / "lake"

    def asked(self) -> str:
        """Give an address that it answers with success once it runs."""
        return f"{self.uri}/health"

    def command(self) -> Sequence[str]:
        """Give the command that runs it."""
        config = self.folder / "config.json"
        config.write_text(json.dumps({"local_storage": {"allowed-roots": [str(self.root)]}}))
        binary = _installed() or _build()
        where = ("--host", "127.0.0.1", "--port", str(self.port))
        return [str(binary), "serve", "--config", str(config), *where, "--no-ui"]

    def start(self) -> None:
        """Start, and make the catalog."""
        self.root.mkdir(exist_ok=True)
        super().start()
        role = {"role_arn": "arn:aws:iam::123456789012:role/tests"}
        root = self.root.as_uri()
        self.post("credentials", name="tests", purpose="STORAGE", aws_iam_role=role)
        self.post("external-locations", name="lake", url=root, credential_name="tests")
        managed = f"{root}/managed"
        self.post("catalogs", name="main", properties={"kind": "demo"}, storage_root=managed)

    def post(self, kind: str, **body: Any) -> None:
        """Make an object, past the code under test."""
        httpx.post(f"{self.uri}{API}/{kind}", json=body).raise_for_status()

    def clear(self) -> None:
        """Empty the catalog."""
        with httpx.Client(base_url=f"{self.uri}{API}") as client:
            for listed, kind in (("table-summaries", "tables"), ("schemas", "schemas")):
                while True:
                    found = client.get(f"/{listed}", params={"catalog_name": "main"}).json()
                    if not found.get(kind):
                        break
                    for each in found[kind]:
                        name = quote(each["full_name"], safe="")
                        client.delete(f"/{kind}/{name}").raise_for_status()


def _built() -> Path:
    return cache_folder() / "crates" / f"{CRATE}-{VERSION}"


def _installed() -> Path | None:
    found = shutil.which(BINARY) or shutil.which(BINARY, path=str(_built() / "bin"))
    return Path(found) if found else None


def _build() -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise RuntimeError(f"there is no {BINARY}, and no cargo to build it: install either")
    subprocess.run(
        [
            *(cargo, "install", CRATE, "--version", VERSION, "--locked", "--features", "bin"),
            *("--debug", "--root", str(_built())),
        ],
        check=True,
        timeout=BUILD_SECONDS,
    )
    return _built() / "bin" / BINARY
