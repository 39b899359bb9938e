"""pylance's own REST client, written in Rust, calls our server."""

from __future__ import annotations

import io

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.namespace import RestNamespace
from lance_namespace_urllib3_client import models

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.echo import EchoNamespace


@pytest.fixture
def root(tmp_path):
    return tmp_path / "tables"


@pytest.fixture
def client(root):
    with connect("dir", {"path": root}) as namespace, serving(namespace) as uri:
        yield RestNamespace(uri=uri)


def ipc(values):
    table = pa.table({"a": pa.array(values, pa.int64())})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def queried(answer):
    return pa.ipc.open_file(io.BytesIO(answer.data)).read_all()["a"].to_pylist()


def query(id, k=10):
    vector = models.QueryTableRequestVector()
    return models.QueryTableRequest(id=id, k=k, vector=vector)


def code_of(call, *arguments):
    with pytest.raises(lance_namespace.LanceNamespaceError) as caught:
        call(*arguments)
    return int(caught.value.code)


@pytest.mark.requirement("general-004", "general-096", "general-097", "general-102", "general-108")
def test_lifecycle_of_tables(client, root):
    assert client.list_tables(models.ListTablesRequest(id=[])).tables == []

    declared = client.declare_table(models.DeclareTableRequest(id=["d"], properties={"team": "x"}))
    assert declared.location == f"{root}/d.lance"
    described = client.describe_table(models.DescribeTableRequest(id=["d"], check_declared=True))
    assert (described.location, described.is_only_declared) == (declared.location, True)
    assert described.properties == {"team": "x"}

    created = client.create_table(models.CreateTableRequest(id=["t"]), ipc([1, 2, 3]))
    assert (created.version, created.location) == (1, f"{root}/t.lance")
    inserted = client.insert_into_table(models.InsertIntoTableRequest(id=["t"]), ipc([4]))
    assert inserted.num_inserted_rows == 1
    assert client.count_table_rows(models.CountTableRowsRequest(id=["t"])).count == 4
    assert queried(client.query_table(query(["t"]))) == [1, 2, 3, 4]
    assert queried(client.query_table(query(["t"], k=2))) == [1, 2]
    assert queried(client.query_table(query(["t"], k=0))) == [1, 2, 3, 4]
    assert lance.dataset(created.location).count_rows() == 4

    detailed = client.describe_table(
        models.DescribeTableRequest(id=["t"], load_detailed_metadata=True, with_table_uri=True)
    )
    assert detailed.version == 2
    assert [field.name for field in detailed.var_schema.fields] == ["a"]
    assert detailed.table_uri == f"file://{root}/t.lance"

    client.create_table(models.CreateTableRequest(id=["d"]), ipc([9]))
    listed = client.list_tables(models.ListTablesRequest(id=[], limit=1))
    assert listed.tables == ["d"]
    rest = models.ListTablesRequest(id=[], limit=1, page_token=listed.page_token)
    assert client.list_tables(rest).tables == ["t"]
    assert client.list_all_tables(models.ListTablesRequest()).tables == ["d", "t"]

    client.table_exists(models.TableExistsRequest(id=["t"]))
    client.deregister_table(models.DeregisterTableRequest(id=["t"]))
    assert code_of(client.table_exists, models.TableExistsRequest(id=["t"])) == 4
    client.register_table(models.RegisterTableRequest(id=["t"], location="t.lance"))
    assert queried(client.query_table(query(["t"]))) == [1, 2, 3, 4]
    client.drop_table(models.DropTableRequest(id=["t"]))
    assert not (root / "t.lance").exists()
    assert client.list_tables(models.ListTablesRequest(id=[])).tables == ["d"]


def test_failures_arrive_with_their_codes(client):
    client.create_table(models.CreateTableRequest(id=["t"]), ipc([1]))
    again = models.CreateTableRequest(id=["t"])
    assert code_of(client.create_table, again, ipc([1])) == 5
    assert code_of(client.describe_table, models.DescribeTableRequest(id=["x"])) == 4
    assert code_of(client.describe_table, models.DescribeTableRequest(id=[".hidden"])) == 13
    assert code_of(client.create_table, models.CreateTableRequest(id=["u"]), ipc([1])[:-30]) == 13
    assert client.list_tables(models.ListTablesRequest(id=[])).tables == ["t"]
    other = models.CreateTableRequest(id=["u"], mode="sideways")
    assert code_of(client.create_table, other, ipc([1])) == 13
    assert code_of(client.drop_namespace, models.DropNamespaceRequest(id=["n"])) in (0, 13)


def test_modes_and_properties_of_new_tables(client):
    client.create_table(
        models.CreateTableRequest(id=["t"], properties={"k": "v & 1 = 2"}), ipc([1])
    )
    described = client.describe_table(models.DescribeTableRequest(id=["t"]))
    assert described.properties == {"k": "v & 1 = 2"}
    kept = client.create_table(models.CreateTableRequest(id=["t"], mode="ExistOk"), ipc([2, 3]))
    assert kept.properties == {"k": "v & 1 = 2"}
    assert client.count_table_rows(models.CountTableRowsRequest(id=["t"])).count == 1
    client.create_table(models.CreateTableRequest(id=["t"], mode="Overwrite"), ipc([2, 3]))
    assert client.count_table_rows(models.CountTableRowsRequest(id=["t"])).count == 2


@pytest.mark.requirement("general-003", "general-102")
def test_pylance_opens_and_writes_tables_through_the_server(client, root):
    rows = pa.table({"a": [1, 2]})
    lance.write_dataset(rows, namespace_client=client, table_id=["t"], mode="create")
    lance.write_dataset(rows, namespace_client=client, table_id=["t"], mode="append")
    assert lance.dataset(namespace_client=client, table_id=["t"]).count_rows() == 4
    assert (root / "t.lance").is_dir()


@pytest.fixture(scope="module")
def echo():
    namespace = EchoNamespace()
    with serving(namespace) as uri:
        yield namespace, uri


@pytest.mark.parametrize("name", ["a.b", "a/b", "a%b", "%2F", "a+b", "ünï", ".", ".."])
def test_names_arrive_unchanged(echo, name):
    """Names with a space are not tested: this client sends a plus sign for a space."""
    namespace, uri = echo
    RestNamespace(uri=uri).describe_table(models.DescribeTableRequest(id=["ns", name]))
    assert namespace.last().id == ["ns", name]


@pytest.mark.requirement("general-026")
def test_another_delimiter(echo):
    namespace, uri = echo
    client = RestNamespace(uri=uri, delimiter=".")
    client.describe_table(models.DescribeTableRequest(id=["a$b", "c"]))
    assert namespace.last().id == ["a$b", "c"]
