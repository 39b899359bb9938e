"""Embedded lancedb on this project's namespaces; lancedb on pylance's directory is the control."""

from __future__ import annotations

import inspect
from functools import cache, partial
from tempfile import TemporaryDirectory
from typing import Any

import lancedb

from .backends import Home, on_backends
from .lancedb_calls import call_all
from .outcomes import compare

CLIENT = "lancedb (namespace)"
# Use the class name, as for this project's namespaces: lancedb implements "dir" without Python, and
# it wraps the errors of Python namespaces.
CONTROL = "lance.namespace.DirectoryNamespace"
INTEROP = "lance_namespace_impls.interop"
# Calls that need nested namespaces, which some catalogs do not support.
NEED_NAMESPACES = {"create_namespace", "tables_in_a_namespace"}
CLASSES = {
    "dir": "DirectoryNamespace",
    "glue": "GlueNamespace",
    "hive2": "Hive2Namespace",
    "iceberg": "IcebergNamespace",
    "polaris": "PolarisNamespace",
    "unity": "UnityNamespace",
}


class NamespaceConnection:
    """A connection that is restricted to the tables of one namespace."""

    def __init__(self, db: Any, levels: tuple[str, ...]) -> None:
        self._db = db
        self._levels = list(levels)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._db, name)
        if not callable(method):
            return method
        parameters = inspect.signature(method).parameters
        if name.endswith("_namespace") or name == "list_namespaces":
            return lambda path=(), **more: method([*self._levels, *path], **more)
        keys = [key for key in ("namespace_path", "cur_namespace_path") if key in parameters]
        keys += ["new_namespace_path"] if "new_namespace_path" in parameters else []
        return partial(self._call, method, keys)

    def _call(self, method: Any, keys: list[str], *arguments: Any, **more: Any) -> Any:
        own = {key: [*self._levels, *more.pop(key, ())] for key in keys}
        return method(*arguments, **own, **more)


@cache
def _control() -> dict[str, str | None]:
    with TemporaryDirectory() as folder:
        return call_all(lancedb.connect_namespace(CONTROL, {"root": folder}))


@on_backends("dir")
def test_calls_behave_as_on_pylances_directory(home: Home) -> None:
    db = lancedb.connect_namespace(f"{INTEROP}.{CLASSES[home.impl]}", home.properties)
    ours = call_all(NamespaceConnection(db, home.identifier))
    unavailable = set() if home.nests else NEED_NAMESPACES
    compare(CLIENT, home.name, _control(), ours, unavailable)
