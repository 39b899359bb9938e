"""Decodes HTTP requests: builds the request of an operation from path, query, headers and body."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, unquote_plus

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.model import Model
from lance_namespace_client.operations import Body, Operation, Parameter
from lance_namespace_client.wire import HEADER_PREFIX

from ...core.identifiers import (
    DEFAULT_DELIMITER,
    check_new_name,
    format_identifier,
    split_identifier,
)
from .routing import Endpoint, decode

__all__ = ["Headers", "read_request"]

JSON_TYPE = "application/json"
PROPERTIES_HEADER = "x-lance-table-properties"
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")
# Hop-by-hop headers, and headers that describe the body or contain credentials; all others are
# passed to the operation as context.
OWN_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "date",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "server",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "www-authenticate",
        "x-api-key",
        PROPERTIES_HEADER,
    }
)


class Headers(dict[str, str]):
    """Request headers by lower-case name; if a header is repeated, the last value is used."""

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw
        )
        self.repeated: frozenset[str] = frozenset()
        """Names of headers that occur more than once."""
        if len(self) != len(raw):
            names = Counter(name.decode("latin-1").lower() for name, _ in raw)
            self.repeated = frozenset(name for name, count in names.items() if count > 1)

    def identity(self, other: Any) -> Any:
        """Return the caller's credentials; headers take precedence over `other` from the body."""
        api_key = self.get("x-api-key")
        scheme, _, token = self.get("authorization", "").partition(" ")
        auth_token = token.strip() if scheme.lower() == "bearer" else None
        if api_key is None and auth_token is None:
            return other
        found = dict(other) if isinstance(other, dict) else {}
        if api_key is not None:
            found["api_key"] = api_key
        if auth_token is not None:
            found["auth_token"] = auth_token
        return found

    def context(self) -> dict[str, str]:
        """Return the headers that are passed to the operation, as ``header.<name>`` entries."""
        return {HEADER_PREFIX + k: v for k, v in self.items() if k not in OWN_HEADERS}


def read_request(
    endpoint: Endpoint,
    segments: tuple[str, ...],
    query_string: bytes,
    headers: Headers,
    body: bytes,
) -> Model:
    """Build the request of an operation.

    Args:
        endpoint: the called endpoint.
        segments: path segments that contain fields, percent-encoded.
        query_string: the query string, as sent.
        headers: the request headers.
        body: the JSON body; empty if there is none or if the body contains rows.

    Raises:
        InvalidInputError: code 13, a part cannot be read, or a field occurs twice with different
            values.
    """
    operation = endpoint.operation
    values = _from_body(endpoint, body)
    query = _from_query(operation, query_string)
    delimiter = query.pop("delimiter", None)
    _add_path_fields(endpoint, segments, query, delimiter or DEFAULT_DELIMITER, values)
    for parameter in operation.query:
        text = query.get(parameter.name)
        if text is not None:
            _put(operation, values, parameter.field, _typed(operation, parameter, text), "query")
        elif parameter.required and values.get(parameter.field) is None:
            raise InvalidInputError(f"{operation.name} needs the parameter {parameter.name!r}")
    if PROPERTIES_HEADER in headers and operation.body is Body.ARROW:
        parameter = Parameter("properties", "properties", "object")
        properties = _typed(operation, parameter, headers[PROPERTIES_HEADER])
        _put(operation, values, "properties", properties, f"header {PROPERTIES_HEADER}")
    context = headers.context()
    if delimiter is not None and "id" not in operation.path_fields:
        # The response may contain identifiers; this delimiter then joins their names.
        context["delimiter"] = delimiter
    if context:
        values["context"] = _joined(operation, values.get("context"), context)
    values["identity"] = headers.identity(values.get("identity"))
    request: Model = operation.request_type.from_dict(values)
    if not endpoint.by_name:
        check_new_name(request, delimiter or DEFAULT_DELIMITER)
    return request


def _from_body(endpoint: Endpoint, body: bytes) -> dict[str, Any]:
    operation = endpoint.operation
    if not body.strip():
        return {}
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{operation.name}: the body is not JSON: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidInputError(f"{operation.name}: the body must be a JSON object")
    if operation.body_field is not None and not endpoint.by_name:
        return {operation.body_field: data}
    if data.get("id") == "":
        del data["id"]
    if data.get("new_namespace_id") == [] and data.get("context") == {}:
        # Java clients send empty values for fields that are not set. For other clients, an empty
        # list means the root.
        del data["new_namespace_id"]
    return data


def _from_query(operation: Operation[Any, Any], query_string: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise InvalidInputError(f"{operation.name}: the query cannot be read: {error}") from None
    found: dict[str, Any] = {}
    repeated = {row.name for row in operation.query if row.type == "array"}
    for name, value in pairs:
        if name in repeated:
            found.setdefault(name, []).append(value)
        elif found.setdefault(name, value) != value:
            raise InvalidInputError(
                f"{operation.name}: query parameter {name!r} is set twice with different values"
            )
    if found.get("delimiter") == "":
        raise InvalidInputError("the delimiter must not be empty")
    return found


def _add_path_fields(
    endpoint: Endpoint,
    segments: tuple[str, ...],
    query: dict[str, Any],
    delimiter: str,
    values: dict[str, Any],
) -> None:
    """Add the fields in the path to the request; ``POST /<name>`` with rows has them in its
    query.
    """
    operation = endpoint.operation
    if not endpoint.by_name:
        fields = dict(zip(operation.path_fields, map(decode, segments), strict=True))
    elif operation.body is Body.ARROW:
        fields = {name: query[name] for name in operation.path_fields if name in query}
    else:
        return
    for name, text in fields.items():
        if name != "id":
            _put(operation, values, name, text, "route")
        elif not _is_joined(values.get("id"), delimiter, segments[0] if segments else text):
            _put(operation, values, "id", list(split_identifier(text, delimiter)), "route")


def _is_joined(names: Any, delimiter: str, segment: str) -> bool:
    """Return whether an id in the body is the same as the id in the path.

    Names in a list can contain the delimiter, and Rust and Java clients send ``+`` for a space.
    """
    if not isinstance(names, list) or not names:
        return False
    if not all(isinstance(name, str) and name for name in names):
        return False
    return delimiter.join(names) in (unquote(segment), unquote_plus(segment))


def _put(
    operation: Operation[Any, Any], values: dict[str, Any], name: str, value: Any, where: str
) -> None:
    other = values.get(name)
    if other is None:
        values[name] = value
    elif other != value:
        shown = ""
        if name == "id" and isinstance(other, list):
            shown = f": {format_identifier(value)!r} and {other!r}"
        raise InvalidInputError(
            f"{operation.name}: {name} in the {where} differs from {name} elsewhere in the "
            f"request{shown}; set it only once"
        )


def _typed(operation: Operation[Any, Any], parameter: Parameter, text: Any) -> Any:
    """Convert a query parameter to the type that the operation table specifies."""
    try:
        match parameter.type:
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
            case "integer":
                if WHOLE_NUMBER.fullmatch(text) is None:
                    raise ValueError(text)
                return int(text)
            case "number":
                return float(text)
            case "object":
                found = json.loads(text)
                if not isinstance(found, dict):
                    raise ValueError(parameter.type)
                return found
            case _:
                return text
    except (KeyError, ValueError, RecursionError):
        wanted = {
            "boolean": "true or false",
            "integer": "a whole number",
            "number": "a number",
            "object": "the text of a JSON object",
        }[parameter.type]
        shown = "" if parameter.type == "object" else f", not {text[:60]!r}"
        raise InvalidInputError(
            f"{operation.name}: parameter {parameter.name!r} must be {wanted}{shown}"
        ) from None


def _joined(operation: Operation[Any, Any], context: Any, own: dict[str, str]) -> Any:
    """Return the context in the body, merged with the entries from the headers."""
    if context is None:
        return own
    if not isinstance(context, dict):
        raise InvalidInputError(f"{operation.name}: context must be an object")
    return {**context, **own}
