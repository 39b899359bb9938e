"""Our client on Gravitino's Lance REST server: operations work, or have code 0 if unsupported."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body, Operation
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from tests.behaviour.test_operations_listed import NEEDED
from tests.servers import real

pytestmark = pytest.mark.real("gravitino")

ROWS = pa.table({"x": [1], "z": [2]})
MAKES = {"CreateNamespace", "CreateTable", "DeclareTable", "RegisterTable"}
WORKS = {
    *MAKES,
    *("ListNamespaces", "DescribeNamespace", "NamespaceExists", "DropNamespace"),
    *("ListTables", "DescribeTable", "TableExists", "DropTable", "DeregisterTable"),
    *("AlterTableAlterColumns", "AlterTableDropColumns"),
}
# Fields for which the values in `NEEDED` are not sufficient.
GIVEN: dict[str, dict[str, Any]] = {
    "AlterTableAlterColumns": {"alterations": [{"path": "x", "rename": "y"}]},
    "UpdateFieldMetadata": {"updates": [{"path": "x", "metadata": {"k": "v"}}]},
    "MergeInsertIntoTable": {"on": "x"},
    "DescribeTableIndexStats": {"index_name": "x_idx"},
    "DropTableIndex": {"index_name": "x_idx"},
}


@pytest.fixture
def gravitino() -> Iterator[Namespace]:
    with connect("rest", {"uri": real.running("gravitino").uri}) as namespace:
        yield namespace


@pytest.fixture
def schema(gravitino: Namespace, tmp_path: Path) -> list[str]:
    """A schema in a separate catalog, created with ExistOk."""
    catalog = f"c{uuid.uuid4().hex[:12]}"
    properties = {"location": f"file://{tmp_path}"}
    for _ in range(2):
        request = {"id": [catalog], "mode": "ExistOk", "properties": properties}
        gravitino.create_namespace(request)
    gravitino.create_namespace({"id": [catalog, "s"], "mode": "ExistOk"})
    return [catalog, "s"]


def code_of(call: Any, request: dict[str, Any], *rows: Any) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call(request, *rows)
    assert "\n" not in caught.value.message
    return int(caught.value.code)


def test_the_lifecycle_of_a_table(gravitino: Namespace, schema: list[str]) -> None:
    table = {"id": [*schema, "t"]}
    assert list(gravitino.iter_namespaces(schema[:1])) == ["s"]
    made = gravitino.create_table({**table, "mode": "ExistOk"}, ROWS)
    assert made.location is not None
    assert list(gravitino.iter_tables(schema)) == ["t"]
    described = gravitino.describe_table({**table, "load_detailed_metadata": True})
    assert described.location == made.location
    gravitino.table_exists(table)
    gravitino.declare_table({"id": [*schema, "d"]})
    assert gravitino.deregister_table({"id": [*schema, "d"]}).location is not None
    gravitino.drop_table(table)
    assert code_of(gravitino.drop_table, table) == 4
    assert list(gravitino.iter_tables(schema)) == []
    gravitino.drop_namespace({"id": schema})
    assert code_of(gravitino.namespace_exists, {"id": schema}) == 1


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_an_operation_works_or_is_unsupported(
    gravitino: Namespace, schema: list[str], operation: Operation[Any, Any]
) -> None:
    """Each call uses an existing table or schema, so only an unsupported operation has code 0."""
    new = operation.name in MAKES
    if operation.tag != "Namespace" and not new:
        gravitino.create_table({"id": [*schema, "t"]}, ROWS)
    wanted = (wire.key for wire in operation.request_type._wire if wire.required)
    request: dict[str, Any] = {key: NEEDED[key] for key in wanted} | GIVEN.get(operation.name, {})
    if operation.path.startswith("/v1/namespace/{id}"):
        request["id"] = [schema[0], "new"] if new else schema
    elif "{id}" in operation.path:
        request["id"] = [*schema, "new" if new else "t"]
    if operation.name == "RegisterTable":
        request["location"] = gravitino.create_table({"id": [*schema, "t"]}, ROWS).location
    rows = [ROWS] if operation.body is Body.ARROW else []
    call = getattr(gravitino, operation.method_name)
    if operation.name in WORKS:
        call(request, *rows)
    else:
        assert code_of(call, request, *rows) == 0


def test_a_namespace_that_is_not_empty(gravitino: Namespace, schema: list[str]) -> None:
    assert code_of(gravitino.drop_namespace, {"id": schema[:1]}) == 13


def test_the_command_line(schema: list[str]) -> None:
    options = ["--impl", "rest", "-p", f"uri={real.running('gravitino').uri}"]
    with pytest.warns(UserWarning, match="tables cannot be listed here"):
        shown = CliRunner().invoke(app, ["ls", *options])
    assert shown.exit_code == 0
    assert schema[0] in shown.stdout
    assert CliRunner().invoke(app, ["operations", *options]).exit_code == 0
