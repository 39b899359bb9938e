"""Runs openapi-python-client's parser, and treats its warnings as errors.

The parser reads the schemas and routes, and determines the kind of each part. Its Python types are
not used, because they add a sentinel to every optional field and turn every map into a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen
from openapi_python_client.config import Config, ConfigFile, MetaType
from openapi_python_client.parser import GeneratorData
from openapi_python_client.parser.errors import GeneratorError, ParseError
from openapi_python_client.parser.openapi import Endpoint
from openapi_python_client.parser.properties import ModelProperty
from openapi_python_client.schema import OpenAPI
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .check import routes
from .document import Document, Place, Problem, SpecError

STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"


@frozen
class Parsed:
    """The parser's result for a document."""

    models: dict[str, ModelProperty]
    """Objects, by the name of their schema."""
    endpoints: dict[tuple[str, str], Endpoint]
    """Routes, by path and HTTP method."""


def validate(document: Document) -> list[Problem]:
    """Report violations of the OpenAPI specification."""
    try:
        OpenAPI.model_validate(document.data)
    except ValidationError as error:
        found = [(_place(document.data, row["loc"]), _cause(row)) for row in error.errors()]
        # In a union, the branch with the deepest error is probably the intended one.
        return [
            document.problem(place, cause)
            for place, cause in found
            if not any(other[: len(place)] == place and other != place for other, _ in found)
        ]
    return []


def _cause(row: ErrorDetails) -> str:
    if row["type"] == "missing":
        return f"{row['loc'][-1]} is missing"
    return f"{row['msg'][0].lower()}{row['msg'][1:]}"


def drive(document: Document) -> Parsed:
    """Parse a document.

    Raises:
        SpecError: the parser issued a warning.
    """
    config = Config.from_sources(
        ConfigFile(
            literal_enums=True,
            content_type_overrides={
                STREAM: "application/octet-stream",
                FILE: "application/octet-stream",
            },
        ),
        meta_type=MetaType.NONE,
        document_source=document.path,
        file_encoding="utf-8",
        overwrite=True,
        output_path=Path("."),
    )
    data = GeneratorData.from_dict(_without_map_defaults(document.data), config=config)
    if isinstance(data, GeneratorError):
        raise SpecError([_complaint(document, data)])
    warnings: list[ParseError] = list(data.errors)
    if not warnings:  # otherwise, routes that refer to an invalid part would cause further warnings
        for collection in data.endpoint_collections_by_tag.values():
            warnings += collection.parse_errors
    if warnings:
        raise SpecError([_complaint(document, warning) for warning in warnings])
    endpoints = {
        (_bare(text(endpoint.path)), endpoint.method): endpoint
        for collection in data.endpoint_collections_by_tag.values()
        for endpoint in collection.endpoints
    }
    models = {str(model.class_info.name): model for model in data.models}
    problems = [
        document.problem(("paths", path, method), "openapi-python-client omitted the route")
        for path, method, _ in routes(document)
        if (_bare(path), method) not in endpoints
    ] + [
        document.problem(
            ("components", "schemas", name),
            f"openapi-python-client has no class for {name}: Python reserves the name",
        )
        for name, schema in document.data["components"].get("schemas", {}).items()
        if "properties" in schema and name not in models
    ]
    if problems:
        raise SpecError(problems)
    return Parsed(
        models,
        {(path, method): endpoints[_bare(path), method] for path, method, _ in routes(document)},
    )


def _without_map_defaults(node: Any, *, is_schema: bool = True) -> Any:
    """Return a document without the defaults of maps, which the parser rejects; they are read from
    the document."""
    if isinstance(node, list):
        return [_without_map_defaults(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_map_defaults(value, is_schema=not (is_schema and key == "properties"))
        for key, value in node.items()
        if not (is_schema and key == "default" and value == {})
    }


def _bare(path: str) -> str:
    """Return a path without the names of its parameters, which the parser may change."""
    return re.sub(r"{[^}]*}", "{}", path)


def _complaint(document: Document, error: GeneratorError) -> Problem:
    """Convert a warning of the parser to a problem with a line number."""
    header = " ".join(error.header.split())
    cause = " ".join((error.detail or header).partition("\n\n")[0].split())
    place = next(_places(document, error, f"{header} {cause}"), ())
    return document.problem(place, f"openapi-python-client: {cause}")


def _places(document: Document, error: GeneratorError, text: str) -> Iterator[Place]:
    """Return the places to which a warning may refer, the most likely one first."""
    within: Place = ()
    for path, method, _ in routes(document):
        if f"{method.upper()} {path} " in text:
            within = ("paths", path, method)
    if match := re.search(r"/components/schemas/(\w+)", text):
        within = ("components", "schemas", match[1])
    node = getattr(error, "data", None)
    if node is not None:
        raw = node.model_dump(mode="json", by_alias=True, exclude_unset=True)
        yield from (
            place
            for place in _matching_parts(document.data, raw, ())
            if place[: len(within)] == within and len(place) > len(within)
        )
    if match := re.search(r"pattern: (\w+)|status code (\d\w+)", text):
        yield (*within, "responses", match[1] or match[2])
    if "content type" in text:
        yield (*within, "requestBody")
    yield within


def _matching_parts(node: Any, entries: dict[str, Any], place: Place) -> Iterator[Place]:
    """Return all parts of a document that contain all of `entries`."""
    if isinstance(node, dict):
        if entries and all(key in node and node[key] == value for key, value in entries.items()):
            yield place
        for key, value in node.items():
            yield from _matching_parts(value, entries, (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _matching_parts(value, entries, (*place, index))


def _place(data: Any, location: Place) -> Place:
    """Remove the steps of a pydantic location that do not exist in the document, such as class names."""
    place: list[str | int] = []
    node = data
    for part in location:
        known = (
            node if isinstance(node, dict) else range(len(node) if isinstance(node, list) else 0)
        )
        if part in known:
            node = node[part]
            place.append(part)
    return tuple(place)


def text(value: Any) -> str:
    getter = getattr(value, "get_untrusted_value", None)
    return str(getter() if getter is not None else value)
