"""Our client on Gravitino's Lance REST server: what it has works, what it lacks is code 0."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from tests.servers import real

pytestmark = pytest.mark.real("gravitino")

ROWS = pa.table({"x": [1]})


@pytest.fixture
def gravitino() -> Iterator[Namespace]:
    with connect("rest", {"uri": real.running("gravitino").uri}) as namespace:
        yield namespace


@pytest.fixture
def schema(gravitino: Namespace, tmp_path: Path) -> list[str]:
    """A schema in a catalog of its own, made with ExistOk."""
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


def test_the_life_of_a_table(gravitino: Namespace, schema: list[str]) -> None:
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


def test_what_it_does_not_have_is_unsupported(gravitino: Namespace, schema: list[str]) -> None:
    table = {"id": [*schema, "t"]}
    gravitino.declare_table(table)
    assert code_of(gravitino.count_table_rows, table) == 0
    assert code_of(gravitino.insert_into_table, table, ROWS) == 0
    assert code_of(gravitino.rename_table, {**table, "new_table_name": "u"}) == 0
    assert code_of(gravitino.list_all_tables, {}) == 0
    assert code_of(gravitino.list_operations, {}) == 0
    assert code_of(gravitino.drop_namespace, {"id": schema[:1]}) == 13  # not empty


def test_the_command_line(schema: list[str]) -> None:
    options = ["--impl", "rest", "-p", f"uri={real.running('gravitino').uri}"]
    with pytest.warns(UserWarning, match="tables are not listed here"):
        shown = CliRunner().invoke(app, ["ls", *options])
    assert shown.exit_code == 0
    assert schema[0] in shown.stdout
    assert CliRunner().invoke(app, ["operations", *options]).exit_code == 0
