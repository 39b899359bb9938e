"""Generates the page on the protocol's operations from the document that codegen writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import lance_namespace_client
from lance_namespace_client.errors import ErrorCode
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS, Body, Operation

from .public import CLIENT, backends
from .tables import cell, error_name, table

__all__ = ["operations_page"]


def operations_page() -> str:
    """Return the page with one section per operation, grouped by the tags in rest.yaml."""
    document = json.loads((files(CLIENT) / "openapi.json").read_text("utf-8"))
    parts = [
        "# Operations\n",
        f"The {len(OPERATIONS)} operations of the protocol {document['info']['version']}, as "
        "`rest.yaml` defines them. Each is a method of every namespace, a route below `/v1`, and "
        "`POST /<Operation>` with all fields in the body.\n",
        f"Each of them may return the common codes {codes(COMMON_CODES)}.\n",
    ]
    for tag in document["tags"]:
        parts.append(f"## {tag['name']}\n\n{tag['description']}\n")
        for operation in OPERATIONS.values():
            if operation.tag == tag["name"]:
                parts += section(document, operation)
    return "\n".join(parts)


def codes(numbers: tuple[int, ...]) -> str:
    """Return error codes as links to their sections in the troubleshooting page."""
    page = "../troubleshooting.md"
    return ", ".join(
        f"[{number}]({page}#{number}-{error_name(ErrorCode(number)).lower()} "
        f'"{error_name(ErrorCode(number))}")'
        for number in numbers
    )


def section(document: Mapping[str, Any], operation: Operation[Any, Any]) -> Iterator[str]:
    """Yield the parts of an operation's section."""
    route = document["paths"][operation.path][operation.http_method.lower()]
    yield f"### {operation.name}\n"
    yield f"```http\n{operation.http_method} {operation.path}\n```\n"
    yield f"{' '.join(route['description'].split())}\n"
    method = f"[`{operation.method_name}()`][{CLIENT}.LanceNamespace.{operation.method_name}]"
    facts = [("Python", method)]
    if operation.aliases:
        facts.append(("Older names", ", ".join(f"`{name}`" for name in operation.aliases)))
    if operation.body is Body.ARROW:
        facts.append(("Body", "rows as an Arrow IPC stream; the fields below are query parameters"))
    if operation.answer is Body.ARROW:
        facts.append(("Response", "rows as an Arrow IPC file"))
    facts.append(("Error codes", codes(operation.codes) or "only the common codes"))
    repeatable = "yes" if operation.repeatable else "no"
    facts.append(("Repeatable", repeatable))
    if missing := unsupported(operation.name):
        facts.append(("Not supported by", missing))
    yield table(("", ""), facts)
    for title, model in (("Request", operation.request), ("Response", operation.response)):
        schema = document["components"]["schemas"].get(model)
        if schema is None:
            continue
        link = f"[`{model}`][{CLIENT}.{model}]"
        rows = list(fields(document, schema))
        yield f"{title}: {link}{'' if rows else ', without fields'}\n"
        if rows:
            yield table(("Field", "Type", "Description"), rows)


def unsupported(operation: str) -> str:
    """Return the backends that do not support an operation, with their reasons."""
    reasons: dict[str, list[str]] = {}
    for name, each in backends().items():
        declared = getattr(each, "capabilities", None)
        if reason := getattr(declared, "unsupported", {}).get(operation):
            reasons.setdefault(reason, []).append(f"`{name}`")
    return "; ".join(f"{', '.join(names)}: {cell(why)}" for why, names in reasons.items())


def fields(
    document: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a model: name, type, description."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        needed = " **required**" if name in required else ""
        yield f"`{name}`", type_of(document, field) + needed, cell(field.get("description", ""))


def type_of(document: Mapping[str, Any], field: Mapping[str, Any]) -> str:
    """Return the type of a field in JSON terms."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        if name in lance_namespace_client.__all__:
            return f"[`{name}`][{CLIENT}.{name}]"
        return type_of(document, document["components"]["schemas"][name])
    either = [one for one in field.get("oneOf", ()) if one.get("type") != "null"]
    if either:
        return " or ".join(type_of(document, one) for one in either)
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    kinds = field.get("type", "any")
    kind = " or ".join(k for k in ([kinds] if isinstance(kinds, str) else kinds) if k != "null")
    if kind == "array":
        return f"array of {type_of(document, field.get('items', {}))}"
    inner = field.get("additionalProperties")
    if kind == "object" and isinstance(inner, Mapping):
        return f"map to {type_of(document, inner)}"
    return kind
