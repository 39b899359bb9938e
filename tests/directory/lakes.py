"""Directories with a manifest, accessed through this package, through pylance and directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lance
import lance.namespace
import lance_namespace as official
import pyarrow as pa
import pytest
from attrs import define
from lance.fragment import write_fragments

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.directory import DirectoryNamespace

__all__ = ["ROWS", "Peer", "add_row", "code_of", "ipc", "manifest_rows", "ours", "rewrite"]

ROWS = pa.table({"x": [1, 2, 3]})


def ours(root: Any, **properties: str) -> DirectoryNamespace:
    """Connect to a directory with a manifest."""
    given = {"root": str(root), "manifest": "true", **properties}
    return DirectoryNamespace.from_properties(given)


def code_of(call: Callable[[], Any]) -> tuple[int, str]:
    """Return the code and the message of a call that fails."""
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    return int(caught.value.code), str(caught.value)


def add_row(root: Any, **columns: Any) -> None:
    """Add a row to the manifest as another client might."""
    table = lance.dataset(f"{root}/__manifest").to_table()
    rewrite(root, pa.concat_tables([table, pa.Table.from_pylist([columns], schema=table.schema)]))


def ipc(rows: pa.Table) -> bytes:
    """Return rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def manifest_rows(root: Any) -> dict[str, dict[str, Any]]:
    """Read the manifest without a namespace; return its rows by identifier."""
    rows = lance.dataset(f"{root}/__manifest").to_table().to_pylist()
    assert len({row["object_id"] for row in rows}) == len(rows)
    return {row["object_id"]: row for row in rows}


def rewrite(root: Any, table: pa.Table) -> None:
    """Overwrite the manifest as another client might."""
    dataset = lance.dataset(f"{root}/__manifest")
    fragments = write_fragments(table, dataset, schema=table.schema, mode="overwrite")
    lance.LanceDataset.commit(
        dataset,
        lance.LanceOperation.Overwrite(table.schema, fragments),
        read_version=dataset.version,
    )


@define
class Peer:
    """The directory namespace of pylance."""

    namespace: Any

    @classmethod
    def at(cls, root: Any, **properties: str) -> Peer:
        """Connect to a directory."""
        return cls(lance.namespace.DirectoryNamespace(root=str(root), **properties))

    def create_namespace(self, id: list[str], properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace."""
        request = official.CreateNamespaceRequest(id=id, properties=dict(properties or {}))
        self.namespace.create_namespace(request)

    def create_table(
        self, id: list[str], rows: pa.Table = ROWS, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a table."""
        request = official.CreateTableRequest(id=id, properties=dict(properties or {}) or None)
        self.namespace.create_table(request, ipc(rows))

    def tables(self, id: list[str]) -> list[str]:
        """List the tables of a namespace, in order."""
        return sorted(self.namespace.list_tables(official.ListTablesRequest(id=id)).tables)

    def namespaces(self, id: list[str]) -> list[str]:
        """List the child namespaces, in order."""
        request = official.ListNamespacesRequest(id=id)
        return sorted(self.namespace.list_namespaces(request).namespaces)

    def describe(self, id: list[str]) -> Any:
        """Describe a table."""
        return self.namespace.describe_table(official.DescribeTableRequest(id=id))

    def rows(self, id: list[str]) -> pa.Table:
        """Read a table through pylance and its namespace."""
        return lance.dataset(namespace_client=self.namespace, table_id=id).to_table()

    def register(self, id: list[str], location: str) -> None:
        """Register a table at a path below the root."""
        self.namespace.register_table(official.RegisterTableRequest(id=id, location=location))

    def deregister(self, id: list[str]) -> None:
        """Deregister a table; its directory remains."""
        self.namespace.deregister_table(official.DeregisterTableRequest(id=id))
