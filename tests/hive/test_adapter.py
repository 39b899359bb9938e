"""``lance-ns serve`` in front of a metastore, driven by pylance's own REST client."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.namespace import RestNamespace
from lance_namespace_urllib3_client import models

from .conftest import Form, parameters

ROWS = pa.table({"a": [1, 2, 3]})


@pytest.fixture
def client(form: Form) -> Iterator[RestNamespace]:
    command = [
        *(sys.executable, "-c", "from lance_namespace_impls.cli import main; main()"),
        *("serve", "--impl", "hive" if form.above else form.impl, "--port", "0"),
        *("-p", f"uri={form.metastore.uri}", "-p", f"root={form.root}"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        said = ""
        while (found := re.search(r"http://[\w.]+:\d+", said)) is None:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield RestNamespace(uri=found[0])
    finally:
        process.terminate()
        process.wait(120)
        process.stdout.close()


def stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def code_of(call: object, *arguments: object) -> int:
    with pytest.raises(lance_namespace.LanceNamespaceError) as raised:
        call(*arguments)  # type: ignore[operator]
    return int(raised.value.code)


@pytest.mark.parametrize("form", parameters([("2.3", "hive2"), ("3.1", "hive3")]), indirect=True)
@pytest.mark.requirement(
    "hive3.mapping.namespace-delimiter", "hive3.mapping.table-identifier", "hive2.adapter"
)
def test_lifecycle_of_a_database_and_its_tables(form: Form, client: RestNamespace) -> None:
    database = [*form.above, f"rest_{form.impl}"]
    properties = {"database.owner": "ann", "k": "v"}
    client.create_namespace(models.CreateNamespaceRequest(id=database, properties=properties))
    assert code_of(client.create_namespace, models.CreateNamespaceRequest(id=database)) == 2
    found = client.describe_namespace(models.DescribeNamespaceRequest(id=database)).properties
    assert found.items() >= properties.items()
    assert (
        database[-1]
        in client.list_namespaces(models.ListNamespacesRequest(id=form.above)).namespaces
    )

    table = [*database, "t"]
    declared = client.declare_table(models.DeclareTableRequest(id=[*database, "d"]))
    assert declared.location == f"{found['database.location-uri']}/d"
    created = client.create_table(models.CreateTableRequest(id=table), stream(ROWS))
    assert lance.dataset(created.location).count_rows() == 3
    assert client.count_table_rows(models.CountTableRowsRequest(id=table)).count == 3
    listed = client.list_tables(models.ListTablesRequest(id=database, limit=1))
    assert listed.tables == ["d"]
    rest = models.ListTablesRequest(id=database, limit=1, page_token=listed.page_token)
    assert client.list_tables(rest).tables == ["t"]

    lance.write_dataset(ROWS, namespace_client=client, table_id=table, mode="append")
    assert lance.dataset(namespace_client=client, table_id=table).count_rows() == 6
    # Other clients of the metastore see the same location.
    assert form.namespace.describe_table({"id": table}).location == created.location

    assert code_of(client.describe_table, models.DescribeTableRequest(id=[*database, "x"])) == 4
    assert code_of(client.describe_table, models.DescribeTableRequest(id=[*database, "X"])) == 13
    missing = models.ListTablesRequest(id=[*form.above, "none"])
    assert code_of(client.list_tables, missing) == 1
    assert code_of(client.drop_namespace, models.DropNamespaceRequest(id=database)) == 3
    client.deregister_table(models.DeregisterTableRequest(id=table))
    assert lance.dataset(created.location).count_rows() == 6
    client.drop_namespace(models.DropNamespaceRequest(id=database, behavior="Cascade"))
    assert code_of(client.namespace_exists, models.NamespaceExistsRequest(id=database)) == 1
