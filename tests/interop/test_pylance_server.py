"""Our REST client calls pylance's own server.

Deviations of that server from the protocol are not tested; comments name them if they matter.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls import connect
from tests.servers.pylance import pylance_server

# That server accepts a missing vector only as an empty object, not as null.
NO_VECTOR = {"vector": {}}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    return folder


@pytest.fixture
def client(root):
    with pylance_server(root) as uri, connect("rest", {"uri": uri}) as namespace:
        yield namespace


def rows(*values):
    return pa.table({"a": pa.array(values, pa.int64())})


@pytest.mark.requirement("general-004", "general-097", "general-101")
def test_lifecycle_of_tables(client, root):
    assert list(client.iter_tables()) == []
    assert client.create_namespace({"id": ["ns"], "properties": {"k": "v"}}).properties == {
        "k": "v"
    }
    assert list(client.iter_namespaces()) == ["ns"]
    client.namespace_exists({"id": ["ns"]})
    assert client.describe_namespace({"id": ["ns"]}).properties == {"k": "v"}

    declared = client.declare_table({"id": ["ns", "d"]})
    described = client.describe_table({"id": ["ns", "d"], "check_declared": True})
    assert (described.location, described.is_only_declared) == (declared.location, True)
    assert list(client.iter_tables(["ns"])) == ["d"]

    created = client.create_table({"id": ["ns", "t"]}, rows(1, 2, 3))
    assert created.version == 1
    assert str(root) in created.location
    client.insert_into_table({"id": ["ns", "t"]}, rows(4))
    assert client.count_table_rows({"id": ["ns", "t"]}).count == 4
    assert client.count_table_rows({"id": ["ns", "t"], "predicate": "a > 2"}).count == 2
    for unlimited in (10, 0):
        found = client.query_table({"id": ["ns", "t"], "k": unlimited, **NO_VECTOR}).read_all()
        assert found["a"].to_pylist() == [1, 2, 3, 4]
    detailed = client.describe_table({"id": ["ns", "t"], "load_detailed_metadata": True})
    assert detailed.version == 2
    assert [field.name for field in detailed.schema.fields] == ["a"]

    assert list(client.iter_tables(["ns"], page_size=1)) == ["d", "t"]
    client.table_exists({"id": ["ns", "t"]})
    client.deregister_table({"id": ["ns", "t"]})
    with pytest.raises(TableNotFoundError):
        client.table_exists({"id": ["ns", "t"]})
    client.drop_table({"id": ["ns", "d"]})
    assert list(client.iter_tables(["ns"])) == []
    client.drop_namespace({"id": ["ns"]})
    assert list(client.iter_namespaces()) == []


def test_failures_arrive_as_their_classes(client):
    client.create_namespace({"id": ["ns"]})
    with pytest.raises(NamespaceAlreadyExistsError):
        client.create_namespace({"id": ["ns"]})
    client.create_table({"id": ["t"]}, rows(1))
    with pytest.raises(TableAlreadyExistsError):
        client.create_table({"id": ["t"]}, rows(1))
    with pytest.raises(TableNotFoundError):
        client.describe_table({"id": ["x"]})
    with pytest.raises(InvalidInputError, match="another 'delimiter'"):
        client.describe_table({"id": ["a$b"]})


def test_modes_of_new_tables(client):
    client.create_table({"id": ["t"]}, rows(1))
    client.create_table({"id": ["t"], "mode": "Overwrite"}, rows(2, 3))
    assert client.count_table_rows({"id": ["t"]}).count == 2


@pytest.mark.parametrize("name", ["a.b", "a+b", "a b", "a%b", "ünï"])
def test_names_arrive_unchanged(client, name):
    client.create_table({"id": [name]}, rows(1))
    assert list(client.iter_tables()) == [name]
    if name.isascii() and "%" not in name:  # that server cannot open the other names
        assert client.count_table_rows({"id": [name]}).count == 1


def test_a_large_response(client):
    many = range(200_000)  # that server accepts no body over 2 MiB
    client.create_table({"id": ["t"]}, rows(*many))
    client.insert_into_table({"id": ["t"]}, rows(*many))
    reader = client.query_table({"id": ["t"], "k": 1_000_000, **NO_VECTOR})
    assert reader.read_all()["a"].to_pylist() == [*many, *many]


def test_a_body_that_is_too_large_for_the_server(client):
    with pytest.raises(InvalidInputError, match="smaller parts"):
        client.create_table({"id": ["t"]}, rows(*range(400_000)))
    assert list(client.iter_tables()) == []
