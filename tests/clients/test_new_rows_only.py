"""A table that is created again has only the new rows, and deregistered data is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import lance
import lancedb
import pyarrow as pa

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import ServerOptions, serving

from .backends import BACKENDS, Home, on_backends

DATABASE = "tests"


class Client(NamedTuple):
    """The functions of a client that create, drop and count the table ``t``."""

    create: Callable[[pa.Table], object]
    drop: Callable[[], object]
    count: Callable[[], int | None]


def _client(namespace: Namespace, identifier: list[str]) -> Client:
    return Client(
        lambda rows: namespace.create_table({"id": identifier}, rows),
        lambda: namespace.drop_table({"id": identifier}),
        lambda: namespace.count_table_rows({"id": identifier}).count,
    )


@contextmanager
def ours(home: Home) -> Iterator[Client]:
    yield _client(home.namespace, [*home.identifier, "t"])


@contextmanager
def rest(home: Home) -> Iterator[Client]:
    """Yield this project's client, connected to its server."""
    with serving(home.namespace) as uri, connect("rest", {"uri": uri}) as namespace:
        yield _client(namespace, [*home.identifier, "t"])


@contextmanager
def lancedb_remote(home: Home) -> Iterator[Client]:
    """Yield lancedb's remote client, connected to the server."""
    options = ServerOptions(lancedb_databases={DATABASE: home.identifier})
    with serving(home.namespace, options) as uri:
        db = lancedb.connect(f"db://{DATABASE}", api_key="any", host_override=uri)
        yield Client(
            lambda rows: db.create_table("t", rows),
            lambda: db.drop_table("t"),
            lambda: db.open_table("t").count_rows(),
        )


@on_backends(*(BACKENDS.keys() - {"glue", "iceberg"}))
def test_drop_and_create_again(home: Home) -> None:
    identifier = [*home.identifier, "t"]
    for start in (ours, rest, lancedb_remote):
        with start(home) as client:
            client.create(pa.table({"x": [1, 2, 3]}))
            old = home.namespace.describe_table({"id": identifier})
            assert old.location is not None
            home.namespace.deregister_table({"id": identifier})
            client.create(pa.table({"x": [9]}))
            assert client.count() == 1, start.__name__
            client.drop()
            client.create(pa.table({"x": [7, 8]}))
            assert client.count() == 2, start.__name__
            kept = lance.dataset(old.location, storage_options=old.storage_options)
            assert kept.to_table()["x"].to_pylist() == [1, 2, 3], start.__name__
            client.drop()
            assert kept.count_rows() == 3
