"""The protocol of the installed official client, as an OpenAPI document."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from typing import Any

import lance_namespace_urllib3_client as official
from pydantic import BaseModel

__all__ = ["document"]

Json = dict[str, Any]
ROUTE = re.compile(r"method='(?P<method>\w+)',\s+resource_path='(?P<path>[^']+)'")
QUERY = re.compile(r"_query_params.append\(\('(\w+)'")
BODY = re.compile(r"_body_params = (\w+)\n")
ANSWER = re.compile(r"""'(\w{3})': (?:"([^"]+)"|None)""")
RECEIVED = re.compile(r"select_header_accept\(\s*\[([^]]*)\]")
SENT = re.compile(r"select_header_content_type\(\s*\[([^]]*)\]")
NULL = {"type": "null"}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
SIMPLE: Json = {
    "bytearray": {"type": "string", "format": "binary"},
    "int": {"type": "integer"},
    "str": {"type": "string"},
    "Dict[str, str]": TEXTS,
}
"""Schemas of bodies that are not models, by their Python type."""


def document() -> Json:
    """Return the routes and models that the official client was generated with.

    Its code lacks the schemas of parameters, formats, enumerations, and whether an optional field is
    nullable.
    """
    return {"openapi": "3.1.0", "paths": _paths(), "components": {"schemas": _schemas()}}


def _paths() -> Json:
    paths: Json = {}
    for module in _modules("api"):
        for cls in vars(module).values():
            if not inspect.isclass(cls) or cls.__module__ != module.__name__:
                continue
            for name, method in vars(cls).items():
                if name.startswith("_") and name.endswith("_serialize"):
                    called = getattr(cls, name.removeprefix("_").removesuffix("_serialize"))
                    source = inspect.getsource(method)
                    route = ROUTE.search(source)
                    assert route is not None
                    item = paths.setdefault(route["path"], {})
                    item[route["method"].lower()] = _operation(called, source)
    return paths


def _operation(called: Any, source: str) -> Json:
    places = {"query": QUERY.findall(source), "path": re.findall(r"_path_params\['(\w+)'", source)}
    found: Json = {
        "operationId": "".join(word.title() for word in called.__name__.split("_")),
        "parameters": [
            {"name": name, "in": place, "required": _is_required(called, name)}
            for place, names in places.items()
            for name in names
        ],
        "responses": {
            status: {"content": _content(kind, RECEIVED, source)} if kind else {}
            for status, kind in ANSWER.findall(inspect.getsource(called))
        },
    }
    for name in BODY.findall(source):
        kind = re.search(rf":type {name}: (.+)", called.__doc__)
        assert kind is not None
        found["requestBody"] = {
            "required": _is_required(called, name),
            "content": _content(kind[1], SENT, source),
        }
    return found


def _is_required(called: Any, name: str) -> bool:
    return inspect.signature(called).parameters[name].default is inspect.Parameter.empty


def _content(kind: str, header: re.Pattern[str], source: str) -> Json:
    """Return the content of a body: JSON, or bytes with the other media type of the header."""
    found = header.search(source)
    assert found is not None
    media = set(re.findall(r"'([^']+)'", found[1])) - {"application/json"}
    schema = SIMPLE.get(kind, {"$ref": f"#/components/schemas/{kind}"})
    return {media.pop() if kind == "bytearray" else "application/json": {"schema": schema}}


def _schemas() -> Json:
    return {
        name: _plain(_whole(name, value.model_json_schema(by_alias=True)))
        for module in _modules("models")
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, BaseModel) and value is not BaseModel
    }


def _whole(name: str, schema: Json) -> Json:
    """Return the schema itself, also if pydantic returns a reference to it."""
    whole: Json = schema["$defs"][name] if "$ref" in schema else schema
    return whole


def _plain(value: Any) -> Any:
    """Convert a schema of pydantic to the notation of OpenAPI documents."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _plain(each) for key, each in value.items() if key != "$defs"}
    if isinstance(found.get("$ref"), str):
        found["$ref"] = found["$ref"].replace("#/$defs/", "#/components/schemas/")
    if isinstance(found.get("anyOf"), list):
        kinds = [each for each in found.pop("anyOf") if each != NULL]
        if found.get("default", ...) is None:
            del found["default"]
        if {each.get("type") for each in kinds} == {"integer", "number"}:
            kinds = [{"type": "number"}]
        if SIMPLE["bytearray"] in kinds:
            kinds = [SIMPLE["bytearray"]]
        found.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
    return found


def _modules(package: str) -> list[Any]:
    parent = import_module(f"{official.__name__}.{package}")
    found = pkgutil.iter_modules(parent.__path__, f"{parent.__name__}.")
    return [import_module(each.name) for each in found]
