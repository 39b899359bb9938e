"""Glue subjects for the behavior suite."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from attrs import evolve
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_client.operations import OPERATIONS, Operation
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.catalog import CatalogNamespace
from lance_namespace_impls.core.identifiers import DEFAULT_DELIMITER
from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.glue import GlueNamespace
from lance_namespace_impls.glue.places import child_catalog_id

from ..behaviour.subject import NAMES, Identifier, Subject
from ..servers.glue import REGION, GlueServer
from .conftest import KEYS

__all__ = ["SUBJECTS", "aws"]

LOWER = NAMES.filter(lambda name: name == name.lower())
CATALOG_NAMES = LOWER.filter(lambda name: child_catalog_id(None, name) is not None)
REFUSED = st.sampled_from(("Upper", "MiXed case", "ÜNÏ"))
LANCE = {"TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "lance"}}
OTHER = {"TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "iceberg"}}

_BY_METHOD = {row.method_name: row for row in OPERATIONS.values()}


class Below:
    """Presents one namespace of Glue as the root."""

    def __init__(
        self, namespace: GlueNamespace, prefix: Identifier, capabilities: Capabilities
    ) -> None:
        self._namespace = namespace
        self._prefix = list(prefix)
        self.capabilities = capabilities

    def close(self) -> None:
        self._namespace.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        row = _BY_METHOD[name]
        method = getattr(self._namespace, name)
        return lambda request, *rows: self._call(row, method, request, *rows)

    def _call(
        self, row: Operation[Any, Any], method: Callable[..., Any], request: Any, *rows: Any
    ) -> Any:
        if isinstance(request, Mapping) and request.get("id") == "":
            request = {key: value for key, value in request.items() if key != "id"}
        moved = copy.copy(row.request_type.coerce(request))
        CatalogNamespace.check_identifier(self, row.name, moved)  # type: ignore[arg-type]
        if row.name in self.capabilities.unsupported:
            raise UnsupportedError(f"{row.name} is not supported")
        target = getattr(moved, "new_namespace_id", None)
        if target is not None and not self.capabilities.holds_tables(len(target)):
            raise InvalidInputError(f"{target} holds no tables")
        for field in ("id", "new_namespace_id"):
            if field == "id" or getattr(moved, field, None) is not None:
                self._add_prefix(row, moved, field)
        return self._without_prefix(method(moved, *rows), moved)

    def _add_prefix(self, row: Operation[Any, Any], moved: Any, field: str) -> None:
        if "{id}" in row.path:
            setattr(moved, field, [*self._prefix, *(getattr(moved, field) or ())])

    def _without_prefix(self, answer: Any, request: Any) -> Any:
        depth = len(self._prefix)
        for field in ("id", "namespace"):
            if getattr(answer, field, None) is not None:
                setattr(answer, field, getattr(answer, field)[depth:])
        if type(answer).__name__ == "ListOperationsResponse":
            unsupported = self.capabilities.unsupported
            answer.operations = [name for name in answer.operations if name not in unsupported]
        if type(answer).__name__ == "ListTablesResponse" and request.id is None:
            delimiter = (request.context or {}).get("delimiter", DEFAULT_DELIMITER)
            answer.tables = [
                delimiter.join(name.split(delimiter)[depth:]) for name in answer.tables
            ]
        return answer


def _without(key: str) -> Callable[[Identifier, Mapping[str, str]], Mapping[str, str]]:
    return lambda identifier, properties: {k: v for k, v in properties.items() if k != key}


def _subject(
    server: GlueServer,
    root: Path,
    *,
    given: Identifier = (),
    namespace: type[GlueNamespace] = GlueNamespace,
    properties: Mapping[str, str] | None = None,
    **more: Any,
) -> Subject:
    """Return a subject on the double whose root is the namespace `given`."""
    settings = {"endpoint": server.endpoint, "region": REGION, "root": str(root), **KEYS}

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        assert server.problems == []
        server.reset()
        shutil.rmtree(root, ignore_errors=True)
        for depth in range(1, len(given) + 1):
            server.add_catalog("/".join(given[:depth]))
        return {}

    def connect() -> Any:
        made = namespace.from_properties({**settings, **(properties or {})})
        return Below(made, given, namespace.capabilities) if given else made

    def add(identifier: Identifier, table: dict[str, Any]) -> str:
        names = [*given, *identifier]
        location = f"{root}/others/{abs(hash(identifier))}"
        catalog = "/".join(names[:-2]) or None
        server.add_tables(
            names[-2],
            {names[-1]: {**table, "StorageDescriptor": {"Location": location}}},
            catalog_id=catalog,
        )
        return location

    return Subject(
        **{
            "name": "glue",
            "connect": connect,
            "reset": reset,
            "capabilities": namespace.capabilities,
            "location": lambda identifier, own: default_location(str(root), [*given, *identifier]),
            "elsewhere": lambda name: str(root / "elsewhere" / name),
            "names": LOWER,
            "refused_names": REFUSED,
            "shown_namespace_properties": _without("location"),
            "shown_table_properties": _without("table_type"),
            "add_table": lambda identifier: add(identifier, LANCE),
            "add_other_table": lambda identifier: add(identifier, OTHER) and None,
            **more,
        }
    )


def one_level(server: GlueServer, root: Path) -> Subject:
    """Databases in the account's default catalog."""
    return _subject(server, root, properties={"default_namespace_type": "database"}, deepest=1)


class WithCatalogs(GlueNamespace):
    """For the suite: a namespace with a one-part identifier is a catalog and contains no tables."""

    capabilities = evolve(GlueNamespace.capabilities, table_depth=2)


def two_levels(server: GlueServer, root: Path) -> Subject:
    """Catalogs that the suite creates, and databases in them."""
    return _subject(server, root, namespace=WithCatalogs, deepest=2, names=CATALOG_NAMES)


def three_levels(server: GlueServer, root: Path) -> Subject:
    """Databases in a nested catalog, which can only be created outside the namespace."""
    return _subject(server, root, given=("outer", "inner"), deepest=1)


SUBJECTS = {"one level": one_level, "two levels": two_levels, "three levels": three_levels}


@contextmanager
def aws(name: str, folder: Path, **settings: str) -> Iterator[Subject]:
    """The tables of one database that is created for the suite and deleted afterwards.

    Args:
        name: the name of the database.
        folder: where the tables' data is stored, unless the settings include a root.
        settings: properties of the namespace; by default AWS and the caller's own credentials.
    """
    settings = {"root": str(folder), **settings}
    names = {"endpoint": "endpoint_url", "region": "region_name"}
    names |= {"access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key"}
    client = boto3.client("glue", **{names[k]: v for k, v in settings.items() if k in names})
    location = default_location(settings["root"], [name])
    client.create_database(DatabaseInput={"Name": name, "LocationUri": location})
    capabilities = evolve(
        GlueNamespace.capabilities,
        namespace_depth=0,
        table_depth=0,
        unsupported=dict.fromkeys(
            ("CreateNamespace", "DropNamespace", "AlterNamespace", "ListAllTables"),
            "the account holds more than the test's own database",
        ),
    )
    runs = 0

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        nonlocal runs
        runs += 1
        for page in client.get_paginator("get_tables").paginate(DatabaseName=name):
            for table in page["TableList"]:
                client.delete_table(DatabaseName=name, Name=table["Name"])
        place = {"Name": name, "LocationUri": f"{location}/{runs}"}
        client.update_database(Name=name, DatabaseInput=place)
        return {}

    def connect() -> Any:
        return Below(GlueNamespace.from_properties(settings), (name,), capabilities)

    try:
        yield Subject(
            name="aws",
            connect=connect,
            reset=reset,
            capabilities=capabilities,
            location=lambda identifier, own: default_location(f"{location}/{runs}", identifier),
            elsewhere=lambda place: f"{location}/{runs}-elsewhere/{place}",
            names=LOWER,
            refused_names=REFUSED,
            shown_namespace_properties=_without("location"),
            shown_table_properties=_without("table_type"),
        )
    finally:
        reset()
        client.delete_database(Name=name)


def real_account() -> dict[str, str] | None:
    """Return the settings for a run against AWS, or None unless one is requested."""
    if os.environ.get("LANCE_NS_TEST_GLUE") != "1":
        return None
    root = os.environ.get("LANCE_NS_TEST_GLUE_ROOT")
    return {"root": root} if root else {}
