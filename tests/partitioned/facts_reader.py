"""A reader of partitioned directories that follows the format and uses only pylance."""

from __future__ import annotations

import json
import re
from typing import Any

import lance

FOLDER = re.compile(r"[0-9a-f]{8}_(.+)")
NAME = re.compile(r"[a-z0-9]{16}")
PRIMITIVE = {
    "int64": "int64",
    "int32": "int32",
    "utf8": "string",
    "date32": "date32[day]",
    "bool": "bool",
}
PARAMETERS = {"bucket": "num_buckets", "multi_bucket": "num_buckets", "truncate": "width"}
PARTS = {"year", "month", "day", "hour"}


def read(root: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Check a directory against the format, rule by rule; return its metadata and all rows."""
    manifest = lance.dataset(f"{root}/__manifest")
    metadata = manifest.metadata
    schema = json.loads(metadata["schema"])
    ids = check_schema(schema)
    specs = {
        int(key.removeprefix("partition_spec_v")): json.loads(value)
        for key, value in metadata.items()
        if key.startswith("partition_spec_v")
    }
    assert specs and sorted(specs) == list(range(1, len(specs) + 1))
    fields = check_specs(specs, ids)
    table = manifest.to_table()
    check_columns(table.schema, fields)
    rows = {row["object_id"]: row for row in table.to_pylist()}
    assert len(rows) == table.num_rows
    found: list[dict[str, Any]] = []
    seen: set[Any] = set()
    for id, row in rows.items():
        found += check_row(root, id, row, rows, specs, schema, seen)
    return metadata, found


def check_schema(schema: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Check that every column has a unique id, as text in its metadata; return them by id."""
    ids: dict[int, dict[str, Any]] = {}

    def visit(field: dict[str, Any]) -> None:
        id = field["metadata"]["lance:field_id"]
        assert isinstance(id, str) and int(id) not in ids
        ids[int(id)] = field
        for child in field["type"].get("fields") or ():
            if "metadata" in child:
                visit(child)

    for field in schema["fields"]:
        visit(field)
    return ids


def check_specs(specs: dict[int, Any], ids: dict[int, Any]) -> dict[str, Any]:
    """Check that field ids are unique, and equal for equal sources with an equal transform."""
    known: dict[str, Any] = {}
    by_source: dict[str, str] = {}
    for number, spec in specs.items():
        assert set(spec) == {"id", "fields"} and spec["id"] == number
        names = [field["field_id"] for field in spec["fields"]]
        assert len(set(names)) == len(names)
        for field in spec["fields"]:
            assert ("transform" in field) != ("expression" in field)
            how = {key: field.get(key) for key in ("source_ids", "transform", "expression")}
            assert known.setdefault(field["field_id"], {**how, "type": field["result_type"]}) == {
                **how,
                "type": field["result_type"],
            }
            assert by_source.setdefault(json.dumps(how), field["field_id"]) == field["field_id"]
            assert field["source_ids"] and all(source in ids for source in field["source_ids"])
            transform = field.get("transform")
            if transform is None:
                continue
            kind = transform["type"]
            assert set(transform) == {"type"} | (
                {PARAMETERS[kind]} if kind in PARAMETERS else set()
            )
            if kind in PARTS or kind.endswith("bucket"):
                assert field["result_type"]["type"] == "int32"
            else:
                assert field["result_type"] == ids[field["source_ids"][0]]["type"]
    return known


def check_columns(schema: Any, fields: dict[str, Any]) -> None:
    """Check that the manifest has a nullable column for each field of any spec."""
    for id, field in fields.items():
        column = schema.field(f"partition_field_{id}")
        assert column.nullable
        expected = PRIMITIVE.get(field["type"]["type"])
        assert expected is None or str(column.type) == expected
    assert str(schema.field("read_version").type) == "uint64"
    for name in ("read_branch", "read_tag"):
        assert str(schema.field(name).type) == "string"


def check_row(
    root: str,
    id: str,
    row: dict[str, Any],
    rows: dict[str, Any],
    specs: dict[int, Any],
    schema: dict[str, Any],
    seen: set[Any],
) -> list[dict[str, Any]]:
    """Check a namespace or a table, and return the rows of a table."""
    names = id.split("$")
    spec = specs[int(names[0].removeprefix("v"))]
    assert names[0] == f"v{spec['id']}"
    for depth in range(1, len(names)):
        assert rows["$".join(names[:depth])]["object_type"] == "namespace"
    is_table = row["object_type"] == "table"
    levels = names[1:-1] if is_table else names[1:]
    assert all(NAME.fullmatch(name) for name in levels)
    own = [f"partition_field_{field['field_id']}" for field in spec["fields"]]
    for name in row:
        if name.startswith("partition_field_") and name not in own[: len(levels)]:
            assert row[name] is None
    if levels:  # values are inherited
        above = rows["$".join(names[: len(levels)])]
        for name in own[: len(levels) - 1]:
            assert row[name] == above[name]
    if not is_table:
        assert row["location"] is None and row["read_version"] is None
        return []
    assert names[-1] == "dataset" and len(levels) == len(own)
    assert FOLDER.fullmatch(row["location"])[1] == id
    values = (spec["id"], *(str(row[name]) for name in own))
    assert values not in seen
    seen.add(values)
    assert row["read_branch"] is None and row["read_tag"] is None
    dataset = lance.dataset(f"{root}/{row['location']}", version=row["read_version"])
    assert dataset.schema.names == [field["name"] for field in schema["fields"]]
    numbers = {field.name(): field.id() for field in dataset.lance_schema.fields()}
    assert numbers == {f["name"]: int(f["metadata"]["lance:field_id"]) for f in schema["fields"]}
    return dataset.to_table().to_pylist()
