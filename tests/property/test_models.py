"""Every model of the protocol survives to JSON and back."""

from __future__ import annotations

import json
from datetime import UTC
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_namespace_client.models as models
from lance_namespace_client import Model
from lance_namespace_client.errors import InvalidInputError

SCHEMAS = json.loads((files("lance_namespace_client") / "openapi.json").read_text("utf-8"))[
    "components"
]["schemas"]
MODELS = sorted(models.__all__)

texts = st.text(st.characters(codec="utf-8"), max_size=8)


@cache
def values(reference: str, depth: int) -> st.SearchStrategy[Any]:
    """Give JSON values that fit a named schema."""
    return fitting(SCHEMAS[reference], depth)


def fitting(schema: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Give JSON values that fit a schema; optional parts end the recursion."""
    if "$ref" in schema:
        return values(schema["$ref"].rsplit("/", 1)[1], depth + 1)
    if "oneOf" in schema:
        others = [branch for branch in schema["oneOf"] if branch.get("type") != "null"]
        return (
            st.none() if depth > 4 else st.one_of(st.none(), *(fitting(b, depth) for b in others))
        )
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    nullable = [st.none()] if "null" in kinds else []
    kind = next(k for k in kinds if k != "null")
    return st.one_of(*nullable, _plain(kind, schema, depth))


def _plain(kind: str, schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match kind:
        case "string" if schema.get("format") == "date-time":
            return st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.isoformat())
        case "string" if schema.get("format") == "binary":
            return st.sampled_from(["", "AA==", "AQID"])
        case "string":
            return texts
        case "integer":
            return st.integers(schema.get("minimum", -(2**63)), 2**63 - 1)
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(fitting(schema["items"], depth), min_size=least, max_size=least + 2)
    fields = schema.get("properties")
    if fields is None:
        inner = schema.get("additionalProperties")
        content = fitting(inner, depth) if isinstance(inner, dict) else texts
        return st.dictionaries(texts, content, max_size=2)
    required = set(schema.get("required", ()))
    optional = {} if depth > 4 else {k: v for k, v in fields.items() if k not in required}
    return st.fixed_dictionaries(
        {name: fitting(fields[name], depth) for name in required},
        optional={name: fitting(inner, depth) for name, inner in optional.items()},
    )


def build(name: str) -> type[Model]:
    found: type[Model] = getattr(models, name)
    return found


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_model_survives_json(name: str, data: st.DataObject) -> None:
    given_json = data.draw(values(name, 0))
    first = build(name).from_dict(given_json)
    written = json.loads(json.dumps(first.to_dict()))
    again = build(name).from_dict(written)
    assert again == first
    assert again.to_dict() == first.to_dict()
    # What was given and is not a default is still there.
    for key, value in given_json.items():
        default = SCHEMAS[name]["properties"][key].get("default")
        if value is not None and value != default:
            assert key in written, f"{name}.{key} is lost"


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_unknown_keys_are_ignored(name: str, data: st.DataObject) -> None:
    given_json = data.draw(values(name, 0))
    extra = {**given_json, "from-a-newer-server": {"x": [1]}}
    assert build(name).from_dict(extra) == build(name).from_dict(given_json)


@pytest.mark.parametrize("name", MODELS)
def test_null_counts_as_absent(name: str) -> None:
    schema = SCHEMAS[name]
    required = set(schema.get("required", ()))
    nulls = dict.fromkeys(set(schema["properties"]) - required)
    if not required:
        assert build(name).from_dict(nulls) == build(name).from_dict({})
        return
    with pytest.raises(InvalidInputError, match=f"{name}\\."):
        build(name).from_dict(nulls)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_wrong_type_is_refused_with_its_place(name: str, data: st.DataObject) -> None:
    given_json = data.draw(values(name, 0))
    fields = {
        key: schema
        for key, schema in SCHEMAS[name]["properties"].items()
        if schema.get("type") in ("string", "boolean", "array") and "format" not in schema
    }
    if not fields:
        return
    key = data.draw(st.sampled_from(sorted(fields)))
    with pytest.raises(InvalidInputError, match=f"{name}.{key}") as refused:
        build(name).from_dict({**given_json, key: 12.5})
    assert refused.value.code == 13


def test_a_required_null_is_written() -> None:
    request = models.QueryTableRequest(id=["t"], k=1, vector=None)
    assert request.to_dict() == {"id": ["t"], "k": 1, "vector": None}
    assert models.QueryTableRequest.from_dict({"k": 1, "vector": None}).vector is None
    with pytest.raises(InvalidInputError):
        models.QueryTableRequest.from_dict({"k": 1})


def test_a_map_may_hold_nulls_where_the_specification_says_so() -> None:
    entry = models.UpdateFieldMetadataEntry(path="a", metadata={"keep": "x", "drop": None})
    assert models.UpdateFieldMetadataEntry.from_dict(entry.to_dict()) == entry
    with pytest.raises(InvalidInputError):
        models.AlterTableRequest.from_dict({"set_properties": {"a": None}})


def test_requests_are_taken_in_every_form() -> None:
    from lance_namespace_urllib3_client.models import DescribeTableRequest as Official

    wanted = models.DescribeTableRequest(id=["a", "b"], version=3)

    class DictLike:
        def model_dump(self) -> dict[str, Any]:
            return {"id": ["a", "b"], "version": 3, "tag": None}

    for form in (
        wanted,
        {"id": ["a", "b"], "version": 3},
        Official(id=["a", "b"], version=3),
        DictLike(),
    ):
        assert models.DescribeTableRequest.coerce(form) == wanted
    for bad in ("text", 5, models.DropTableRequest(id=["a"])):
        with pytest.raises(InvalidInputError):
            models.DescribeTableRequest.coerce(bad)  # type: ignore[arg-type]
