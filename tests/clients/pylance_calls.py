"""The calls of pylance's own REST client; each version runs in a separate interpreter.

python -m tests.clients.pylance_calls URI '["level", ...]'
"""

from __future__ import annotations

import io
import json
import sys
from inspect import signature
from typing import Any

import lance
import lance_namespace
import pyarrow as pa

from .script import Calls, make_calls

ROWS = pa.table({"id": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
KEY = next(
    key for key in ("namespace_client", "namespace") if key in signature(lance.dataset).parameters
)


def body(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


class It:
    """A client, and the identifier of a table that does not exist."""

    def __init__(self, client: Any, levels: list[str], name: str) -> None:
        self.client = client
        self.levels = levels
        self.id = [*levels, name]

    def ask(self, method: str, request: str, *more: Any, **fields: Any) -> Any:
        kind = getattr(lance_namespace, request, None)
        if kind is None:
            import lance_namespace_urllib3_client.models as models

            kind = getattr(models, request)
        fields.setdefault("id", self.id)
        return getattr(self.client, method)(kind(**fields), *more)

    def write(self, rows: pa.Table = ROWS, mode: str = "create") -> Any:
        return lance.write_dataset(rows, mode=mode, **{KEY: self.client, "table_id": self.id})

    def dataset(self) -> Any:
        return lance.dataset(**{KEY: self.client, "table_id": self.id})

    def create(self) -> None:
        self.ask("create_table", "CreateTableRequest", body(ROWS))


call: Calls[It] = Calls()


@call
def create_table(it: It) -> None:
    it.create()
    assert it.dataset().count_rows() == 3


@call
def describe_table(it: It) -> None:
    it.create()
    assert it.ask("describe_table", "DescribeTableRequest").location


@call
def list_tables(it: It) -> None:
    it.create()
    found = it.ask("list_tables", "ListTablesRequest", id=it.levels).tables
    assert it.id[-1] in found


@call
def table_exists(it: It) -> None:
    it.create()
    it.ask("table_exists", "TableExistsRequest")


@call
def missing_table_does_not_exist(it: It) -> None:
    try:
        it.ask("table_exists", "TableExistsRequest")
    except Exception:  # noqa: BLE001 - each version has its own class
        return
    raise AssertionError("it exists")


@call
def drop_table(it: It) -> None:
    it.create()
    it.ask("drop_table", "DropTableRequest")
    assert it.id[-1] not in it.ask("list_tables", "ListTablesRequest", id=it.levels).tables


@call
def deregister_table(it: It) -> None:
    it.create()
    it.ask("deregister_table", "DeregisterTableRequest")
    assert it.id[-1] not in it.ask("list_tables", "ListTablesRequest", id=it.levels).tables


@call
def declare_table(it: It) -> None:
    assert it.ask("declare_table", "DeclareTableRequest").location


@call
def create_empty_table(it: It) -> None:
    assert it.ask("create_empty_table", "CreateEmptyTableRequest").location


@call
def count_rows_by_the_server(it: It) -> None:
    it.create()
    found = it.ask("count_table_rows", "CountTableRowsRequest")
    assert getattr(found, "count", found) == 3


@call
def insert_by_the_server(it: It) -> None:
    it.create()
    it.ask("insert_into_table", "InsertIntoTableRequest", body(ROWS))
    assert it.dataset().count_rows() == 6


@call
def delete_by_the_server(it: It) -> None:
    it.create()
    it.ask("delete_from_table", "DeleteFromTableRequest", predicate="id = 1")
    assert it.dataset().count_rows() == 2


@call
def write_and_read(it: It) -> None:
    it.write()
    assert it.dataset().to_table() == ROWS


@call
def append(it: It) -> None:
    it.write()
    it.write(mode="append")
    assert it.dataset().count_rows() == 6


@call
def overwrite(it: It) -> None:
    it.write()
    it.write(ROWS.slice(0, 1), mode="overwrite")
    assert it.dataset().count_rows() == 1


@call
def commit_from_the_dataset(it: It) -> None:
    it.write()
    dataset = it.dataset()
    dataset.delete("id = 1")
    dataset.update({"x": "9"}, "id = 2")
    dataset.add_columns({"y": "id * 2"})
    dataset.create_scalar_index("id", "BTREE")
    assert it.dataset().to_table(filter="id = 2")["y"].to_pylist() == [4]


@call
def versions_and_tags(it: It) -> None:
    it.write()
    it.write(mode="append")
    dataset = it.dataset()
    dataset.tags.create("first", 1)
    assert dataset.checkout_version("first").count_rows() == 3


@call
def create_and_drop_namespace(it: It) -> None:
    inner = [*it.levels, "inner"]
    it.ask("create_namespace", "CreateNamespaceRequest", id=inner)
    try:
        it.ask("namespace_exists", "NamespaceExistsRequest", id=inner)
        assert (
            "inner" in it.ask("list_namespaces", "ListNamespacesRequest", id=it.levels).namespaces
        )
        it.ask("describe_namespace", "DescribeNamespaceRequest", id=inner)
    finally:
        it.ask("drop_namespace", "DropNamespaceRequest", id=inner)


@call
def register_what_was_deregistered(it: It) -> None:
    it.create()
    location = it.ask("deregister_table", "DeregisterTableRequest").location
    assert location
    it.ask("register_table", "RegisterTableRequest", location=location)
    assert it.dataset().count_rows() == 3


def main(uri: str, levels: list[str]) -> None:
    from lance.namespace import RestNamespace

    make_calls(call, lambda name: It(RestNamespace(uri=uri), levels, name))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
