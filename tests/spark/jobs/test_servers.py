"""Jobs between third-party catalogs: from Hive to Unity, Iceberg, Polaris, Glue and SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.maintenance import Mirror, Selection, Upkeep, inventory, maintain, sync
from lance_namespace_impls.spark import import_files
from lance_namespace_impls.sql.migrate import initialize
from tests.polaris.subject import properties_for
from tests.servers.glue import REGION, glue_server
from tests.servers.hive import shared
from tests.servers.iceberg import IcebergFixture
from tests.servers.polaris_tables import CATALOG, PolarisServer, PolarisTables
from tests.servers.unity import UnityDouble
from tests.servers.unity_real import UnityServer
from tests.spark.jobs.lakes import put

ROWS = pa.table({"a": range(10), "s": ["x"] * 10})
REAL = [pytest.mark.real("unity"), pytest.mark.real("polaris")]


@pytest.fixture(params=["doubles", pytest.param("real", marks=REAL)])
def servers(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[UnityDouble | UnityServer, PolarisTables | PolarisServer]]:
    """Start Unity and Polaris, as test doubles or as the real servers."""
    is_real = request.param == "real"
    lake = (tmp_path / CATALOG).as_uri()
    with (
        UnityServer() if is_real else UnityDouble() as unity,
        PolarisServer() if is_real else PolarisTables(lake) as polaris,
    ):
        unity.clear()
        unity.add_catalog("main")
        polaris.clear()
        yield unity, polaris


@contextmanager
def glue_catalog() -> Iterator[dict[str, str]]:
    """Yield the properties of a connection to an empty Glue server."""
    with glue_server() as server:
        server.reset()
        yield {
            "endpoint": server.endpoint,
            "region": REGION,
            "default_namespace_type": "database",
            "access_key_id": "AKIATESTKEY",
            "secret_access_key": "not-a-real-secret",
        }


def contents(namespace: Namespace, under: list[str]) -> dict[str, tuple[Any, ...]]:
    """Return the row count, version, state and schema of each table from the inventory."""
    rows = list(inventory(namespace, Selection(under=under)))
    assert [row.problem for row in rows if row.problem] == []
    return {
        row.table[-1]: (row.rows, row.version, row.declared_only, row.schema_hash) for row in rows
    }


@pytest.mark.slow
def test_tables_are_synced_from_hive_to_all_other_catalogs(
    tmp_path: Path, servers: tuple[UnityDouble | UnityServer, PolarisTables | PolarisServer]
) -> None:
    unity_server, polaris_server = servers
    database = f"jobs_{tmp_path.name}".lower().replace("-", "_")
    # Polaris accepts only tables below its own root.
    lake = Path(polaris_server.location.removeprefix("file://")) / "lake"
    properties = {"uri": shared("4.2").uri, "root": str(lake)}
    hive = connect("hive2", properties)
    hive.create_namespace({"id": [database]})
    source = tmp_path / "orders.csv"
    source.write_text("a,s\n" + "".join(f"{n},x\n" for n in range(10)))
    for _ in range(2):
        imported = import_files(
            None,
            impl="hive2",
            properties=properties,
            table=[database, "orders"],
            sources=[str(source)],
            mode="exist_ok",
        )
    assert (imported.version, imported.rows) == (1, 0)  # the second run changed nothing
    hive.alter_table({"id": [database, "orders"], "set_properties": {"owner_team": "lake"}})
    put(hive, [database, "events"], ROWS).delete("a < 3")
    hive.declare_table({"id": [database, "later"]})
    expected = contents(hive, [database])
    assert {name: found[:3] for name, found in expected.items()} == {
        "events": (7, 2, False),
        "later": (None, None, True),
        "orders": (10, 1, False),
    }
    database_file = {"uri": f"sqlite:///{tmp_path}/catalog.db"}
    initialize(database_file)
    with IcebergFixture(folder=tmp_path) as rest, glue_catalog() as glue:
        ends: list[tuple[str, dict[str, str], list[str]]] = [
            ("unity", {"endpoint": unity_server.uri, "catalog": "main"}, ["main", "sales"]),
            (
                "iceberg",
                {"endpoint": rest.endpoint, "prefix": "", "warehouses": "wh"},
                ["wh", "sales"],
            ),
            ("polaris", properties_for(polaris_server), [CATALOG, "sales"]),
            ("glue", glue, ["sales"]),
            ("sql", database_file, ["sales"]),
        ]
        before, under = hive, [database]
        for impl, given, into in ends:
            target = connect(impl, given)
            mirror = Mirror(selection=Selection(under=under), into=into)
            rows = sync(before, target, mirror)
            assert [row.problem for row in rows if row.problem] == []
            assert {row.step for row in sync(before, target, mirror)} == {"none"}
            found = contents(target, into)
            print(impl, "differs from hive in", set(found.items()) ^ set(expected.items()))
            assert found == expected
            described = target.describe_table({"id": [*into, "orders"]})
            assert (described.properties or {})["owner_team"] == "lake"
            before, under = target, into
        # All catalogs share the tables: a compaction through the last one is visible in the first.
        (kept,) = maintain(before, Selection(under=under, patterns=["*events"]), Upkeep())
        assert kept.problem is None
        assert contents(hive, [database]) == contents(before, under)
