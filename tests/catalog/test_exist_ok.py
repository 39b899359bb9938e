"""CreateTable of an existing table in mode ExistOk or Overwrite."""

from __future__ import annotations

from collections.abc import Iterator

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, TableAlreadyExistsError
from lance_namespace_impls import connect

SCHEMA = pa.schema([("x", pa.int64())])


def never_read() -> Iterator[pa.RecordBatch]:
    raise AssertionError("rows that are not wanted are not read")
    yield


def test_exist_ok_does_not_read_the_rows_and_keeps_the_table() -> None:
    with connect("memory") as namespace:
        namespace.create_namespace({"id": ["n"]})
        request = {"id": ["n", "t"], "properties": {"k": "v"}}
        made = namespace.create_table(request, pa.table({"x": [1]}))
        again = {**request, "mode": "ExistOk", "properties": {"k": "other"}}
        rows = pa.RecordBatchReader.from_batches(SCHEMA, never_read())
        found = namespace.create_table(again, rows)
        assert (found.location, found.properties) == (made.location, {"k": "v"})
        assert namespace.open_table(["n", "t"]).version == 1


@pytest.mark.parametrize("data", [b"", b"no Arrow", pa.table([[1], [2]], names=["x", "x"])])
def test_exist_ok_does_not_check_rows_for_an_existing_table(data: bytes | pa.Table) -> None:
    with connect("memory") as namespace:
        request = {"id": ["t"], "mode": "ExistOk"}
        with pytest.raises(LanceNamespaceError) as refused:
            namespace.create_table(request, data)
        assert refused.value.code in (13, 20)
        namespace.declare_table({"id": ["t"]})
        with pytest.raises(LanceNamespaceError):
            namespace.create_table(request, data)
        namespace.insert_into_table({"id": ["t"]}, pa.table({"x": [1]}))
        assert namespace.create_table(request, data).version == 1


@pytest.mark.parametrize("mode", ["Create", "ExistOk"])
def test_rows_written_concurrently_are_kept(mode: str) -> None:
    with connect("memory") as namespace:
        namespace.create_namespace({"id": ["n"]})
        location = namespace.declare_table({"id": ["n", "t"]}).location
        assert location is not None

        def beside() -> Iterator[pa.RecordBatch]:
            lance.write_dataset(pa.table({"x": [7]}), location)
            yield pa.record_batch({"x": [1]})

        rows = pa.RecordBatchReader.from_batches(SCHEMA, beside())
        request = {"id": ["n", "t"], "mode": mode}
        if mode == "Create":
            with pytest.raises(TableAlreadyExistsError):
                namespace.create_table(request, rows)
        else:
            assert namespace.create_table(request, rows).location == location
        assert namespace.open_table(["n", "t"]).to_table().to_pydict() == {"x": [7]}


@pytest.mark.parametrize("old", [{}, {"a": "1"}, {"a": "1", "b": "2"}])
@pytest.mark.parametrize("new", [{}, {"a": "1"}, {"a": "2"}, {"c": "3"}])
def test_overwrite_replaces_the_properties(old: dict[str, str], new: dict[str, str]) -> None:
    with connect("memory") as namespace:
        namespace.create_table({"id": ["t"], "properties": old}, pa.table({"x": [1]}))
        request = {"id": ["t"], "mode": "Overwrite", "properties": new}
        made = namespace.create_table(request, pa.table({"x": [2]}))
        assert made.properties == new
        assert (namespace.describe_table({"id": ["t"]}).properties or {}) == new
