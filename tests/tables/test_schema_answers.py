"""A described schema contains the nullability and the metadata of each column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.models import JsonArrowField
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.tables.schema import from_json_type, to_json_schema

INNER = pa.struct([
    pa.field("a", pa.int32(), nullable=False, metadata={"unit": "m"}),
    pa.field("b", pa.list_(pa.field("item", pa.utf8(), nullable=False))),
])  # fmt: skip
SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False, metadata={"comment": "the key", "n": "1"}),
        pa.field("text", pa.utf8()),
        pa.field("inner", INNER, nullable=False),
    ],
    metadata={"owner": "me"},
)
ROWS = pa.table([[1], ["x"], [{"a": 1, "b": ["y"]}]], schema=SCHEMA)


@pytest.fixture(params=["in process", "over REST"])
def described(request: pytest.FixtureRequest) -> Iterator[Any]:
    with connect("memory", {}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        asked = {"id": ["t"], "load_detailed_metadata": True}
        if request.param == "in process":
            yield namespace.describe_table(asked).schema
            return
        with serving(namespace) as uri, connect("rest", {"uri": uri}) as far:
            yield far.describe_table(asked).schema


def test_a_description_contains_nullability_and_metadata(described: Any) -> None:
    fields = {field.name: field for field in described.fields}
    assert [field.name for field in described.fields] == ["key", "text", "inner"]
    assert {name: field.nullable for name, field in fields.items()} == {
        "key": False, "text": True, "inner": False,
    }  # fmt: skip
    assert fields["key"].metadata == {"comment": "the key", "n": "1"}
    assert not fields["text"].metadata
    assert described.metadata == {"owner": "me"}
    first, second = fields["inner"].type.fields
    assert (first.name, first.nullable, first.metadata) == ("a", False, {"unit": "m"})
    assert (second.name, second.nullable) == ("b", True)
    (item,) = second.type.fields
    assert (item.nullable, item.type.type) == (False, "utf8")


def test_a_type_round_trips_through_json() -> None:
    found = to_json_schema(SCHEMA).fields[2]
    assert isinstance(found, JsonArrowField)
    again = from_json_type(found.type.to_dict(), "inner")
    assert again.equals(INNER, check_metadata=True)


@pytest.mark.parametrize(
    ("path", "renamed"), [("key", None), ("key", "number"), ("inner.a", None), ("inner.a", "c")]
)
def test_a_column_keeps_its_metadata_when_its_type_changes(path: str, renamed: str | None) -> None:
    other = pa.int32() if path == "key" else pa.int64()
    change = {"path": path, "data_type": {"type": str(other)}, "rename": renamed}
    with connect("memory", {}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        found = namespace.alter_table_alter_columns({"id": ["t"], "alterations": [change]})
        altered = namespace.open_table(["t"])
        assert altered.version == found.version
    first, *inner = path.split(".")
    field = altered.schema.field(0 if first == "key" else "inner")
    before = SCHEMA.field(first)
    if inner:
        field, before = field.type.field(0), before.type.field(0)
    assert field == pa.field(renamed or before.name, other, before.nullable)
    assert field.metadata == before.metadata


def test_metadata_combines_that_of_the_schema_and_of_the_dataset() -> None:
    with connect("memory", {}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        asked = {"id": ["t"], "load_detailed_metadata": True}
        assert namespace.describe_table(asked).metadata == {"owner": "me"}
        namespace.update_table_schema_metadata({"id": ["t"], "metadata": {"note": "n"}})
        namespace.open_table(["t"]).update_metadata({"made.by": "another tool"})
        told = namespace.describe_table(asked).metadata
    assert told == {"owner": "me", "note": "n", "made.by": "another tool"}
