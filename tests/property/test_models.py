"""Every model survives to JSON and back, and refuses what its schema does not allow."""

from __future__ import annotations

import json
import pickle
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lance_namespace_client import models
from lance_namespace_client.errors import ErrorCode, InvalidInputError
from lance_namespace_client.model import Model

from .schemas import ALIASES, SCHEMAS, TEXT, normal, right, wrong

few = settings(max_examples=8)


def _model(name: str) -> type[Model]:
    found: type[Model] = getattr(models, name)
    return found


def _least(name: str) -> dict[str, Any]:
    """Give an object with the required fields only, each with some right value."""
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
def test_a_required_field_must_be_there(name: str) -> None:
    least = _least(name)
    spared = {wire.key for wire in _model(name)._wire if wire.may_be_left_out}
    for key in least:
        without = {k: v for k, v in least.items() if k != key}
        if key in spared:  # on the wire it is there; callers in Python leave it to the client
            assert _model(name).coerce(without).to_dict().keys() >= {key}
        with pytest.raises(InvalidInputError, match=key) as caught:
            _model(name).from_dict(without)
        assert caught.value.code == ErrorCode.INVALID_INPUT


@pytest.mark.parametrize("name", models.__all__)
def test_wrong_types_are_refused_by_name(name: str) -> None:
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
    """A required field that may be null is there, and null, in what is written."""
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


def test_whole_floats_are_integers() -> None:
    assert models.ListTablesRequest.from_dict({"limit": 5.0}).limit == 5


def test_a_request_of_another_operation_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="DropTableRequest"):
        models.DropTableRequest.coerce(cast(Any, models.DescribeTableRequest(id=["t"])))


@pytest.mark.parametrize("request_", [5, "text", ["t"], object()])
def test_what_is_no_request_is_refused(request_: Any) -> None:
    with pytest.raises(InvalidInputError, match="a DropTableRequest or a dict"):
        models.DropTableRequest.coerce(request_)
