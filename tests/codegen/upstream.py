"""The protocol of the official client that is installed, as an OpenAPI document."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from typing import Any

import lance_namespace_urllib3_client as official
from pydantic import BaseModel

__all__ = ["document"]

ROUTE = re.compile(r"method='(?P<method>\w+)',\s+resource_path='(?P<path>[^']+)'")


def document() -> dict[str, Any]:
    """Return the routes and models that the official client was generated with."""
    return {"openapi": "3.1.0", "paths": _paths(), "components": {"schemas": _schemas()}}


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for module in _modules("api"):
        for cls in vars(module).values():
            if not inspect.isclass(cls) or cls.__module__ != module.__name__:
                continue
            for name, method in vars(cls).items():
                if name.startswith("_") and name.endswith("_serialize"):
                    route = ROUTE.search(inspect.getsource(method))
                    assert route is not None
                    words = name.removeprefix("_").removesuffix("_serialize").split("_")
                    operation = {"operationId": "".join(word.title() for word in words)}
                    paths.setdefault(route["path"], {})[route["method"].lower()] = operation
    return paths


def _schemas() -> dict[str, Any]:
    return {
        name: _whole(name, value.model_json_schema(by_alias=True))
        for module in _modules("models")
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, BaseModel) and value is not BaseModel
    }


def _whole(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema itself where it is one that refers to itself."""
    whole: dict[str, Any] = schema["$defs"][name] if "$ref" in schema else schema
    return whole


def _modules(package: str) -> list[Any]:
    parent = import_module(f"{official.__name__}.{package}")
    found = pkgutil.iter_modules(parent.__path__, f"{parent.__name__}.")
    return [import_module(each.name) for each in found]
