"""Compares the specification with another OpenAPI document of the same protocol.

Everything that affects the data exchanged between a client and a server is compared. Prose
(summaries, descriptions, titles, examples, tags), servers and extensions (`x-`) are not compared.
Different notations with the same meaning are equal: `nullable` and a type list with null; a union
of a type with null and the nullable type; `allOf` with one schema and that schema itself; a
reference and the same schema inline.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from .check import METHODS
from .document import Document, Place, Problem, SpecError, target

__all__ = ["differences", "read"]

MODEL = "#/components/schemas/"
# Minimum fraction of the smaller document's operations and models that both documents must have in
# common.
SHARED = 1 / 3
PROSE = frozenset(
    {"title", "description", "summary", "example", "examples", "externalDocs", "tags", "$comment"}
)
# Default values of absent keywords.
UNSET: dict[str, Any] = {
    "deprecated": False,
    "readOnly": False,
    "writeOnly": False,
    "uniqueItems": False,
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "exclusiveMinimum": False,
    "exclusiveMaximum": False,
}
PARAMETER_UNSET = {"deprecated": False, "allowReserved": False, "allowEmptyValue": False}
STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
ONE_SCHEMA = {
    "items": "[]",
    "contains": "[contained]",
    "unevaluatedItems": "[more]",
    "additionalProperties": ".*",
    "unevaluatedProperties": ".*",
    "propertyNames": ".(name)",
    "not": "(not)",
    "if": "(if)",
    "then": "(then)",
    "else": "(else)",
    "contentSchema": "(content)",
}
NAMED_SCHEMAS = {
    "patternProperties": "./{}/",
    "dependentSchemas": "(with {})",
    "$defs": "#{}",
    "prefixItems": "[{}]",
}
ALTERNATIVES = ("oneOf", "anyOf")
HANDLED = frozenset(
    {"$ref", "type", "nullable", "properties", "required", "allOf"} | set(ALTERNATIVES)
)
"""Keywords for which a parsed schema has a separate attribute."""


def read(path: Path) -> Document:
    """Parse an OpenAPI 3 document in YAML or JSON; it need not be suitable for codegen.

    Raises:
        SpecError: the file cannot be read, or is not an OpenAPI 3 document.
    """
    document = Document(path, strict=False)
    _check_kind(document)
    return document


def differences(ours: Document, theirs: Document) -> Iterator[Problem]:
    """Return the differences with line numbers in `theirs`, or in `ours` for parts that only exist
    there.

    Raises:
        SpecError: one of them is not an OpenAPI 3 document, or they describe different APIs.
    """
    _check_kind(ours)
    return _Comparison(_Side(ours), _Side(theirs)).run()


def _check_kind(document: Document) -> None:
    version = document.data.get("openapi")
    if not isinstance(version, str) or not version.startswith("3."):
        cause = "is not an OpenAPI document: it has no `openapi: 3...`"
    elif not isinstance(document.data.get("paths", {}), dict):
        cause = "is not an OpenAPI document: its paths are not a mapping"
    else:
        return
    raise SpecError([Problem(document.path, None, cause)])


@frozen
class _Part:
    """A value in a document, with its place."""

    document: Document = field(repr=False)
    place: Place
    value: Any

    @property
    def is_map(self) -> bool:
        return isinstance(self.value, dict)

    def get(self, key: str) -> _Part | None:
        """Return the entry `key`, or None if it is missing or null."""
        if not isinstance(self.value, dict) or self.value.get(key) is None:
            return None
        return _Part(self.document, (*self.place, key), self.value[key])

    def entries(self, key: str | None = None) -> dict[str, _Part]:
        """Return the entries of this mapping, or of the mapping at `key`."""
        part = self if key is None else self.get(key)
        if part is None or not isinstance(part.value, dict):
            return {}
        return {
            name: _Part(part.document, (*part.place, name), value)
            for name, value in part.value.items()
        }

    def elements(self, key: str) -> list[_Part]:
        """Return the elements of the list at `key`."""
        part = self.get(key)
        if part is None or not isinstance(part.value, list):
            return []
        return [
            _Part(part.document, (*part.place, index), value)
            for index, value in enumerate(part.value)
        ]

    @property
    def reference(self) -> str | None:
        found = self.value.get("$ref") if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else None

    def followed(self) -> _Part | None:
        """Return the target of a local reference, or None if there is none."""
        found = target(self.document.data, self.reference or "")
        return None if found is None else _Part(self.document, *found)

    def resolved(self) -> _Part:
        """Return the final target of references, or the last reference if its target is missing."""
        part, seen = self, {self.place}
        while part.reference is not None:
            following = part.followed()
            if following is None or following.place in seen:
                break
            seen.add(following.place)
            part = following
        return part


@frozen
class _Schema:
    """The meaning of a schema, independent of its notation."""

    part: _Part
    reference: str | None = None
    """The name of the referenced model, or the text of other references."""
    kinds: frozenset[str] = frozenset()
    """JSON types except null; an empty set means any type."""
    nullable: bool = False
    fields: Mapping[str, _Part] = field(factory=dict)
    required: frozenset[str] = frozenset()
    keywords: Mapping[str, _Part] = field(factory=dict)
    alternatives: tuple[_Part, ...] = ()

    @property
    def kind(self) -> str:
        return " or ".join(sorted(self.kinds)) or "anything"


class _Side:
    """One of the two documents."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.root = _Part(document, (), document.data)
        components = self.root.get("components") or _Part(document, ("components",), {})
        self.models = components.entries("schemas")
        self.schemes = components.entries("securitySchemes")
        self.routes = dict(self._routes())

    def _routes(self) -> Iterator[tuple[str, _Route]]:
        found: dict[str, list[_Route]] = {}
        for section, prefix in (("paths", ""), ("webhooks", "webhook ")):
            for path, item in self.root.entries(section).items():
                if path.startswith("x-"):
                    continue
                item = item.resolved()
                for method in METHODS:
                    if (raw := item.get(method)) is not None and raw.is_map:
                        route = _Route(raw, item, method, prefix + path)
                        found.setdefault(route.name, []).append(route)
        for name, routes in found.items():
            for route in routes:
                yield (name if len(routes) == 1 else f"{name} ({route.text})"), route

    def schema(self, part: _Part, above: frozenset[Place] = frozenset()) -> _Schema:
        """Parse a schema; `above` contains the places of schemas into which it is merged."""
        raw = part.value
        if raw is False:
            return _Schema(part, kinds=frozenset(["nothing"]))
        if not isinstance(raw, dict):  # true, or no schema
            return _Schema(part)
        kind = raw.get("type")
        kinds = {str(each) for each in (kind if isinstance(kind, list) else [kind]) if each}
        nullable = raw.get("nullable") is True or "null" in kinds
        names = raw.get("required")
        found = _Schema(
            part,
            reference=part.reference and part.reference.removeprefix(MODEL),
            kinds=frozenset(kinds - {"null"}) or frozenset(["null"] if kinds else []),
            nullable=nullable,
            fields=part.entries("properties"),
            required=frozenset(map(str, names if isinstance(names, list) else [])),
            keywords=dict(_keywords(part)),
        )
        for key in ALTERNATIVES:
            branches = part.elements(key)
            others = [each for each in branches if not _is_null(each.value)]
            if len(others) < len(branches):
                found = evolve(found, nullable=True)
            if len(others) == 1:
                found = self._merged(found, others[0], above | {part.place})
            elif others:
                found = evolve(found, alternatives=(*found.alternatives, *others))
        every = part.elements("allOf")
        for each in every:
            if len(every) > 1 and each.reference and each.followed() is not None:
                each = each.resolved()
            found = self._merged(found, each, above | {part.place})
        return found

    def _merged(self, schema: _Schema, part: _Part, above: frozenset[Place]) -> _Schema:
        """Return `schema` with the rules of another schema added to it."""
        if part.place in above:
            return schema
        added = self.schema(part, above)
        references = [each for each in (schema.reference, added.reference) if each]
        return _Schema(
            schema.part,
            reference=" and ".join(references) or None,
            kinds=schema.kinds or added.kinds,
            nullable=schema.nullable or added.nullable,
            fields={**added.fields, **schema.fields},
            required=schema.required | added.required,
            keywords={**added.keywords, **schema.keywords},
            alternatives=(*schema.alternatives, *added.alternatives),
        )

    def resolve(self, schema: _Schema) -> _Schema | None:
        """Return a schema in which the reference is resolved."""
        part = schema.part
        if part.reference is None:  # the reference is inside allOf, oneOf or anyOf
            branches = [
                each for key in ("allOf", *ALTERNATIVES) for each in part.elements(key)
                if each.reference
            ]  # fmt: skip
            if len(branches) != 1:
                return None
            part = branches[0]
        end = part.resolved()
        if end.reference is not None:
            return None
        return self._merged(evolve(schema, reference=None), end, frozenset())


def _is_null(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("null", ["null"])


def _keywords(part: _Part) -> Iterator[tuple[str, _Part]]:
    """Return the keywords of a schema that have plain values, in the notation of OpenAPI 3.1."""
    entries = part.entries()
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.title()}"
        if part.value.get(exclusive) is True and bound in entries:
            entries[exclusive] = entries.pop(bound)
    for key, each in entries.items():
        if key in PROSE or key in HANDLED or key.startswith("x-"):
            continue
        if key in UNSET and _same(each.value, UNSET[key]):
            continue
        yield key, each


@frozen
class _Route:
    """An HTTP method of a path."""

    raw: _Part
    item: _Part
    method: str
    path: str

    @property
    def text(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def name(self) -> str:
        return str(self.raw.value.get("operationId") or self.text)

    @property
    def is_by_name(self) -> bool:
        """Whether this is the second route of an operation, `POST /<Name>`."""
        value = self.raw.value
        return "x-operation" in value and "x-request" not in value

    def parameters(self) -> dict[str, _Part]:
        """Return the parameters, including those that the path declares, by location and name."""
        found = {}
        for part in (self.item, self.raw):
            for each in part.elements("parameters"):
                end = each.resolved()
                found[_parameter_name(end)] = end
        return found


def _parameter_name(part: _Part) -> str:
    if part.reference is not None or not part.is_map:
        return str(part.reference or part.value)
    return f"{part.value.get('in')} {part.value.get('name')}"


class _Comparison:
    """Compares two documents recursively."""

    def __init__(self, ours: _Side, theirs: _Side) -> None:
        self.ours = ours
        self.theirs = theirs
        self.paired = self._pairs()
        self.responses = self._response_names()

    def run(self) -> Iterator[Problem]:
        yield from self._security("the document", self.ours.root, self.theirs.root)
        yield from self._schemes()
        yield from self._operations()
        models = self.ours.models, self.theirs.models
        for name in _names(*models):
            if all(name in side for side in models):
                yield from self._schema(name, models[0][name], models[1][name])
            else:
                mine, other = (side.get(name) for side in models)
                yield from self._both(f"model {name}", mine, other, self._schema)

    # --- operations

    def _pairs(self) -> list[tuple[str, _Route | None, _Route | None]]:
        """Pair the routes by the name of their operation, then by method and path."""
        ours, theirs = dict(self.ours.routes), dict(self.theirs.routes)
        if not any(route.is_by_name for route in theirs.values()):
            # Only this project has by-name routes.
            ours = {name: route for name, route in ours.items() if not route.is_by_name}
        pairs: list[tuple[str, _Route | None, _Route | None]] = [
            (name, ours.pop(name), theirs.pop(name)) for name in sorted(ours.keys() & theirs.keys())
        ]
        by_text = {route.text: name for name, route in theirs.items()}
        for name, route in sorted(ours.items()):
            other = by_text.get(route.text)
            pairs.append((name, route, theirs.pop(other) if other is not None else None))
        shared = sum(1 for _, mine, other in pairs if mine and other)
        pairs += [(name, None, route) for name, route in sorted(theirs.items())]
        self._check_protocol(shared)
        return pairs

    def _check_protocol(self, operations: int) -> None:
        """Reject a document that has too little in common with ours to be of the same protocol."""
        shared = operations + len(self.ours.models.keys() & self.theirs.models.keys())
        smaller = min(len(side.routes) + len(side.models) for side in (self.ours, self.theirs))
        if shared and shared >= smaller * SHARED:
            return
        info = self.theirs.root.entries("info")
        title = " ".join(str(info["title"].value).split()) if "title" in info else "untitled"
        cause = (
            f"describes another API ({title}): {operations} of its {len(self.theirs.routes)} "
            f"operations are in {self.ours.document.path.name}"
        )
        raise SpecError([Problem(self.theirs.document.path, None, cause)])

    def _operations(self) -> Iterator[Problem]:
        for name, mine, other in self.paired:
            if mine is None or other is None:
                route = mine or other
                assert route is not None
                side = "only here" if other is None else "only upstream"
                yield self._at(route.raw, f"operation {name}: {side} ({route.text})")
                continue
            if mine.name != other.name:
                yield self._values(name, "operationId", (mine.name, other.name), other.raw)
            if mine.text != other.text:
                yield self._values(name, "route", (mine.text, other.text), other.raw)
            yield from self._plain(name, mine.raw, other.raw, {"deprecated": False}, ("callbacks",))
            if mine.raw.get("security") or other.raw.get("security"):
                yield from self._security(name, mine.raw, other.raw)
            parameters = mine.parameters(), other.parameters()
            for key in _names(*parameters):
                one, two = (side.get(key) for side in parameters)
                required = two is not None and two.is_map and two.value.get("required") is True
                yield from self._both(
                    f"{name}, parameter {key}", one, two, self._parameter,
                    note=", required" if required else "",
                )  # fmt: skip
            one, two = (each.raw.get("requestBody") for each in (mine, other))
            yield from self._both(f"{name}, request body", one, two, self._body)
            answers = [
                {str(key).upper(): part for key, part in side.raw.entries("responses").items()}
                for side in (mine, other)
            ]
            for key in _names(*answers):
                if not key.startswith("X-"):
                    one, two = (side.get(key) for side in answers)
                    yield from self._both(f"{name}, response {key}", one, two, self._response)

    def _parameter(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        """Compare two parameters, or two response headers."""
        mine, other = mine.resolved(), other.resolved()
        yield from self._required(what, mine, other)
        yield from self._plain(what, mine, other, PARAMETER_UNSET)
        styles = [
            str(each.value.get("style") or STYLES.get(str(each.value.get("in")), "simple"))
            if each.is_map else "simple" for each in (mine, other)
        ]  # fmt: skip
        if styles[0] != styles[1]:
            yield self._values(what, "style", styles, other)
        spread = [
            each.value.get("explode", style == "form") if each.is_map else False
            for each, style in zip((mine, other), styles, strict=True)
        ]
        if spread[0] != spread[1]:
            yield self._values(what, "explode", spread, other)
        yield from self._schemas_at(what, mine, other)
        yield from self._content(what, mine, other)

    def _required(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        required_fields = [
            each.is_map and each.value.get("required", False) is True for each in (mine, other)
        ]
        if required_fields[0] != required_fields[1]:
            texts = _required(required_fields[1]), _required(required_fields[0])
            yield self._at(other, f"{what}: {texts[0]} upstream, {texts[1]} here")

    def _body(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        mine, other = mine.resolved(), other.resolved()
        yield from self._required(what, mine, other)
        yield from self._content(what, mine, other)

    def _response(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        names = mine.reference, other.reference
        if None not in names and self.responses.get(names[1] or "") != names[0]:
            yield self._values(what, "$ref", names, other)
        mine, other = mine.resolved(), other.resolved()
        if None not in (mine.reference, other.reference):
            return
        yield from self._content(what, mine, other)
        yield from self._plain(what, mine, other, {}, ("links",))
        headers = mine.entries("headers"), other.entries("headers")
        for key in _names(*headers):
            one, two = (side.get(key) for side in headers)
            yield from self._both(f"{what}, header {key}", one, two, self._parameter)

    def _response_names(self) -> dict[str, str]:
        """Map each shared response of theirs to the one of ours that most often replaces it."""
        counts: dict[str, Counter[str]] = {}
        for _, mine, other in self.paired:
            if mine is None or other is None:
                continue
            answers = mine.raw.entries("responses"), other.raw.entries("responses")
            for key in answers[0].keys() & answers[1].keys():
                names = answers[0][key].reference, answers[1][key].reference
                if names[0] and names[1]:
                    counts.setdefault(names[1], Counter())[names[0]] += 1
        # Responses with the same name are paired, regardless of how often each is used.
        known = {name for each in counts.values() for name in each}
        return {
            other: other if other in known else found.most_common(1)[0][0]
            for other, found in counts.items()
        }

    def _content(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        media = mine.entries("content"), other.entries("content")
        for key in _names(*media):
            one, two = (side.get(key) for side in media)
            yield from self._both(f"{what}, {key}", one, two, self._media)

    def _media(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        yield from self._schemas_at(what, mine, other)
        yield from self._plain(what, mine, other, {}, ("encoding",))

    def _schemas_at(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        """Compare the schemas of two parameters or bodies; a missing schema accepts anything."""
        schemas = mine.get("schema"), other.get("schema")
        if any(schemas):
            ours, theirs = (
                found or _Part(side.document, side.place, True)
                for found, side in zip(schemas, (mine, other), strict=True)
            )
            yield from self._schema(what, ours, theirs)

    # --- security

    def _schemes(self) -> Iterator[Problem]:
        """Compare authentication methods by their meaning, because their names are not sent."""
        sides = [
            {_scheme(part): (name, part) for name, part in side.schemes.items()}
            for side in (self.ours, self.theirs)
        ]
        for meaning in _names(*sides):
            mine, other = (side.get(meaning) for side in sides)
            if (found := mine or other) is not None and not (mine and other):
                side = "only here" if other is None else "only upstream"
                yield self._at(found[1], f"security scheme {found[0]}: {side} ({meaning})")

    def _security(self, what: str, mine: _Part, other: _Part) -> Iterator[Problem]:
        ours, theirs = _demands(mine, self.ours), _demands(other, self.theirs)
        where = other.get("security") or other
        if ours is None or theirs is None:
            if ours != theirs:
                yield self._values(
                    what, "security", (_listed(ours), _listed(theirs)), where, "as the document"
                )
            return
        for text in sorted(theirs - ours):
            yield self._at(where, f"{what}: security {text}: only upstream")
        for text in sorted(ours - theirs):
            yield self._at(where, f"{what}: security {text}: only here")

    # --- schemas

    def _schema(
        self,
        what: str,
        mine: _Part,
        other: _Part,
        above: frozenset[tuple[Place, Place]] = frozenset(),
    ) -> Iterator[Problem]:
        """Compare two schemas; `above` contains the pairs that enclose them."""
        pair = (mine.place, other.place)
        if pair in above:
            return
        above |= {pair}
        ours, theirs = self.ours.schema(mine), self.theirs.schema(other)
        if ours.reference != theirs.reference:
            inner = self._inner(ours, theirs)
            if inner is None:
                yield self._values(
                    what, "$ref", (ours.reference, theirs.reference), other, "an inline schema"
                )
            else:
                ours, theirs = inner
                ends = (mine.resolved().place, other.resolved().place)
                if ends in above - {(mine.place, other.place)}:
                    return
                above |= {ends}
        if ours.kinds != theirs.kinds:
            yield self._values(what, "type", (ours.kind, theirs.kind), other, at="type")
        if ours.nullable != theirs.nullable:
            texts = ["nullable" if each.nullable else "not nullable" for each in (theirs, ours)]
            yield self._at(other, f"{what}: {texts[0]} upstream, {texts[1]} here")
        yield from self._fields(what, ours, theirs, above)
        yield from self._alternatives(what, ours, theirs)
        yield from self._keywords(what, ours, theirs, above)

    def _inner(self, ours: _Schema, theirs: _Schema) -> tuple[_Schema, _Schema] | None:
        """Return both schemas inline if exactly one of them is a reference."""
        if ours.reference is not None and theirs.reference is not None:
            return None
        if ours.reference is not None:
            found = self.ours.resolve(ours)
            return None if found is None else (found, theirs)
        found = self.theirs.resolve(theirs)
        return None if found is None else (ours, found)

    def _fields(
        self, what: str, ours: _Schema, theirs: _Schema, above: frozenset[tuple[Place, Place]]
    ) -> Iterator[Problem]:
        for key in _names(ours.fields, theirs.fields):
            mine, other = ours.fields.get(key), theirs.fields.get(key)
            note = ", required" if key in theirs.required else ""
            yield from self._both(f"{what}.{key}", mine, other, self._schema, above, note=note)
        for key in sorted(ours.required ^ theirs.required):
            # If only one side has the field, the difference is already reported on the field's own
            # line.
            if (key in ours.fields) == (key in theirs.fields):
                upstream, here = (_required(key in each.required) for each in (theirs, ours))
                yield self._at(
                    theirs.fields.get(key) or theirs.part,
                    f"{what}.{key}: {upstream} upstream, {here} here",
                )

    def _alternatives(self, what: str, ours: _Schema, theirs: _Schema) -> Iterator[Problem]:
        sides = [
            {_written(each.value): each for each in schema.alternatives}
            for schema in (ours, theirs)
        ]
        for text in _names(*sides):
            mine, other = (side.get(text) for side in sides)
            if (found := other or mine) is not None and not (mine and other):
                side = "only here" if other is None else "only upstream"
                yield self._at(found, f"{what}: alternative {text}: {side}")

    def _keywords(
        self, what: str, ours: _Schema, theirs: _Schema, above: frozenset[tuple[Place, Place]]
    ) -> Iterator[Problem]:
        for key in _names(ours.keywords, theirs.keywords):
            mine, other = ours.keywords.get(key), theirs.keywords.get(key)
            if key in ONE_SCHEMA:
                yield from self._schema(
                    what + ONE_SCHEMA[key],
                    mine or _Part(ours.part.document, (*ours.part.place, key), key != "not"),
                    other or _Part(theirs.part.document, (*theirs.part.place, key), key != "not"),
                    above,
                )
            elif key in NAMED_SCHEMAS:
                named = [_numbered(each) if each else {} for each in (mine, other)]
                for name in _names(*named):
                    one, two = (side.get(name) for side in named)
                    where = what + NAMED_SCHEMAS[key].format(name)
                    yield from self._both(where, one, two, self._schema, above)
            elif key == "enum":
                yield from self._enum(what, ours, theirs)
            elif mine is None or other is None or not _same(mine.value, other.value):
                place = other or theirs.part
                unset = UNSET.get(key)
                values = [unset if each is None else each.value for each in (mine, other)]
                yield self._values(what, key, values, place)

    def _enum(self, what: str, ours: _Schema, theirs: _Schema) -> Iterator[Problem]:
        parts = ours.keywords.get("enum"), theirs.keywords.get("enum")
        values = [
            {_written(each) for each in part.value if each is not None or not schema.nullable}
            if part is not None and isinstance(part.value, list)
            else None
            for part, schema in zip(parts, (ours, theirs), strict=True)
        ]
        mine, other = values
        place = parts[1] or theirs.part
        if mine is None or other is None:
            if mine != other:
                texts = [None if each is None else sorted(each) for each in (mine, other)]
                cause = f"enum is {_enum_text(texts[1])} upstream, {_enum_text(texts[0])} here"
                yield self._at(place, f"{what}: {cause}")
            return
        for text in sorted(other - mine):
            yield self._at(place, f"{what}: enum value {text}: only upstream")
        for text in sorted(mine - other):
            yield self._at(place, f"{what}: enum value {text}: only here")

    # --- arbitrary parts

    def _both(
        self,
        what: str,
        mine: _Part | None,
        other: _Part | None,
        compare: Callable[..., Iterator[Problem]],
        *arguments: Any,
        note: str = "",
    ) -> Iterator[Problem]:
        """Compare two parts, or report a part that only one side has."""
        if mine is not None and other is not None:
            yield from compare(what, mine, other, *arguments)
        elif other is not None:
            yield self._at(other, f"{what}: only upstream{note}")
        elif mine is not None:
            yield self._at(mine, f"{what}: only here")

    def _plain(
        self, what: str, mine: _Part, other: _Part, unset: Mapping[str, Any],
        more: Iterable[str] = (),
    ) -> Iterator[Problem]:  # fmt: skip
        """Compare keys that have plain values."""
        for key in (*unset, *more):
            default = unset.get(key)
            parts = mine.get(key), other.get(key)
            values = [default if each is None else _canonical(each.value) for each in parts]
            if not _same(values[0], values[1]):
                yield self._values(what, key, values, parts[1] or other)

    def _values(
        self, what: str, key: str, values: Sequence[Any], place: _Part,
        unset: str = "not set", at: str | None = None,
    ) -> Problem:  # fmt: skip
        place = place.get(at or key) or place
        here, upstream = (unset if each is None else _text(each) for each in values)
        return self._at(place, f"{what}: {key} is {upstream} upstream, {here} here")

    def _at(self, part: _Part, cause: str) -> Problem:
        return part.document.problem(part.place, cause)


def _numbered(part: _Part) -> dict[str, _Part]:
    """Return the entries of a mapping, or the elements of a list by index."""
    if not isinstance(part.value, list):
        return part.entries()
    return {
        str(number): _Part(part.document, (*part.place, number), value)
        for number, value in enumerate(part.value)
    }


def _names(mine: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(mine.keys() | other.keys())


def _required(value: bool) -> str:
    return "required" if value else "optional"


def _same(mine: Any, other: Any) -> bool:
    return _written(mine) == _written(other)


def _written(value: Any) -> str:
    """Return a value as canonical JSON: 1 and 1.0 are equal, true and 1 are not."""
    return json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False)


def _canonical(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {
                key: _canonical(each)
                for key, each in value.items()
                if key not in PROSE and not key.startswith("x-")
            }
        case list():
            return [_canonical(each) for each in value]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else _written(value)


def _enum_text(values: list[str] | None) -> str:
    return "not set" if values is None else f"[{', '.join(values)}]"


def _scheme(part: _Part) -> str:
    """Describe the meaning of a security scheme in one line."""
    value = part.resolved().value
    if not isinstance(value, dict):
        return _written(value)
    words = [str(value[key]) for key in ("type", "scheme", "in", "name") if key in value]
    rest = {
        key: each
        for key, each in value.items()
        if key not in ("type", "scheme", "in", "name", "bearerFormat")
    }
    text = _written(rest)
    return " ".join([*words, *([text] if text != "{}" else [])])


def _demands(part: _Part, side: _Side) -> set[str] | None:
    """Return the authentication methods that a document or operation accepts; None if not set."""
    if part.get("security") is None:
        return None
    found = set()
    for each in part.elements("security"):
        names = each.value if isinstance(each.value, dict) else {}
        words = []
        for name, scopes in names.items():
            scheme = side.schemes.get(name)
            scope = f" with {', '.join(map(str, scopes))}" if scopes else ""
            words.append((name if scheme is None else _scheme(scheme)) + scope)
        found.add(" and ".join(sorted(words)) or "none")
    return found or {"none"}


def _listed(demands: set[str] | None) -> str | None:
    return None if demands is None else " or ".join(sorted(demands))
