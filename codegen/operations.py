"""Converts routes to `Operation`s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen
from openapi_python_client.parser.openapi import Endpoint

from .check import routes
from .document import Document, Place, Problem
from .driver import FILE, STREAM, text
from .model import Model, Operation, QueryParameter, attribute

JSON = "application/json"
# Fields that every route sends as headers, with their schemas.
IN_HEADERS = {
    "x-request": {"identity": "Identity", "context": "Context"},
    "x-response": {"context": "Context"},
}
# Types that a parameter can represent as a string.
PARAMETER_TYPES = ("array", "boolean", "integer", "number", "object", "string")
METHOD_NAMES = ("namespace_id",)
CONSTANTS = ("COMMON_CODES", "OPERATIONS")


@frozen
class Route:
    """A route of an operation."""

    path: str
    method: str
    raw: dict[str, Any]

    @property
    def place(self) -> Place:
        return ("paths", self.path, self.method)

    @property
    def name(self) -> str:
        return str(self.raw["x-operation"])

    @property
    def is_by_name(self) -> bool:
        return self.path.count("/") == 1 and self.method == "post"


class OperationReader:
    """Converts routes to `Operation`s, and collects problems."""

    def __init__(
        self,
        document: Document,
        endpoints: dict[tuple[str, str], Endpoint],
        models: list[Model],
    ) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._endpoints = endpoints
        self._models = {model.name: model for model in models}
        self._schemas = document.data["components"].get("schemas", {})

    def _complain(self, place: Place, cause: str) -> None:
        self.problems.append(self._document.problem(place, cause))

    def operations(self) -> list[Operation]:
        """Read every operation, in the order of the routes."""
        main: dict[str, Route] = {}
        by_name: dict[str, list[Route]] = {}
        for route in (Route(*found) for found in routes(self._document)):
            if route.is_by_name:
                by_name.setdefault(route.name, []).append(route)
            elif route.name in main:
                self._complain(route.place, f"{route.name} has two routes under /v1")
            else:
                main[route.name] = route
        for name, others in by_name.items():
            if name not in main:
                self._complain(others[0].place, f"{name} has no route under /v1")
        found = []
        for name, route in main.items():
            others = by_name.get(name, [])
            if f"/{name}" not in [other.path for other in others]:
                self._complain(route.place, f"{name} has no route POST /{name}")
            if (operation := self._operation(route, others)) is not None:
                found.append(operation)
        self._check_names(found, main)
        return found

    def _check_names(self, operations: list[Operation], main: dict[str, Route]) -> None:
        reserved = dict.fromkeys((*METHOD_NAMES, *map(str.lower, CONSTANTS)), "the package itself")
        for operation in operations:
            other = reserved.setdefault(operation.method_name, operation.name)
            if other != operation.name:
                self._complain(
                    (*main[operation.name].place, "x-operation"),
                    f"{operation.name} would be named {operation.method_name} in Python, like "
                    f"{other}",
                )

    def _operation(self, route: Route, others: list[Route]) -> Operation | None:
        raw, name = route.raw, route.name
        needed = ("tags", "summary", "description", "x-request", "x-response")
        missing = [key for key in needed if not raw.get(key)]
        missing += [key for key in ("x-codes", "x-action") if key not in raw]
        if missing:
            self._complain(route.place, f"{name} lacks {', '.join(missing)}")
            return None
        for key in ("x-request", "x-response"):
            if raw[key] not in self._models:
                self._complain(
                    (*route.place, key), f"{name}: there is no schema {raw[key]} with fields"
                )
                return None
        self._check_codes(route)
        self._check_headers(route)
        body = self._body(route)
        status, answer = self._answer(route)
        endpoint = self._endpoints[route.path, route.method]
        operation = Operation(
            name=name,
            summary=raw["summary"],
            description=raw["description"],
            tag=raw["tags"][0],
            http_method=route.method.upper(),
            path=route.path,
            request=raw["x-request"],
            response=raw["x-response"],
            path_fields=tuple(
                self._path_field(route, text(prop.name)) for prop in endpoint.path_parameters
            ),
            query=[
                self._query_parameter(route, text(prop.name), prop.required)
                for prop in endpoint.query_parameters
                if text(prop.name) != "delimiter"
            ],
            body=body,
            body_field=raw.get("x-body-field"),
            answer=answer,
            answer_field=raw.get("x-response-field"),
            status=status,
            success=str(self._response(route, str(status)).get("description", "")),
            codes=tuple(raw["x-codes"]),
            action=str(raw["x-action"]),
            repeatable=raw.get("x-repeatable", False),
            aliases=tuple(other.path[1:] for other in others if other.path != f"/{name}"),
        )
        self._check_carried(route, operation)
        for other in others:
            self._check_by_name(other, operation)
        return operation

    def _check_codes(self, route: Route) -> None:
        known = {row.get("code") for row in self._document.data["x-error-codes"]}
        for index, code in enumerate(route.raw["x-codes"]):
            if code not in known:
                cause = f"{route.name}: no error has code {code}"
            elif code in route.raw["x-codes"][:index]:
                cause = f"{route.name}: code {code} is already listed"
            else:
                continue
            self._complain((*route.place, "x-codes", index), cause)

    def _check_headers(self, route: Route) -> None:
        for key, fields in IN_HEADERS.items():
            model = route.raw[key]
            for field, schema in fields.items():
                found = self._schemas[model]["properties"].get(field, {})
                if found.get("$ref") != f"#/components/schemas/{schema}":
                    self._complain(
                        ("components", "schemas", model, "properties", field),
                        f"{model} needs a field {field} of the schema {schema}, for the headers",
                    )

    # --- parameters

    def _parameters(self, route: Route) -> Iterator[tuple[Place, dict[str, Any]]]:
        for index, entry in enumerate(route.raw.get("parameters", ())):
            yield (*route.place, "parameters", index), self._resolved(entry)

    def _fed(self, route: Route, name: str) -> tuple[Place, str | None]:
        """Return a parameter's place, and the key of the request field that provides its value."""
        place, parameter = next(
            found for found in self._parameters(route) if found[1]["name"] == name
        )
        key = str(parameter.get("x-field", name))
        if key not in self._schemas[route.raw["x-request"]]["properties"]:
            cause = f"parameter {name} feeds {key}, which {route.raw['x-request']} does not have"
            self._complain(place, cause)
            return place, None
        return place, key

    def _path_field(self, route: Route, name: str) -> str:
        place, key = self._fed(route, name)
        if key is not None and not name == key == attribute(key):
            self._complain(place, f"path parameter {name} must feed a field of the same name")
        elif key is not None:
            kind = "array" if name == "id" else "string"
            found = self._kind(self._schemas[route.raw["x-request"]]["properties"][key])
            if found != kind:
                self._complain(place, f"path parameter {name} must feed a field of type {kind}")
        return name

    def _query_parameter(self, route: Route, name: str, required: bool) -> QueryParameter:
        place, key = self._fed(route, name)
        kind = "string"
        if key is not None:
            kind = self._kind(self._schemas[route.raw["x-request"]]["properties"][key])
            items = self._schemas[route.raw["x-request"]]["properties"][key].get("items")
            if kind not in PARAMETER_TYPES or (items and self._kind(items) in ("array", "object")):
                self._complain(
                    place, f"parameter {name} cannot represent {key}, of type {kind}, as a string"
                )
        return QueryParameter(name=name, key=key or name, type=kind, required=required)

    def _kind(self, schema: dict[str, Any]) -> str:
        """Return the JSON type of a schema, ignoring null."""
        if "$ref" in schema:
            return self._kind(self._document.resolve(schema["$ref"]))
        if kinds := schema.get("type"):
            kinds = kinds if isinstance(kinds, list) else [kinds]
        else:
            kinds = [self._kind(branch) for branch in schema.get("oneOf", schema.get("anyOf", ()))]
        return next((kind for kind in kinds if kind != "null"), "anything")

    def _check_carried(self, route: Route, operation: Operation) -> None:
        """Check that all fields of the request are sent to the server."""
        fields = {field.key for field in self._models[operation.request].fields}
        if operation.body == "JSON" or not fields.issuperset(filter(None, [operation.body_field])):
            return
        carried: set[str | None] = {*operation.path_fields, operation.body_field}
        carried |= set(IN_HEADERS["x-request"])
        carried |= {parameter.key for parameter in operation.query}
        if "{id}" not in operation.path:
            carried.add("id")
        for key in sorted(fields - carried):
            self._complain(
                ("components", "schemas", operation.request, "properties", key),
                f"no parameter of {operation.http_method} {operation.path} provides "
                f"{operation.request}.{key}",
            )

    # --- bodies

    def _content(self, place: Place, holder: dict[str, Any], known: tuple[str, ...]) -> str | None:
        """Return the media type of a body, which must have exactly one."""
        content = list(holder.get("content", ()))
        if not content:
            return None
        if len(content) > 1 or content[0] not in known:
            self._complain(
                (*place, "content"), f"a body of {' or '.join(content)} cannot be generated"
            )
            return None
        return str(content[0])

    def _body(self, route: Route) -> str:
        place = (*route.place, "requestBody")
        body = self._resolved(route.raw.get("requestBody", {}))
        media = self._content(place, body, (JSON, STREAM))
        if "x-body-field" in route.raw:
            self._check_field(route, "x-body-field", "x-request", media)
            return "FIELD"
        if media == JSON:
            self._check_whole(place, body, route.raw["x-request"])
        return {None: "NONE", JSON: "JSON", STREAM: "ARROW"}[media]

    def _answer(self, route: Route) -> tuple[int, str]:
        good = [status for status in route.raw["responses"] if status.startswith("2")]
        place = (*route.place, "responses")
        if len(good) != 1 or not good[0].isdigit():
            self._complain(place, f"{route.name} needs exactly one response 2..")
            return 200, "NONE"
        place = (*place, good[0])
        response = self._response(route, good[0])
        media = self._content(place, response, (JSON, FILE))
        if "x-response-field" in route.raw:
            self._check_field(route, "x-response-field", "x-response", media)
            return int(good[0]), "FIELD"
        if media == JSON:
            self._check_whole(place, response, route.raw["x-response"])
        return int(good[0]), {None: "NONE", JSON: "JSON", FILE: "ARROW"}[media]

    def _response(self, route: Route, status: str) -> dict[str, Any]:
        return self._resolved(route.raw["responses"].get(status, {}))

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            part = self._document.resolve(part["$ref"])
        return part

    def _check_field(self, route: Route, key: str, model: str, media: str | None) -> None:
        """Check that a bare body is JSON and is a field of its model."""
        field, owner = route.raw[key], route.raw[model]
        if field not in [each.key for each in self._models[owner].fields]:
            self._complain((*route.place, key), f"{owner} has no field {field}")
        elif media != JSON:
            self._complain((*route.place, key), f"{field} needs a body of {JSON}")

    def _check_whole(self, place: Place, holder: dict[str, Any], model: str) -> None:
        """Check that a JSON body without `x-...-field` is the complete model."""
        schema = holder["content"][JSON].get("schema", {})
        if schema.get("$ref") != f"#/components/schemas/{model}":
            self._complain((*place, "content", JSON), f"the body must be a $ref to {model}")

    def _check_by_name(self, route: Route, operation: Operation) -> None:
        """Check that a by-name route has the same content as the main route, all of it in the
        body.
        """
        expected = STREAM if operation.body == "ARROW" else JSON
        body = self._resolved(route.raw.get("requestBody", {}))
        if list(body.get("content", ())) != [expected]:
            self._complain(route.place, f"{route.path} must accept a body of {expected}")
        elif expected == JSON:
            self._check_whole((*route.place, "requestBody"), body, operation.request)
        elif missing := self._parameters_missing(route, operation):
            self._complain(route.place, f"{route.path} lacks the parameters {missing}")
        if str(operation.status) not in route.raw["responses"]:
            self._complain(
                (*route.place, "responses"), f"{route.path} must also return {operation.status}"
            )

    def _parameters_missing(self, route: Route, operation: Operation) -> str:
        declared = {parameter["name"] for _, parameter in self._parameters(route)}
        expected = [*operation.path_fields, *(parameter.name for parameter in operation.query)]
        return ", ".join(name for name in expected if name not in declared)
