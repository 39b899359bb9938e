"""Converts schemas to `Model`s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve
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

from .document import Document, Place, Problem
from .driver import text
from .model import ANYTHING, Field, Model, Type


class SchemaReader:
    """Converts the parser's schemas to `Model`s, and collects problems."""

    def __init__(self, document: Document, parsed: Mapping[str, ModelProperty]) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._parsed = parsed

    def _complain(self, place: Place, cause: str) -> None:
        self.problems.append(self._document.problem(place, cause))

    def models(self) -> list[Model]:
        """Convert every object with fields; other schemas are maps or aliases of plain types."""
        return [
            self._model(name, schema, self._parsed[name])
            for name, schema in self._document.data["components"].get("schemas", {}).items()
            if "properties" in schema
        ]

    def _model(self, name: str, schema: dict[str, Any], parsed: ModelProperty) -> Model:
        place = ("components", "schemas", name)
        properties = {
            text(prop.name): prop
            for prop in [*(parsed.required_properties or ()), *(parsed.optional_properties or ())]
        }
        fields = []
        for key, raw in schema["properties"].items():
            where = (*place, "properties", key)
            fields.append(
                Field(
                    key=key,
                    type=self._type(properties[key], raw, where),
                    description=self._prose(raw, where, f"{name}.{key}"),
                    required=properties[key].required,
                    default=raw.get("x-client-default", raw.get("default")),
                    optional_for_caller="x-client-default" in raw,
                )
            )
        return Model(name=name, description=self._prose(schema, place, name), fields=fields)

    def _prose(self, raw: dict[str, Any], place: Place, what: str) -> str:
        prose = str(raw.get("description", "")).strip()
        if not prose:
            self._complain(place, f"{what} has no description")
        return prose

    def _type(
        self,
        prop: PropertyProtocol,
        raw: dict[str, Any],
        place: Place,
        above: frozenset[str] = frozenset(),
    ) -> Type:
        """Return the Python type of a property and its decoder.

        Args:
            above: the references that led to this property, for detecting cycles.
        """
        if isinstance(prop, ModelProperty):
            # A reference contains a copy, which may be older than the complete object.
            prop = self._parsed.get(str(prop.class_info.name), prop)
            if not is_map(prop):
                return Type.of(str(prop.class_info.name))
        while "$ref" in raw:
            if raw["$ref"] in above:
                self._complain(place, f"{raw['$ref']} contains itself")
                return ANYTHING
            above |= {raw["$ref"]}
            place = ("components", "schemas", raw["$ref"].rsplit("/", 1)[1])
            raw = self._document.resolve(raw["$ref"])
        match prop:
            case StringProperty():
                sizes = _bounds(raw, min_length="minLength", max_length="maxLength")
                return Type.plain("str", f"text({sizes})" if sizes else "string")
            case BooleanProperty():
                return Type.plain("bool", "boolean")
            case IntProperty():
                bounds = _bounds(raw, maximum="maximum")
                least = str(raw.get("minimum", ""))
                return Type.plain("int", f"integer({', '.join(filter(None, (least, bounds)))})")
            case FloatProperty():
                return Type.plain("float", "number")
            case DateTimeProperty():
                return Type.plain("datetime", "timestamp")
            case FileProperty():
                return Type.plain("bytes", "binary")
            case LiteralEnumProperty():
                values = ", ".join(map(repr, raw["enum"]))
                return Type.plain(f"Literal[{values}]", f"choice({values})")
            case ListProperty():
                item = self._part(prop.inner_property, raw["items"], (*place, "items"), above)
                if raw.get("x-one-or-many"):
                    return item.within("list[{}]", "one_or_many({})")
                least = str(raw.get("minItems", ""))
                bounds = _bounds(raw, max_items="maxItems", unique="uniqueItems")
                arguments = ", ".join(filter(None, ("{}", least, bounds)))
                return item.within("list[{}]", f"array({arguments})")
            case UnionProperty():
                return self._union(prop, raw, place, above)
            case ModelProperty():
                return self._map(prop, raw, place, above)
            case AnyProperty():
                return ANYTHING
        self._complain(place, f"the type {type(prop).__name__} cannot be generated")
        return ANYTHING

    def _part(
        self, prop: PropertyProtocol, raw: dict[str, Any], place: Place, above: frozenset[str]
    ) -> Type:
        """Return the item type of an array or map, including an explicit null."""
        part = self._type(prop, raw, place, above)
        return part.within("{} | None", "nullable({})") if part.nullable else part

    def _map(
        self, prop: ModelProperty, raw: dict[str, Any], place: Place, above: frozenset[str]
    ) -> Type:
        inner = raw.get("additionalProperties")
        if not isinstance(inner, dict) or prop.additional_properties is None:
            return ANYTHING.within("dict[str, {}]", "mapping({})")
        place = (*place, "additionalProperties")
        value = self._part(prop.additional_properties, inner, place, above)
        return value.within("dict[str, {}]", "mapping({})")

    def _union(
        self, prop: UnionProperty, raw: dict[str, Any], place: Place, above: frozenset[str]
    ) -> Type:
        others = [inner for inner in prop.inner_properties if not isinstance(inner, NoneProperty)]
        if len(others) != 1 or len(others) == len(prop.inner_properties):
            self._complain(place, "only unions of one type with null can be generated")
            return ANYTHING
        for key in ("oneOf", "anyOf"):
            for index, branch in enumerate(raw.get(key, ())):
                if branch.get("type") != "null":
                    raw, place = branch, (*place, key, index)
        return evolve(self._type(others[0], raw, place, above), nullable=True)


def _bounds(raw: dict[str, Any], **keywords: str) -> str:
    """Return the arguments of a decoder, for those keywords that a schema has.

    Args:
        keywords: the keyword for each argument.
    """
    values = {name: raw.get(key, False) for name, key in keywords.items()}
    return ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not False)


def is_map(prop: ModelProperty) -> bool:
    """Return whether an object is a map, that is, has no fields."""
    return prop.data.properties is None
