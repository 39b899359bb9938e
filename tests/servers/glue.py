"""A test double of AWS Glue: moto's server, with features that moto lacks.

Added to moto: catalogs and their operations, the scope of ``CatalogId``, pages and their tokens,
version checks in UpdateTable, folding of names to lower case, user-defined functions, responses to
denied calls in Glue's format, and role credentials that expire. Every request and every
response is validated against botocore's service model; violations are recorded in `problems`.

Not emulated:

- Lake Formation, resource policies and sharing between accounts: any account can read any other.
- Federated catalogs (Redshift, S3 Tables), resource links and views.
- IAM resources: moto checks the action of a policy only against the resource ``*``.
- Eventual consistency, quotas, real throttling, and the latency of AWS.
- Signatures and keys are checked only while moto's authorization is on.
- The order of entries in pages: AWS guarantees none, so this double uses an arbitrary one.
- DeleteDatabase and DeleteCatalog delete the contents immediately; AWS deletes them later.
- The wording of messages.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from moto.core.responses import ActionResult, EmptyResult
from moto.glue.exceptions import AlreadyExistsException, EntityNotFoundException
from moto.glue.models import GlueBackend, glue_backends
from moto.glue.responses import GlueResponse
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.sts.responses import TokenResponse

from . import quick_moto as quick_moto
from .glue_answers import Call, answer, error_of, invalid, signer_of

__all__ = ["ACCOUNT", "REGION", "Call", "Fault", "GlueServer"]

ACCOUNT = "123456789012"
REGION = "us-east-1"
LARGEST_PAGE = 100


@dataclass
class Fault:
    """An error that is returned instead of the real response."""

    code: str
    message: str = "made to fail"
    status: int = 400
    headers: dict[str, str] = field(default_factory=dict)
    times: int | None = None
    after_effect: bool = False
    """Whether the operation takes effect before the error is returned."""
    when: Callable[[dict[str, Any]], bool] = lambda parameters: True

    def applies(self, parameters: dict[str, Any]) -> bool:
        if self.times == 0 or not self.when(parameters):
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class _Catalog:
    """A catalog inside an account's default catalog."""

    id: str
    name: str
    input: dict[str, Any]
    backend: GlueBackend
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def as_dict(self) -> dict[str, Any]:
        account, _, path = self.id.partition(":")
        shown = copy.deepcopy(self.input)
        access = shown.get("CatalogProperties", {}).get("DataLakeAccessProperties")
        if access is not None:
            access["ManagedWorkgroupStatus"] = "AVAILABLE"  # returned, but not accepted
        return {
            **shown,
            "CatalogId": self.id,
            "Name": self.name,
            "ResourceArn": f"arn:aws:glue:{self.backend.region_name}:{account}:catalog/{path}",
            "CreateTime": self.created.timestamp(),
        }


class GlueServer:
    """A Glue service on a free loopback port, in this process; only one can run at a time.

    Like moto, it also serves IAM and STS at the same address.
    """

    running: ClassVar[GlueServer | None] = None

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.problems: list[str] = []
        self.assumed: list[dict[str, Any]] = []
        self.empty_first_page = False
        self._faults: dict[str, list[Fault]] = {}
        self._hooks: dict[str, list[Callable[[dict[str, Any]], None]]] = {}
        self.catalogs: dict[tuple[str, str], _Catalog] = {}
        self._lock = threading.RLock()
        self._server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)

    def start(self) -> GlueServer:
        assert GlueServer.running is None, (
            "moto keeps its state in the process: one server at a time"
        )
        GlueServer.running = self
        self._undo = _extend_moto()
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        return self

    def stop(self) -> None:
        self._server.stop()
        self._undo()
        GlueServer.running = None

    def reset(self) -> None:
        """Delete all objects, recorded calls and faults."""
        for account in list(glue_backends):
            for region in list(glue_backends[account]):
                glue_backends[account][region].reset()
        self.catalogs.clear()
        self.calls.clear()
        self.problems.clear()
        self.assumed.clear()
        self.heal()

    # --- methods for tests

    def count(self, operation: str) -> int:
        return sum(call.operation == operation for call in self.calls)

    def fail(self, operation: str, code: str, **more: Any) -> None:
        """Return an error for an operation, or for all operations if it is ``*``; see `Fault`."""
        self._faults.setdefault(operation, []).append(Fault(code, **more))

    def heal(self) -> None:
        """Remove all faults and hooks."""
        self._faults.clear()
        self._hooks.clear()
        self.empty_first_page = False

    def before(self, operation: str, action: Callable[[dict[str, Any]], None]) -> None:
        """Run a function once, immediately before the next call of an operation takes effect."""
        self._hooks.setdefault(operation, []).append(action)

    def backend(self, catalog_id: str | None = None, region: str = REGION) -> GlueBackend:
        """Return moto's backend of a catalog, to read or change it without a request."""
        return self._backend(ACCOUNT, region, catalog_id)

    def add_catalog(
        self, path: str, parameters: Mapping[str, str] | None = None, account: str = ACCOUNT
    ) -> str:
        """Create a catalog at any depth, which CreateCatalog cannot do, and return its id."""
        parent, _, _ = path.rpartition("/")
        assert not parent or (account, parent) in self.catalogs, f"{parent} is missing"
        return self._make_catalog(account, REGION, path, {"Parameters": dict(parameters or {})}).id

    def add_tables(self, database: str, tables: Mapping[str, dict[str, Any]], **where: Any) -> None:
        store = self.backend(**where)
        for name, table in tables.items():
            store.create_table(database, name, {"Name": name, **copy.deepcopy(table)})

    # --- implementation

    def _make_catalog(
        self, account: str, region: str, path: str, given: Mapping[str, Any]
    ) -> _Catalog:
        if (account, path) in self.catalogs:
            raise AlreadyExistsException("Catalog")
        catalog = _Catalog(
            f"{account}:{path}",
            path.rpartition("/")[2],
            copy.deepcopy(dict(given)),
            GlueBackend(region, account),
        )
        self.catalogs[(account, path)] = catalog
        return catalog

    def _place(self, account: str, catalog_id: str | None) -> tuple[str, str]:
        """Return the account and the path of a catalog id.

        The id is an account, ``account:path``, or a path in the caller's account.
        """
        if not catalog_id:
            return account, ""
        if ":" in catalog_id:
            owner, _, path = catalog_id.partition(":")
            return owner, path
        return (catalog_id, "") if re.fullmatch(r"\d{12}", catalog_id) else (account, catalog_id)

    def _catalog(self, account: str, catalog_id: str) -> _Catalog:
        found = self.catalogs.get(self._place(account, catalog_id))
        if found is None:
            raise EntityNotFoundException(f"Catalog {catalog_id} not found.")
        return found

    def _backend(self, account: str, region: str, catalog_id: str | None) -> GlueBackend:
        owner, path = self._place(account, catalog_id)
        if not path:
            return glue_backends[owner][region]
        return self._catalog(account, f"{owner}:{path}").backend

    def _children(self, account: str, path: str) -> list[_Catalog]:
        return [
            catalog
            for (owner, below), catalog in self.catalogs.items()
            if owner == account and below.rpartition("/")[0] == path
        ]


def _extend_moto() -> Callable[[], None]:
    """Add the missing methods to moto's classes, and return a function that removes them."""
    saved: list[tuple[type, str, Any]] = []

    def put(cls: type, name: str, value: Any) -> None:
        saved.append((cls, name, cls.__dict__.get(name)))
        setattr(cls, name, value)

    for name, value in vars(_Additions).items():
        if not name.startswith("__"):
            put(GlueResponse, name, value)
    assume_role = TokenResponse.assume_role

    def assume(self: TokenResponse) -> ActionResult:
        server = GlueServer.running
        if server is not None:
            names = ("RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds")
            given = {name: self._get_param(name) for name in names}
            server.assumed.append({**given, "region": self.region, "access_key": signer_of(self)})
        return assume_role(self)

    put(TokenResponse, "assume_role", assume)

    def undo() -> None:
        for cls, name, value in reversed(saved):
            if value is None:
                delattr(cls, name)
            else:
                setattr(cls, name, value)

    return undo


def _server() -> GlueServer:
    assert GlueServer.running is not None
    return GlueServer.running


class _Additions:
    """Methods to add to moto's GlueResponse, which is the class of `self`."""

    _original_call_action = GlueResponse.call_action

    def call_action(self: Any) -> Any:
        server = _server()
        with server._lock:
            return answer(server, self, lambda: self._original_call_action())

    @property
    def glue_backend(self: Any) -> GlueBackend:
        return _server()._backend(
            self.current_account, self.region, self.parameters.get("CatalogId")
        )

    @property
    def parameters(self: Any) -> dict[str, Any]:
        return _folded(json.loads(self.body))

    # Catalogs

    def get_catalog(self: Any) -> ActionResult:
        catalog_id = self.parameters["CatalogId"]
        owner, path = _server()._place(self.current_account, catalog_id)
        if not path:
            return ActionResult({"Catalog": _default_catalog(owner, self.region)})
        return ActionResult({"Catalog": _server()._catalog(owner, f"{owner}:{path}").as_dict()})

    def get_catalogs(self: Any) -> ActionResult:
        given = self.parameters
        parent = given.get("ParentCatalogId")
        if parent is not None and "IncludeRoot" in given:
            raise invalid("IncludeRoot is not allowed beside ParentCatalogId")
        server = _server()
        owner, path = server._place(self.current_account, parent)
        if path:
            server._catalog(owner, f"{owner}:{path}")
        found = [catalog.as_dict() for catalog in server._children(owner, path)]
        if given.get("Recursive"):
            found = [
                catalog.as_dict()
                for (account, below), catalog in server.catalogs.items()
                if account == owner and (not path or below.startswith(f"{path}/"))
            ]
        if given.get("IncludeRoot"):
            found.append(_default_catalog(owner, self.region))
        return ActionResult(_page("CatalogList", found, given, largest=1000))

    def create_catalog(self: Any) -> EmptyResult:
        given = self.parameters
        _server()._make_catalog(
            self.current_account, self.region, given["Name"], given["CatalogInput"]
        )
        return EmptyResult()

    def update_catalog(self: Any) -> EmptyResult:
        given = self.parameters
        _server()._catalog(self.current_account, given["CatalogId"]).input = given["CatalogInput"]
        return EmptyResult()

    def delete_catalog(self: Any) -> EmptyResult:
        server = _server()
        catalog = server._catalog(self.current_account, self.parameters["CatalogId"])
        owner, _, path = catalog.id.partition(":")
        for account, below in list(server.catalogs):
            if account == owner and (below == path or below.startswith(f"{path}/")):
                del server.catalogs[(account, below)]
        return EmptyResult()

    # Pages and versions

    def get_databases(self: Any) -> ActionResult:
        found = [database.as_dict() for database in self.glue_backend.get_databases()]
        return ActionResult(_page("DatabaseList", found, self.parameters))

    def get_tables(self: Any) -> ActionResult:
        given = self.parameters
        tables = self.glue_backend.get_tables(given["DatabaseName"], given.get("Expression"))
        return ActionResult(_page("TableList", [t.as_dict() for t in tables], given))

    def update_table(self: Any) -> ActionResult:
        given = self.parameters
        name = given["TableInput"]["Name"]
        current = self.glue_backend.get_table(given["DatabaseName"], name)
        expected = given.get("VersionId")
        if expected is not None and expected != str(current._current_version):
            raise error_of(
                "ConcurrentModificationException",
                "Update table failed due to concurrent modifications.",
            )
        self.glue_backend.update_table(given["DatabaseName"], name, given["TableInput"])
        return EmptyResult()

    # User-defined functions

    def create_user_defined_function(self: Any) -> EmptyResult:
        given = self.parameters
        database = self.glue_backend.get_database(given["DatabaseName"])
        _functions(database)[given["FunctionInput"]["FunctionName"]] = given["FunctionInput"]
        return EmptyResult()

    def get_user_defined_functions(self: Any) -> ActionResult:
        given = self.parameters
        database = self.glue_backend.get_database(given["DatabaseName"])
        found = [{**f, "Name": name} for name, f in _functions(database).items()]
        answer = _page("UserDefinedFunctions", found, given)
        for function in answer["UserDefinedFunctions"]:
            del function["Name"]
        return ActionResult(answer)


def _functions(database: Any) -> dict[str, dict[str, Any]]:
    return database.__dict__.setdefault("functions", {})


def _default_catalog(account: str, region: str) -> dict[str, Any]:
    return {
        "CatalogId": account,
        "Name": account,
        "ResourceArn": f"arn:aws:glue:{region}:{account}:catalog",
        "Parameters": {},
    }


def _folded(given: dict[str, Any]) -> dict[str, Any]:
    """Fold the names of databases, tables and catalogs to lower case, like the service."""
    given = copy.deepcopy(given)
    for place in (given, given.get("TableInput"), given.get("DatabaseInput")):
        for key in ("Name", "DatabaseName", "TableName"):
            if place and isinstance(place.get(key), str):
                place[key] = place[key].lower()
    return given


def _page(
    key: str, found: list[dict[str, Any]], given: dict[str, Any], largest: int = LARGEST_PAGE
) -> dict[str, Any]:
    """Return one page of entries, in a fixed order that is not alphabetical."""
    ordered = sorted(found, key=_order)
    token = given.get("NextToken")
    if token:
        last = base64.b64decode(token).decode()
        ordered = [entry for entry in ordered if _order(entry) > last]
    elif _server().empty_first_page:
        return {key: [], "NextToken": base64.b64encode(b" ").decode()}
    page = ordered[: min(given.get("MaxResults", largest), largest)]
    answer: dict[str, Any] = {key: page}
    if len(page) < len(ordered):
        answer["NextToken"] = base64.b64encode(_order(page[-1]).encode()).decode()
    return answer


def _order(entry: Mapping[str, Any]) -> str:
    return hashlib.sha1(entry["Name"].encode(), usedforsecurity=False).hexdigest() + entry["Name"]


@contextlib.contextmanager
def glue_server() -> Iterator[GlueServer]:
    """Yield this process's running server without faults, or a new one that stops at the end."""
    if GlueServer.running is not None:
        GlueServer.running.heal()
        yield GlueServer.running
        return
    server = GlueServer().start()
    try:
        yield server
    finally:
        server.stop()
