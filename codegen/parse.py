"""From a document to a `Spec`, through openapi-python-client's parser.

The parser reads the schemas and routes and decides what each thing is. Its Python types are left
aside: they put a sentinel beside every optional field and make a class of every map.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openapi_python_client.config import Config, ConfigFile, MetaType
from openapi_python_client.parser import GeneratorData
from openapi_python_client.parser.errors import GeneratorError, ParseError
from openapi_python_client.parser.openapi import Endpoint
from openapi_python_client.parser.properties import (
    AnyProperty,
    BooleanProperty,
    DateTimeProperty,
    FileProperty,
    FloatProperty,
    IntProperty,
    ListProperty,
    LiteralEnumProperty,
    ModelProperty,
    NoneProperty,
    StringProperty,
    UnionProperty,
)
from openapi_python_client.parser.properties.protocol import PropertyProtocol

from .document import Document, SpecError
from .model import ErrorKind, Field, Model, Operation, QueryParameter, Spec, Type, snake

PARSER_VERSION = "0.29.1"
STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def parse(document: Document) -> Spec:
    """Read a specification.

    Raises:
        SpecError: something in it is wrong, missing, or beyond what can be generated.
    """
    if version("openapi-python-client") != PARSER_VERSION:
        raise SpecError(
            [
                f"openapi-python-client {version('openapi-python-client')} is installed, codegen needs "
                f"{PARSER_VERSION}: pip install 'lance-namespace-kit[codegen]'"
            ]
        )
    _check_shape(document)
    data = _drive_parser(document)
    reader = _Reader(document, data)
    spec = Spec(
        version=str(document.data["info"]["version"]),
        models=reader.models(),
        operations=reader.operations(),
        errors=_errors(document),
        common_codes=tuple(document.data.get("x-common-codes", ())),
        document=document.data,
    )
    if reader.problems:
        raise SpecError(reader.problems)
    return spec


def routes(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give path, HTTP method and operation object of every route."""
    for path, item in document.data["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _check_shape(document: Document) -> None:
    """Find what the parser would pass over in silence or tell without a line."""
    problems: list[str] = []
    data = document.data
    for part in ("openapi", "info", "paths", "components", "x-error-codes", "x-common-codes"):
        if part not in data:
            problems.append(document.problem((), f"the part {part!r} is missing"))
    if problems:
        raise SpecError(problems)
    for part in ("info", "paths", "components"):
        if not isinstance(data[part], dict):
            problems.append(document.problem((part,), f"{part!r} must be a mapping"))
    if problems:
        raise SpecError(problems)
    for place, reference in document.references():
        if document.resolve(reference) is None:
            problems.append(document.problem(place, f"{reference} points at nothing"))
    seen: Counter[str] = Counter()
    for path, method, operation in routes(document):
        place = ("paths", path, method)
        identifier = operation.get("operationId")
        if not identifier:
            problems.append(document.problem(place, f"{method.upper()} {path} has no operationId"))
            continue
        seen[identifier] += 1
        if seen[identifier] > 1:
            problems.append(
                document.problem(
                    (*place, "operationId"), f"operationId {identifier} is there twice"
                )
            )
        if "x-operation" not in operation:
            problems.append(document.problem(place, f"{identifier} has no x-operation"))
    for name, schema in data["components"].get("schemas", {}).items():
        required = schema.get("required") or []
        for field in required:
            if field not in schema.get("properties", {}):
                problems.append(
                    document.problem(
                        ("components", "schemas", name, "required"),
                        f"{name} requires {field!r}, which it does not have",
                    )
                )
    if problems:
        raise SpecError(problems)


def _drive_parser(document: Document) -> GeneratorData:
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
    data = GeneratorData.from_dict(document.data, config=config)
    if isinstance(data, GeneratorError):
        raise SpecError(list(_parser_problems(document, data)))
    warnings: list[ParseError] = list(data.errors)
    for collection in data.endpoint_collections_by_tag.values():
        warnings += collection.parse_errors
    problems = [line for warning in warnings for line in _parser_problems(document, warning)]
    if problems:
        raise SpecError(problems)
    found = sum(len(c.endpoints) for c in data.endpoint_collections_by_tag.values())
    wanted = sum(1 for _ in routes(document))
    if found != wanted:
        raise SpecError([f"{document.path}: the parser read {found} of {wanted} routes"])
    return data


def _parser_problems(document: Document, error: GeneratorError) -> Iterator[str]:
    """Find the line that a complaint of the parser is about."""
    text = f"{error.header}\n{error.detail or ''}"
    places: list[tuple[str | int, ...]] = []
    for path, method, _ in routes(document):
        if f"{method.upper()} {path} " in text:
            places.append(("paths", path, method))
    if match := re.search(r"Unable to process schema .*?/schemas/(\w+)", text):
        places.append(("components", "schemas", match[1]))
    node = getattr(error, "data", None)
    if not places and node is not None:
        raw = node.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        places += _places_of(document.data, raw, ())
    if not places:
        # pydantic's own report: each location line is dotted and stands before its message
        for match in re.finditer(r"^([\w/{}.$-]+(?:\.[^\s]+)*)\n  (.+?)(?: \[type=|$)", text, re.M):
            place = _deepest(document.data, match[1])
            if place:
                yield document.problem(place, match[2])
                return
    cause = " ".join(line.strip() for line in text.splitlines() if line.strip())
    yield document.problem(places[0] if places else (), cause[:300])


def _places_of(
    node: Any, wanted: dict[str, Any], place: tuple[str | int, ...]
) -> list[tuple[str | int, ...]]:
    if isinstance(node, dict):
        if wanted and all(node.get(key) == value for key, value in wanted.items()):
            return [place]
        return [p for key, value in node.items() for p in _places_of(value, wanted, (*place, key))]
    if isinstance(node, list):
        return [p for i, value in enumerate(node) for p in _places_of(value, wanted, (*place, i))]
    return []


def _deepest(data: Any, dotted: str) -> tuple[str | int, ...]:
    place: list[str | int] = []
    node = data
    for part in dotted.split("."):
        if isinstance(node, dict) and part in node:
            place.append(part)
            node = node[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            place.append(int(part))
            node = node[int(part)]
    return tuple(place)


class _Reader:
    """Turns the parser's properties and endpoints into ours; keeps the problems it meets."""

    def __init__(self, document: Document, data: GeneratorData) -> None:
        self.document = document
        self.problems: list[str] = []
        self._properties = {str(model.class_info.name): model for model in data.models}
        self._endpoints = {
            _text(endpoint.name): endpoint
            for collection in data.endpoint_collections_by_tag.values()
            for endpoint in collection.endpoints
        }

    def _complain(self, place: tuple[str | int, ...], cause: str) -> None:
        self.problems.append(self.document.problem(place, cause))

    # --- models

    def models(self) -> list[Model]:
        out = []
        for name, schema in self.document.data["components"]["schemas"].items():
            prop = self._properties.get(name)
            if prop is None or _is_map(prop):
                continue
            place = ("components", "schemas", name)
            fields = []
            for inner in [*(prop.required_properties or ()), *(prop.optional_properties or ())]:
                key = _text(inner.name)
                raw = schema["properties"][key]
                fields.append(
                    Field(
                        key=key,
                        type=self._type(inner, raw, (*place, "properties", key)),
                        description=self._prose(raw, (*place, "properties", key), f"{name}.{key}"),
                        required=inner.required,
                        default=raw.get("default"),
                    )
                )
            order = {key: index for index, key in enumerate(schema.get("properties", {}))}
            fields.sort(key=lambda field: order[field.key])
            if len({field.attribute for field in fields}) != len(fields):
                self._complain(place, f"two fields of {name} have one Python name")
            out.append(
                Model(name=name, description=self._prose(schema, place, name), fields=fields)
            )
        return out

    def _prose(self, raw: dict[str, Any], place: tuple[str | int, ...], what: str) -> str:
        text = raw.get("description", "")
        if not text:
            self._complain(place, f"{what} has no description")
        return str(text)

    def _type(
        self, prop: PropertyProtocol, raw: dict[str, Any], place: tuple[str | int, ...]
    ) -> Type:
        """Name the Python type of a property and the decoder that reads it."""
        if "$ref" in raw:
            target = self.document.resolve(raw["$ref"])
            place = ("components", "schemas", raw["$ref"].rsplit("/", 1)[1])
            raw = target
        match prop:
            case StringProperty():
                return Type("str", "string")
            case BooleanProperty():
                return Type("bool", "boolean")
            case IntProperty():
                minimum = raw.get("minimum")
                return Type("int", "integer()" if minimum is None else f"integer({minimum})")
            case FloatProperty():
                return Type("float", "number")
            case DateTimeProperty():
                return Type("datetime", "timestamp")
            case FileProperty():
                return Type("bytes", "binary")
            case LiteralEnumProperty():
                values = ", ".join(f'"{value}"' for value in raw["enum"])
                return Type(f"Literal[{values}]", f"choice({values})")
            case ListProperty():
                item = self._type(prop.inner_property, raw["items"], (*place, "items"))
                least = raw.get("minItems")
                suffix = "" if least is None else f", {least}"
                return Type(
                    f"list[{item.annotation}]", f"array({item.decoder}{suffix})", item.models
                )
            case UnionProperty():
                return self._union(prop, raw, place)
            case ModelProperty() if _is_map(prop):
                return self._map(prop, raw, place)
            case ModelProperty():
                name = str(prop.class_info.name)
                return Type(name, f'model("{name}")', frozenset((name,)))
            case AnyProperty():
                return Type("Any", "anything")
        self._complain(place, f"the type {type(prop).__name__} cannot be generated")
        return Type("Any", "anything")

    def _map(self, prop: ModelProperty, raw: dict[str, Any], place: tuple[str | int, ...]) -> Type:
        inner = raw.get("additionalProperties")
        if not isinstance(inner, dict) or prop.additional_properties is None:
            return Type("dict[str, Any]", "mapping(anything)")
        item = self._type(prop.additional_properties, inner, (*place, "additionalProperties"))
        if item.nullable:
            return Type(
                f"dict[str, {item.annotation} | None]",
                f"mapping(nullable({item.decoder}))",
                item.models,
            )
        return Type(f"dict[str, {item.annotation}]", f"mapping({item.decoder})", item.models)

    def _union(
        self, prop: UnionProperty, raw: dict[str, Any], place: tuple[str | int, ...]
    ) -> Type:
        others = [inner for inner in prop.inner_properties if not isinstance(inner, NoneProperty)]
        if len(others) != 1 or len(others) == len(prop.inner_properties):
            self._complain(place, "only a union of one type with null can be generated")
            return Type("Any", "anything")
        branches = [
            branch
            for branch in raw.get("oneOf", raw.get("anyOf", []))
            if branch.get("type") != "null"
        ]
        inner = self._type(others[0], branches[0] if branches else raw, place)
        return Type(inner.annotation, inner.decoder, inner.models, nullable=True)

    # --- operations

    def operations(self) -> list[Operation]:
        codes = {row["code"] for row in self.document.data["x-error-codes"]}
        aliases: dict[str, list[str]] = {}
        main: dict[str, tuple[str, str, dict[str, Any]]] = {}
        by_name: set[str] = set()
        for path, method, raw in routes(self.document):
            name = raw["x-operation"]
            if path == f"/{name}":
                by_name.add(name)
            elif path.count("/") == 1 and method == "post":
                aliases.setdefault(name, []).append(path[1:])
            elif name in main:
                self._complain(("paths", path, method), f"{name} has two routes under /v1")
            else:
                main[name] = (path, method, raw)
        for name in by_name - set(main):
            self._complain(("paths", f"/{name}"), f"{name} has no route under /v1")
        out = []
        for name, (path, method, raw) in main.items():
            if name not in by_name:
                self._complain(("paths", path, method), f"{name} has no route POST /{name}")
            for code in raw.get("x-codes", ()):
                if code not in codes:
                    self._complain(
                        ("paths", path, method, "x-codes"), f"{name}: no error code {code}"
                    )
            if (operation := self._operation(name, path, method, raw, aliases)) is not None:
                out.append(operation)
        return out

    def _operation(
        self, name: str, path: str, method: str, raw: dict[str, Any], aliases: dict[str, list[str]]
    ) -> Operation | None:
        place = ("paths", path, method)
        endpoint = self._endpoints[snake(raw["operationId"])]
        missing = [
            key for key in ("x-request", "x-response", "summary", "description") if not raw.get(key)
        ]
        if missing:
            self._complain(place, f"{name} lacks {', '.join(missing)}")
            return None
        for key in ("x-request", "x-response"):
            if raw[key] not in self._properties:
                self._complain((*place, key), f"{name}: there is no schema {raw[key]}")
                return None
        status, answer = self._answer(endpoint, raw, place)
        return Operation(
            name=name,
            summary=raw["summary"],
            description=raw["description"],
            tag=raw.get("tags", ["Service"])[0],
            http_method=method.upper(),
            path=path,
            request=raw["x-request"],
            response=raw["x-response"],
            path_fields=tuple(
                self._fed_field(raw, _text(prop.name), place) for prop in endpoint.path_parameters
            ),
            query=[
                QueryParameter(
                    name=_text(prop.name),
                    field=self._fed_field(raw, _text(prop.name), place),
                    type=self._query_type(raw, _text(prop.name)),
                    required=prop.required,
                )
                for prop in endpoint.query_parameters
                if _text(prop.name) != "delimiter"
            ],
            body=self._body(raw),
            body_field=raw.get("x-body-field"),
            answer=answer,
            answer_field=raw.get("x-response-field"),
            status=status,
            success=raw["responses"][str(status)].get("description", ""),
            codes=tuple(raw.get("x-codes", ())),
            repeatable=bool(raw.get("x-repeatable", False)),
            aliases=tuple(aliases.get(name, ())),
        )

    def _parameter(self, raw: dict[str, Any], name: str) -> dict[str, Any]:
        for entry in raw.get("parameters", ()):
            parameter = self.document.resolve(entry["$ref"]) if "$ref" in entry else entry
            if parameter["name"] == name:
                return dict(parameter)
        raise KeyError(name)

    def _fed_field(self, raw: dict[str, Any], name: str, place: tuple[str | int, ...]) -> str:
        key = self._parameter(raw, name).get("x-field")
        request = self._properties.get(raw["x-request"])
        known = (
            set()
            if request is None
            else {
                _text(prop.name)
                for prop in [
                    *(request.required_properties or ()),
                    *(request.optional_properties or ()),
                ]
            }
        )
        if key not in known:
            self._complain(
                (*place, "parameters"),
                f"parameter {name} feeds {key}, which {raw['x-request']} does not have",
            )
            return name
        return snake(key)

    def _query_type(self, raw: dict[str, Any], name: str) -> str:
        """The JSON type of the request field that the parameter feeds."""
        parameter = self._parameter(raw, name)
        fields = self.document.data["components"]["schemas"][raw["x-request"]]["properties"]
        schema = fields.get(parameter.get("x-field"), parameter["schema"])
        if "$ref" in schema:
            schema = self.document.resolve(schema["$ref"])
        kind = schema["type"]
        return str(next(k for k in kind if k != "null") if isinstance(kind, list) else kind)

    def _body(self, raw: dict[str, Any]) -> str:
        if "x-body-field" in raw:
            return "FIELD"
        content = raw.get("requestBody", {}).get("content", {})
        return "ARROW" if STREAM in content else "JSON" if content else "NONE"

    def _answer(
        self, endpoint: Endpoint, raw: dict[str, Any], place: tuple[str | int, ...]
    ) -> tuple[int, str]:
        good = [key for key in raw.get("responses", {}) if key.startswith("2")]
        if len(good) != 1:
            self._complain((*place, "responses"), "exactly one 2xx response is needed")
            return 200, "JSON"
        content = raw["responses"][good[0]].get("content", {})
        if "x-response-field" in raw:
            answer = "FIELD"
        else:
            answer = "ARROW" if FILE in content else "JSON" if content else "NONE"
        return int(good[0]), answer


def _errors(document: Document) -> list[ErrorKind]:
    problems: list[str] = []
    rows = []
    for index, row in enumerate(document.data["x-error-codes"]):
        place = ("x-error-codes", index)
        missing = [
            key for key in ("code", "name", "status", "description") if row.get(key) in (None, "")
        ]
        if missing:
            problems.append(document.problem(place, f"error code lacks {', '.join(missing)}"))
            continue
        rows.append(
            ErrorKind(
                code=row["code"],
                name=row["name"],
                status=row["status"],
                description=row["description"],
                extends=row.get("extends"),
            )
        )
    names = {row.code: row.name for row in rows if row.extends is None}
    for kind in rows:
        if kind.code not in names:
            problems.append(
                document.problem(
                    ("x-error-codes",), f"{kind.name}: no plain error has code {kind.code}"
                )
            )
        kind.code_name = names.get(kind.code, kind.name)
    twice = [
        code for code, n in Counter(row.code for row in rows if not row.extends).items() if n > 1
    ]
    problems += [
        document.problem(("x-error-codes",), f"error code {code} is there twice") for code in twice
    ]
    if problems:
        raise SpecError(problems)
    return rows


def _is_map(prop: ModelProperty) -> bool:
    """An object with no fields of its own is a map."""
    no_fields = not prop.required_properties and not prop.optional_properties
    return no_fields and "properties" not in prop.data.model_fields_set


def _text(value: Any) -> str:
    getter = getattr(value, "get_untrusted_value", None)
    return str(getter() if getter is not None else value)
