"""Converts schemas of any OpenAPI 3 document to the notation that codegen reads.

Codegen reads a subset of OpenAPI 3.1 in which every part has an effect (see `check`). Equivalent
notations are converted, nested objects become separate models, and keywords that neither the client
nor the server can enforce are omitted and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from .check import CLASS_NAME, FORMATS, RESERVED, SIZES, has_type
from .document import Document, target
from .model import attribute

__all__ = ["Converter", "as_list", "camel", "named", "nested", "reference_of", "without_null"]

MODELS = "#/components/schemas/"
# Keywords without an effect on the data that is exchanged.
SILENT = frozenset(
    {"title", "$comment", "xml", "readOnly", "writeOnly", "discriminator", "nullable", "const"}
)
KEPT = frozenset({"description", "deprecated", "example", "examples", "externalDocs"})
HANDLED = frozenset(
    {"$ref", "type", "format", "enum", "default", "properties", "required", "additionalProperties"}
    | {"items", "allOf", "oneOf", "anyOf", "minimum", "maximum", "propertyNames", "$defs"}
    | {"exclusiveMinimum", "exclusiveMaximum"}
    | set(SIZES)
)
NULL = {"type": "null"}

Json = dict[str, Any]


def camel(text: str) -> str:
    """Return a name in CamelCase."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", text))


def named(model: str) -> Json:
    """Return a reference to a model."""
    return {"$ref": MODELS + model}


def reference_of(schema: Any) -> str | None:
    """Return the model that a schema refers to, directly or in a union with null."""
    if not isinstance(schema, dict):
        return None
    plain = without_null(schema)
    found = plain.get("$ref")
    if isinstance(found, str) and found.startswith(MODELS):
        return found.removeprefix(MODELS)
    return None


def without_null(schema: Json) -> Json:
    """Return the other alternative of a union with null; other schemas are returned unchanged."""
    for key in ("oneOf", "anyOf"):
        branches = [each for each in schema.get(key, ()) if each != NULL]
        if len(branches) == 1 and isinstance(branches[0], dict):
            return branches[0]
    return schema


@define
class Converter:
    """Converts the schemas of one document.

    Args:
        document: the document, which is not changed.
    """

    document: Document
    notes: list[str] = field(factory=list)
    """Lossy conversions, one line each."""
    models: dict[str, Json] = field(factory=dict)
    """Converted models, including those made from nested objects."""
    _names: dict[str, str] = field(factory=dict)
    _open: set[str] = field(factory=set)
    """Models that are being combined into another one."""

    def __attrs_post_init__(self) -> None:
        raw = self._raw
        for name in raw:
            self._names[name] = self._free(name, raw)

    @property
    def _raw(self) -> Json:
        components = self.document.data.get("components")
        schemas = components.get("schemas") if isinstance(components, dict) else None
        return schemas if isinstance(schemas, dict) else {}

    def _free(self, name: str, others: Mapping[str, Any]) -> str:
        """Return a name that codegen accepts for a model."""
        fixed = name if CLASS_NAME.fullmatch(name) else camel(name)
        if not CLASS_NAME.fullmatch(fixed):
            fixed = f"Model{fixed}"
        if fixed in RESERVED or (fixed.endswith("Error") and fixed != "Error") or fixed == "Error":
            fixed += "Content"
        while fixed != name and (fixed in others or fixed in self._names.values()):
            fixed += "2"
        if fixed != name:
            self.notes.append(f"model {name}: is named {fixed}")
        return fixed

    def convert_models(self, known: Mapping[str, Any]) -> None:
        """Convert all models.

        Args:
            known: the models of the annotated specification, whose names nested objects keep.
        """
        for name, raw in self._raw.items():
            fixed = self._names[name]
            self.models[fixed] = self._model(raw, fixed, known.get(fixed))

    def _model(self, raw: Any, name: str, known: Any) -> Json:
        flat = self._flat(raw, name)
        if "$ref" in flat:  # the parser does not read a model that is a reference
            flat = self._followed(flat, name)
            raw = {key: value for key, value in flat.items() if key != "nullable"}
        if not _map(flat.get("properties")):
            return self.schema(raw, name, known)
        return self._object(flat, name, known if isinstance(known, dict) else {})

    def _followed(self, flat: Json, where: str) -> Json:
        """Return the model that a converted reference names, without combinations."""
        seen: set[str] = set()
        while "$ref" in flat:
            model = flat["$ref"].removeprefix(MODELS)
            if model in seen or model in self._open:
                self.notes.append(f"{where}: {model} refers to itself; any value is accepted")
                return {}
            seen.add(model)
            self._open.add(model)
            raw = self._raw[next(key for key, name in self._names.items() if name == model)]
            flat = self._flat(raw, where)
            self._open.discard(model)
        return flat

    def _object(self, raw: Json, name: str, known: Json) -> Json:
        """Convert an object with fields."""
        found: Json = {key: raw[key] for key in raw if key in KEPT or key.startswith("x-")}
        found["type"] = "object"
        fields: Json = {}
        others = known.get("properties", {})
        for key, inner in _map(raw.get("properties")).items():
            where = f"{name}.{key}"
            own = attribute(key)
            if not own.isidentifier() or own.startswith("_"):
                self.notes.append(f"{where}: is omitted, because it cannot be a name in Python")
                continue
            if own in map(attribute, fields):
                self.notes.append(f"{where}: is omitted, because another field is {own} in Python")
                continue
            fields[key] = self.schema(inner, where, others.get(key), name + camel(key))
        required = [key for key in as_list(raw.get("required")) if key in fields]
        if required:
            found["required"] = list(dict.fromkeys(required))
        found["properties"] = fields
        if raw.get("additionalProperties") not in (None, False):
            self.notes.append(f"{name}: further fields are ignored")
        self._note_rest(raw, name)
        return found

    # --- any schema

    def schema(self, raw: Any, where: str, known: Any = None, name: str | None = None) -> Json:
        """Return a schema in codegen's notation.

        Args:
            raw: the schema.
            where: its place, for notes.
            known: the same schema in the annotated specification, if there is one.
            name: name of the model for a nested object with fields.
        """
        if not isinstance(raw, dict):
            if raw is False:
                self.notes.append(f"{where}: accepts any value, although the document allows none")
            return {}
        prose = {key: raw[key] for key in raw if key in KEPT or key.startswith("x-")}
        flat = self._flat(raw, where)
        nullable = bool(flat.pop("nullable", False))
        if "$ref" in flat:
            model = {"$ref": flat["$ref"]}
            return prose | ({"oneOf": [model, dict(NULL)]} if nullable else model)
        known = without_null(known) if isinstance(known, dict) else {}
        if isinstance(flat.get("properties"), dict) and flat["properties"] and name is not None:
            model = named(self._nested(flat, name, known))
            return prose | ({"oneOf": [model, dict(NULL)]} if nullable else model)
        found = self._plain(flat, where, known, name or camel(where))
        if nullable and "enum" in found:
            return prose | {"oneOf": [found, dict(NULL)]}
        if nullable and "type" in found:
            found["type"] = [found["type"], "null"]
        return prose | found

    def _nested(self, flat: Json, name: str, known: Json) -> str:
        """Add a model for a nested object, and return its name."""
        chosen = reference_of(known)
        if chosen is None or chosen in self._names.values():
            chosen = name
            while chosen in self.models or chosen in self._names.values():
                chosen += "2"
        self.models[chosen] = {}  # reserves the name
        flat = {key: value for key, value in flat.items() if not key.startswith("x-")}
        self.models[chosen] = self._object(flat, chosen, {})
        return chosen

    def _flat(self, raw: Any, where: str) -> Json:
        """Return a schema without combinations, references to other parts, and null types.

        The entry ``nullable`` states whether null is allowed.
        """
        flat = dict(raw) if isinstance(raw, dict) else {}
        nullable = flat.pop("nullable", False) is True
        reference = flat.get("$ref")
        if isinstance(reference, str):
            model = reference.removeprefix(MODELS)
            if reference.startswith(MODELS) and model in self._names:
                return {"$ref": MODELS + self._names[model], "nullable": nullable}
            found = target(self.document.data, reference)
            flat.pop("$ref")
            if found is None:
                self.notes.append(f"{where}: {reference} does not exist; any value is accepted")
            elif reference in self._open:
                self.notes.append(f"{where}: {reference} refers to itself; any value is accepted")
            else:
                self._open.add(reference)
                flat = self._flat(found[1], where) | flat
                self._open.discard(reference)
        every = [self._flat(each, where) for each in as_list(flat.pop("allOf", None))]
        if len(every) == 1 and "$ref" in every[0] and not _rules(flat):
            return every[0] | {"nullable": nullable or every[0]["nullable"]}
        whole: Json = {}
        for each in every:
            whole = _merged(whole, self._followed(each, where))
        if every:
            flat = _merged(whole, flat)
        for key in ("oneOf", "anyOf"):
            if key in flat:
                flat, more = self._alternatives(flat, key, where)
                nullable = nullable or more
                if "$ref" in flat:
                    return flat | {"nullable": nullable or bool(flat.get("nullable"))}
        kinds = [each for each in as_list(flat.get("type")) if isinstance(each, str)]
        if isinstance(flat.get("type"), str):
            kinds = [flat["type"]]
        nullable = nullable or "null" in kinds or bool(flat.pop("nullable", False))
        kinds = [each for each in kinds if each != "null"]
        flat.pop("type", None)
        if len(kinds) == 1:
            flat["type"] = kinds[0]
        elif kinds:
            self.notes.append(f"{where}: is {' or '.join(kinds)}; any value is accepted")
            flat = {key: flat[key] for key in flat if key in KEPT or key.startswith("x-")}
        if "const" in flat and "enum" not in flat:
            flat["enum"] = [flat["const"]]
        if isinstance(flat.get("enum"), list):
            values = [each for each in flat["enum"] if each is not None]
            nullable = nullable or len(values) < len(flat["enum"])
            flat["enum"] = values
        return flat | {"nullable": nullable}

    def _alternatives(self, flat: Json, key: str, where: str) -> tuple[Json, bool]:
        """Return a schema without `oneOf` or `anyOf`, and whether null is an alternative."""
        branches = as_list(flat.pop(key))
        others = [each for each in branches if not _is_null(each)]
        has_null = len(others) < len(branches)
        if len(others) == 1:
            only = self._flat(others[0], where)
            if "$ref" in only:
                return only, has_null
            return _merged(only, flat), has_null
        enums = [self._flat(each, where).get("enum") for each in others]
        if others and all(isinstance(each, list) for each in enums):
            values = [value for each in enums for value in each or ()]
            return flat | {"enum": list(dict.fromkeys(values))}, has_null
        if others and not flat.get("properties"):
            self.notes.append(f"{where}: is a choice of {len(others)} types; any value is accepted")
            flat = {name: flat[name] for name in flat if name in KEPT or name.startswith("x-")}
        return flat, has_null

    def _plain(self, flat: Json, where: str, known: Json, name: str) -> Json:
        """Convert a schema without references and alternatives."""
        kind = flat.get("type") or _implied(flat)
        found: Json = {}
        if kind is not None:
            found["type"] = kind
        if kind == "array":
            found["items"] = self._items(flat, where, known, name)
        elif kind == "object":
            inner = flat.get("additionalProperties")
            patterns = list(_map(flat.get("patternProperties")).values())
            if inner is None and len(patterns) == 1:
                inner = patterns[0]
            if isinstance(inner, dict):
                known_inner = known.get("additionalProperties")
                found["additionalProperties"] = self.schema(
                    inner, f"{where}.*", known_inner, f"{name}Value"
                )
        elif kind == "string" and isinstance(flat.get("enum"), list) and flat["enum"]:
            found["enum"] = flat["enum"]
        elif "enum" in flat:
            self.notes.append(f"{where}: the values {_short(flat['enum'])} are not enforced")
        self._add_format(found, flat, where)
        self._add_bounds(found, flat, where)
        if "default" in flat and flat["default"] is not None:
            if has_type(flat["default"], str(kind), found):
                found["default"] = flat["default"]
            else:
                self.notes.append(f"{where}: the default {_short(flat['default'])} is omitted")
        self._note_rest(flat, where)
        return found

    def _items(self, flat: Json, where: str, known: Json, name: str) -> Json:
        if "items" in flat:
            return self.schema(flat["items"], f"{where}[]", known.get("items"), f"{name}Item")
        if "prefixItems" in flat:
            self.notes.append(f"{where}: items of different types; any value is accepted")
        return {}

    def _add_format(self, found: Json, flat: Json, where: str) -> None:
        form, kind = flat.get("format"), found.get("type")
        if form is None:
            return
        if form in FORMATS.get(str(kind), ()) and "enum" not in found:
            found["format"] = form
        else:
            self.notes.append(f"{where}: the format {form} is not enforced")

    def _add_bounds(self, found: Json, flat: Json, where: str) -> None:
        kind = found.get("type")
        for key, applies in SIZES.items():
            value = flat.get(key)
            if value in (None, False, 0):
                continue
            if kind == applies and "enum" not in found and "format" not in found:
                found[key] = value
            else:
                self.notes.append(f"{where}: {key} {value} is not enforced")
        for key, exclusive, step in (
            ("minimum", "exclusiveMinimum", 1),
            ("maximum", "exclusiveMaximum", -1),
        ):
            value, strict = flat.get(key), flat.get(exclusive)
            if strict is True and isinstance(value, int):
                value += step
            elif isinstance(strict, int) and not isinstance(strict, bool):
                value = strict + step
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if value is None:
                continue
            if kind == "integer" and type(value) is int:
                found[key] = value
            else:
                self.notes.append(f"{where}: {key} {value} is not enforced")

    def _note_rest(self, flat: Json, where: str) -> None:
        for key, value in flat.items():
            if key in HANDLED or key in KEPT or key in SILENT or key.startswith("x-"):
                continue
            self.notes.append(f"{where}: {key} {_short(value)} is not enforced")


def _implied(flat: Json) -> str | None:
    """Return the type that the other keywords of a schema imply."""
    if "items" in flat or "prefixItems" in flat:
        return "array"
    if any(key in flat for key in ("properties", "additionalProperties", "patternProperties")):
        return "object"
    values = flat.get("enum")
    if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
        return "string"
    return None


def _rules(flat: Json) -> bool:
    """Return whether a schema has keywords that restrict its values."""
    return any(key not in KEPT and key not in SILENT and key[:2] != "x-" for key in flat)


def _merged(one: Json, other: Json) -> Json:
    """Return a schema with the rules of both; those of `other` have precedence."""
    found = one | other
    fields = _map(one.get("properties")) | _map(other.get("properties"))
    if fields:
        found["properties"] = fields
    required = [*as_list(one.get("required")), *as_list(other.get("required"))]
    if required:
        found["required"] = list(dict.fromkeys(required))
    return found


def _is_null(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("null", ["null"])


def _map(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def nested(schema: Any) -> Iterator[str]:
    """Return the models that a schema refers to."""
    if isinstance(schema, dict):
        found = schema.get("$ref")
        if isinstance(found, str) and found.startswith(MODELS):
            yield found.removeprefix(MODELS)
        for value in schema.values():
            yield from nested(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nested(value)
