"""No operation is left without an implementation or a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from lance_namespace_client.errors import LanceNamespaceError, UnsupportedError
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

SPEC = json.loads((files("lance_namespace_client") / "openapi.json").read_text("utf-8"))


def smallest(schema: dict[str, Any]) -> Any:
    """Return the smallest value that fits a schema: required fields only."""
    if "$ref" in schema:
        return smallest(SPEC["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if "oneOf" in schema:
        return None
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        required = schema.get("required", ())
        return {name: smallest(schema["properties"][name]) for name in required}
    if kind == "array":
        return [smallest(schema["items"]) for _ in range(schema.get("minItems", 0))]
    return {"string": "x", "integer": 1, "number": 1.0, "boolean": True}[kind]


@pytest.fixture(params=["dir", "rest"])
def namespace(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Namespace]:
    with connect("dir", {"path": str(tmp_path)}) as directory:
        if request.param == "dir":
            yield directory
            return
        from lance_namespace_impls.server import serving

        with serving(directory) as uri, connect("rest", {"uri": uri}) as remote:
            yield remote


@pytest.mark.requirement("general-001", "general-036", "general-057")
def test_every_operation_is_there_or_says_why_not(namespace: Namespace) -> None:
    supported = set(namespace.list_operations({}).operations)
    assert supported <= set(OPERATIONS)
    for name, row in OPERATIONS.items():
        request = smallest(SPEC["components"]["schemas"][row.request])
        if "/table/{id}" in row.path or "/materialized_view/{id}" in row.path:
            request["id"] = ["missing"]
        elif "/transaction/{id}" in row.path:
            request["id"] = ["1"]
        request |= {p.field: "x" for p in row.query if p.required}
        data = [_rows()] if row.body is Body.ARROW else []
        if name in supported:
            try:
                getattr(namespace, row.method_name)(request, *data)
            except LanceNamespaceError as error:
                assert not isinstance(error, UnsupportedError), f"{name}: {error}"
        else:
            with pytest.raises((UnsupportedError, LanceNamespaceError)) as refused:
                getattr(namespace, row.method_name)(request, *data)
            if row.tag == "Namespace":
                assert refused.value.code in (0, 13), name  # the root cannot be changed
            else:
                assert refused.value.code == 0, name
                assert ": " in str(refused.value), f"{name} is refused without a reason"


def _rows() -> Any:
    import pyarrow as pa

    return pa.table({"a": [1]})
