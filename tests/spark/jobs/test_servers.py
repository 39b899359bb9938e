"""Jobs between catalogs that other people wrote: Hive to Unity to Iceberg and back into a directory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.spark.jobs import Mirror, Selection, inventory, sync
from tests.servers.hive import shared
from tests.servers.iceberg import IcebergFixture
from tests.servers.unity import UnityDouble
from tests.spark.jobs.lakes import put

ROWS = pa.table({"a": range(10), "s": ["x"] * 10})


@pytest.mark.slow
def test_tables_go_from_hive_to_unity_to_iceberg(tmp_path: Path) -> None:
    database = f"jobs_{tmp_path.name}".lower().replace("-", "_")
    hive = connect("hive2", {"uri": shared("4.2").uri, "root": str(tmp_path / "hive")})
    put(hive, [database, "orders"], ROWS)
    hive.alter_table({"id": [database, "orders"], "set_properties": {"owner_team": "lake"}})
    put(hive, [database, "events"], ROWS).delete("a < 3")
    hive.declare_table({"id": [database, "later"]})
    names = ["events", "later", "orders"]
    with UnityDouble() as server, IcebergFixture(folder=tmp_path) as rest:
        server.objects[("main",)] = {"properties": {}}
        unity = connect("unity", {"endpoint": server.uri, "catalog": "main"})
        iceberg = connect("iceberg", {"endpoint": rest.endpoint, "prefix": "", "warehouses": "wh"})
        first = Mirror(selection=Selection(under=[database]), into=["main", "sales"])
        second = Mirror(selection=Selection(under=["main", "sales"]), into=["wh", "sales"])
        for source, target, mirror in ((hive, unity, first), (unity, iceberg, second)):
            rows = sync(source, target, mirror)
            assert [row.problem for row in rows if row.problem] == []
            assert {row.step for row in sync(source, target, mirror)} == {"none"}
            found = {
                row.table[-1]: (row.rows, row.declared_only, row.problem)
                for row in inventory(target, Selection(under=mirror.into))
            }
            assert found == {
                "events": (7, False, None),
                "later": (None, True, None),
                "orders": (10, False, None),
            }
            assert sorted(target.iter_tables(mirror.into)) == names
            described = target.describe_table({"id": [*mirror.into, "orders"]})
            assert (described.properties or {})["owner_team"] == "lake"
