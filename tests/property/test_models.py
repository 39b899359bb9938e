"""Every model survives a round trip through JSON, and rejects values that its schema forbids."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lance_namespace_client import models
from lance_namespace_client.errors import ErrorCode, InvalidInputError
from lance_namespace_client.model import (
    Decoder,
    Model,
    binary,
    mapping,
    nullable,
    number,
    one_or_many,
    string,
    timestamp,
)

from .schemas import ALIASES, SCHEMAS, TEXT, normal, right, wrong

few = settings(max_examples=8)


def _model(name: str) -> type[Model]:
    found: type[Model] = getattr(models, name)
    return found


def _least(name: str) -> dict[str, Any]:
    """Return an object with only the required fields, each with a valid value."""
    schema = SCHEMAS[name]
    required = {key: schema["properties"][key] for key in schema.get("required", ())}
    return {key: _some(field) for key, field in required.items()}


def _some(schema: Any, depth: int = 0) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _some(ALIASES[name]) if name in ALIASES else _least(name)
    if "oneOf" in schema:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if kind == "array":
        return [_some(schema["items"])] * schema.get("minItems", 0)
    return {"string": "x", "boolean": True, "integer": 1, "number": 1.5, "object": {}}[kind]


def test_every_schema_is_a_model_and_every_model_a_schema() -> None:
    assert set(models.__all__) == set(SCHEMAS) - set(ALIASES)


@pytest.mark.parametrize("name", models.__all__)
@few
@given(data=st.data())
def test_a_model_survives_json(name: str, data: DataObject) -> None:
    given_json = data.draw(right(SCHEMAS[name]))
    model = _model(name).from_dict(given_json)
    written = json.loads(json.dumps(model.to_dict()))
    assert written == normal(SCHEMAS[name], given_json)
    again = _model(name).from_dict(written)
    assert again == model
    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.parametrize("name", models.__all__)
@settings(max_examples=3)
@given(later=st.dictionaries(TEXT.map(lambda text: f"later {text}"), st.integers(), min_size=1))
def test_unknown_keys_are_ignored(name: str, later: dict[str, int]) -> None:
    least = _least(name)
    assert _model(name).from_dict({**later, **least}) == _model(name).from_dict(least)


@pytest.mark.parametrize("name", models.__all__)
def test_null_is_absent(name: str) -> None:
    least, schema = _least(name), SCHEMAS[name]
    optional = set(schema["properties"]) - set(schema.get("required", ()))
    nulls = dict.fromkeys(optional)
    assert _model(name).from_dict({**least, **nulls}) == _model(name).from_dict(least)


@pytest.mark.parametrize("name", models.__all__)
def test_a_required_field_must_exist(name: str) -> None:
    least = _least(name)
    spared = {wire.key for wire in _model(name)._wire if wire.optional_for_caller}
    for key in least:
        without = {k: v for k, v in least.items() if k != key}
        if (
            key in spared
        ):  # required on the wire; callers in Python can omit it, and the client adds it
            assert _model(name).coerce(without).to_dict().keys() >= {key}
        with pytest.raises(InvalidInputError, match=key) as caught:
            _model(name).from_dict(without)
        assert caught.value.code == ErrorCode.INVALID_INPUT


@pytest.mark.parametrize("name", models.__all__)
def test_a_value_of_a_wrong_type_is_rejected_with_its_field(name: str) -> None:
    least = _least(name)
    for key, field in SCHEMAS[name]["properties"].items():
        for value in wrong(field):
            with pytest.raises(InvalidInputError, match=key) as caught:
                _model(name).from_dict({**least, key: value})
            assert caught.value.code == 13, f"{name}.{key} = {value!r}"
            assert "\n" not in str(caught.value)


@given(value=st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()))
def test_only_objects_are_requests(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        models.DescribeTableRequest.from_dict(value)


def test_required_null_is_written() -> None:
    """A required field that may be null is written as null."""
    found = 0
    for name, schema in SCHEMAS.items():
        for key in schema.get("required", ()):
            if "oneOf" not in schema["properties"][key]:
                continue
            found += 1
            least = {**_least(name), key: None}
            assert _model(name).from_dict(least).to_dict()[key] is None
            without = {k: v for k, v in least.items() if k != key}
            with pytest.raises(InvalidInputError):
                _model(name).from_dict(without)
    assert found, "no schema has a required field that may be null"


def test_a_request_of_another_operation_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="DropTableRequest"):
        models.DropTableRequest.coerce(cast(Any, models.DescribeTableRequest(id=["t"])))


@pytest.mark.parametrize("request_", [5, "text", ["t"], object()])
def test_an_object_that_is_not_a_request_is_rejected(request_: Any) -> None:
    with pytest.raises(InvalidInputError, match="a DropTableRequest or a dict"):
        models.DropTableRequest.coerce(request_)


def said(call: Callable[[], object]) -> str:
    """Return the message of the InvalidInputError that a call raises."""
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert caught.value.code == 13
    return caught.value.text


def test_an_empty_id_in_a_dict_is_the_root() -> None:
    assert models.DescribeNamespaceRequest.coerce({"id": ""}).id is None
    assert models.DescribeNamespaceRequest.coerce(None).id is None
    assert "must be an array" in said(lambda: models.DescribeNamespaceRequest.coerce({"id": "a"}))
    assert "must be an array" in said(lambda: models.DescribeNamespaceRequest.from_dict({"id": ""}))


def test_an_unknown_field_in_a_dict_is_rejected_with_a_suggestion() -> None:
    coerce = models.DropNamespaceRequest.coerce
    assert said(lambda: coerce({"Behaviour": "x"})) == (
        "DropNamespaceRequest has no field 'Behaviour'; did you mean 'behavior'?"
    )
    assert said(lambda: coerce({"id": ["n"], "zzz": 1})) == (
        "DropNamespaceRequest has no field 'zzz'; it has id, mode, behavior, identity, context"
    )
    assert said(lambda: coerce(cast(Any, {5: 1}))).startswith(
        "DropNamespaceRequest has no field 5; "
    )


class Dumping:
    """An object of another library, with more fields than the protocol."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        assert options == {}
        return {"id": ["t"], "novel": 1}


class Pydantic(Dumping):
    """A pydantic model, whose field names are aliases of the JSON names."""

    model_fields: ClassVar[dict[str, Any]] = {}

    def model_dump(self, **options: Any) -> dict[str, Any]:
        assert options == {"by_alias": True, "exclude_none": True}
        return {"id": ["t"], "novel": 1}


@pytest.mark.parametrize("kind", [Dumping, Pydantic])
def test_a_model_of_another_library_is_accepted(kind: type[Dumping]) -> None:
    assert models.DropTableRequest.coerce(kind()) == models.DropTableRequest(id=["t"])


def test_omittable_fields_can_be_omitted_in_nested_dicts() -> None:
    found = 0
    for name in models.__all__:
        for wire in _model(name)._wire:
            inner = vars(wire.decode).get("model")
            spared = (
                [each for each in _model(inner)._wire if each.optional_for_caller] if inner else []
            )
            for each in spared:
                given_json = {**_least(name), wire.key: _least(str(inner))}
                del given_json[wire.key][each.key]
                made = getattr(_model(name).coerce(given_json), wire.attribute)
                assert getattr(made, each.attribute) == each.default
                found += 1
    assert found


def test_an_error_shows_a_shortened_value() -> None:
    read = models.DropTableRequest.from_dict
    assert said(lambda: read({"id": "x" * 100})) == (
        f"DropTableRequest.id must be an array, not '{'x' * 56}..."
    )
    assert said(lambda: read({"identity": 5})) == (
        "DropTableRequest.identity must be an object with api_key, auth_token, not 5"
    )
    assert said(lambda: read({"id": ["t", {"a": 1}]})) == (
        "DropTableRequest.id[1] must be a string, not {'a': 1}"
    )
    assert said(lambda: read({"context": {1: "a"}})) == (
        "DropTableRequest.context must be a string, not 1"
    )


def test_deeply_nested_values_are_invalid_input() -> None:
    nested: Any = {"type": "x"}
    for _ in range(5_000):
        nested = {"type": "x", "fields": [{"name": "a", "nullable": True, "type": nested}]}
    assert said(lambda: models.JsonArrowDataType.from_dict(nested)) == (
        "JsonArrowDataType is nested too deeply; remove levels"
    )
    assert said(lambda: models.DropTableRequest.from_dict({"id": nested})).endswith(
        ("a value that is nested too deeply", "...")
    )


@pytest.mark.parametrize(
    ("decode", "right", "read", "wrong"),
    [
        (binary, "AAE=", b"\0\1", ["A", "AA E=", "é", 5, None]),
        (binary, b"\0\1", b"\0\1", ["%"]),
        (
            timestamp,
            "2026-11-20T12:00:00Z",
            datetime(2026, 11, 20, 12, tzinfo=UTC),
            ["noon", 5, None],
        ),
        (timestamp, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), [""]),
        (nullable(string), None, None, [5]),
        (one_or_many(string), "a", ["a"], [5, [5], []]),
        (one_or_many(string), ("a", "b"), ["a", "b"], [None]),
        (mapping(string), {"a": "b"}, {"a": "b"}, [[], "a", {"a": 1}]),
        (number, 5, 5, ["5", False]),
        (string, "", "", [b"", 0]),
    ],
)
def test_a_decoder_accepts_or_rejects_a_value(
    decode: Decoder[Any], right: Any, read: Any, wrong: list[Any]
) -> None:
    assert decode(right, "x") == read
    for value in wrong:
        with pytest.raises(InvalidInputError, match=r"^x\S* must be "):
            decode(value, "x")
