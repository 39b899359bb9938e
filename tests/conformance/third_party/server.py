"""A small third-party Lance REST server: in memory, only the standard library, with one fault."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

STATUS = {0: 406, 1: 404, 2: 409, 3: 409, 4: 404, 5: 409, 13: 400, 18: 500}
Name = tuple[str, ...]


class Problem(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Catalog:
    def __init__(self) -> None:
        self.lock = Lock()
        self.namespaces: dict[Name, dict[str, str]] = {(): {}}
        self.tables: dict[Name, dict] = {}

    def need(self, name: Name) -> None:
        if name not in self.namespaces:
            raise Problem(1, f"namespace {name} is missing")

    def table(self, name: Name) -> dict:
        if not name:
            raise Problem(13, "a table needs a name")
        if name not in self.tables:
            raise Problem(4, f"table {name} is missing")
        return self.tables[name]

    def create_namespace(self, name: Name, body: dict) -> dict:
        mode = str(body.get("mode") or "create").replace("_", "").lower()
        if mode not in ("create", "existok", "overwrite"):
            raise Problem(13, f"mode {mode} is unknown")
        if not name:
            raise Problem(13, "the root cannot be created")
        self.need(name[:-1])
        if (name in self.namespaces and mode == "create") or name in self.tables:
            raise Problem(2, f"{name} exists")
        if name not in self.namespaces or mode == "overwrite":
            if any(n[:-1] == name for n in (*self.tables, *self.namespaces) if n):
                raise Problem(3, f"{name} is not empty")
            self.namespaces[name] = dict(body.get("properties") or {})
        return {"properties": self.namespaces[name]}

    def describe_namespace(self, name: Name, body: dict) -> dict:
        self.need(name)
        return {"properties": self.namespaces[name]}

    def drop_namespace(self, name: Name, body: dict) -> dict:
        mode = str(body.get("mode") or "fail").lower()
        behavior = str(body.get("behavior") or "restrict").lower()
        if mode not in ("fail", "skip") or behavior not in ("restrict", "cascade"):
            raise Problem(13, "mode or behavior is unknown")
        if name not in self.namespaces:
            if mode == "skip":
                return {}
            raise Problem(1, f"namespace {name} is missing")
        inside = [n for held in (self.namespaces, self.tables) for n in held if n[:-1] == name]
        if behavior == "cascade":
            raise Problem(0, "cascade is not supported")
        if inside:
            raise Problem(3, f"namespace {name} is not empty")
        return {"properties": self.namespaces.pop(name)}

    def declare_table(self, name: Name, body: dict) -> dict:
        if not name:
            raise Problem(13, "a table needs a name")
        self.need(name[:-1])
        if name in self.namespaces:
            raise Problem(5, f"{name} exists")
        # The fault: a table that already exists is declared again.
        place = "/lake/" + "/".join(name)
        self.tables[name] = {"location": place, "properties": dict(body.get("properties") or {})}
        return self.tables[name]

    def describe_table(self, name: Name, body: dict) -> dict:
        held = self.table(name)
        answer = {"table": name[-1], "namespace": list(name[:-1]), **held}
        if body.get("with_table_uri"):
            answer["table_uri"] = f"file://{held['location']}"
        return answer | ({"is_only_declared": True} if body.get("check_declared") else {})

    def table_exists(self, name: Name, body: dict) -> None:
        self.table(name)

    def namespace_exists(self, name: Name, body: dict) -> None:
        self.need(name)

    def drop_table(self, name: Name, body: dict) -> dict:
        held = self.table(name)
        del self.tables[name]
        return {"id": list(name), **held}

    def listing(self, held: dict, name: Name, query: dict, key: str) -> dict:
        self.need(name)
        names = sorted(n[-1] for n in held if n and n[:-1] == name)
        names = [n for n in names if n > query.get("page_token", "")]
        limit = int(query.get("limit", len(names) + 1))
        if limit < 1:
            raise Problem(13, "limit is below 1")
        page = names[:limit]
        return {key: page} | ({"page_token": page[-1]} if len(page) < len(names) else {})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    catalog = Catalog()

    def answer(self, status: int, value: dict | None) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_call(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        try:
            if len(parts) < 4 or parts[0] != "v1" or parts[1] not in ("namespace", "table"):
                raise LookupError
            text, delimiter = unquote(parts[2]), query.get("delimiter", "$")
            name = () if text == delimiter else tuple(text.split(delimiter))
            what = "_".join(parts[3:])
            catalog = self.catalog
            listed = what in ("list", "table_list")
            if self.command != ("GET" if listed else "POST"):
                return self.answer(405, {})
            with catalog.lock:
                if listed:
                    held = catalog.tables if what == "table_list" else catalog.namespaces
                    if query.get("include_declared", "true") not in ("true", "false"):
                        raise Problem(13, "include_declared is true or false")
                    key = "tables" if what == "table_list" else "namespaces"
                    return self.answer(200, catalog.listing(held, name, query, key))
                kind = parts[1]
                method = f"{kind}_exists" if what == "exists" else f"{what}_{kind}"
                if not hasattr(catalog, method):
                    raise LookupError
                body = json.loads(raw or b"{}") or {}
                if not isinstance(body, dict) or (body.get("id") or list(name)) != list(name):
                    raise Problem(13, "the body does not fit the route")
                if not isinstance(body.get("properties") or {}, dict):
                    raise Problem(13, "properties are no map")
                return self.answer(200, getattr(catalog, method)(name, body))
        except LookupError:
            return self.answer(404, {})
        except ValueError as error:
            return self.answer(400, {"code": 13, "error": str(error)})
        except Problem as error:
            return self.answer(STATUS[error.code], {"code": error.code, "error": str(error)})

    do_GET = do_POST = handle_call

    def log_message(self, *arguments: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
