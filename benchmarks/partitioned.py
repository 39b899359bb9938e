"""Measures planning for one partition, and listing partitions, with few and with many partitions.

    python benchmarks/partitioned.py [few] [many]

Prints the times with both numbers of partitions (medians, in milliseconds) and their ratios. The
rows of the manifest are written in one commit. The partitions have no data, since planning reads
none.
"""

from __future__ import annotations

import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from lance_namespace_impls import connect
from lance_namespace_impls.directory.manifest import NAMESPACE, TABLE, Change, Row
from lance_namespace_impls.directory.partitions import ManifestPartitions

SCHEMA = pa.schema([("id", pa.int64()), ("tenant", pa.int64()), ("ts", pa.timestamp("us"))])
REPEATS = 30


def build(root: str, count: int) -> Any:
    """Create a partitioned namespace with rows of the manifest for many partitions."""
    lake = connect("dir", {"path": root, "manifest": "true"})
    made = lake.create_partitioned(None, SCHEMA, ["tenant"])
    store = lake.partition_store(())
    assert isinstance(store, ManifestPartitions)
    rows = []
    for number in range(count):
        id = f"v1${secrets.token_hex(8)}"
        more = {"partition_field_tenant": number, "read_version": None}
        rows.append(Row(id=id, type=NAMESPACE, more=more))
        table = f"{id}$dataset"
        location = f"{secrets.token_hex(4)}_{table}"
        more = {**more, "read_version": 1}
        rows.append(Row(id=table, type=TABLE, location=location, more=more))
    store.manifest.change(lambda snapshot: Change(put=rows))
    return made


def milliseconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median duration of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def measure(count: int) -> dict[str, float]:
    """Return the times with a number of partitions."""
    with tempfile.TemporaryDirectory() as root:
        made = build(root, count)
        condition = f"tenant = {count // 2} AND id > 5"

        def plan() -> None:
            (_,) = made.partitions(condition)

        def cold() -> None:
            with connect("dir", {"path": root}) as lake:
                (_,) = lake.partitioned().partitions(condition)

        plan()
        return {
            "plan": milliseconds(plan),
            "plan, new connection": milliseconds(cold, 10),
            "list partitions": milliseconds(lambda: made.partitions(), 20),
            "list all tables": milliseconds(lambda: made.namespace.list_all_tables({}), 20),
        }


def main(few: int = 100, many: int = 10_000) -> None:
    """Print the times and their ratios."""
    found = {count: measure(count) for count in (few, many)}
    for name in found[few]:
        one, other = found[few][name], found[many][name]
        ratio = other / one / (many / few if name.startswith("list") else 1)
        unit = " per partition" if name.startswith("list") else ""
        print(f"{name}: {few:,} {one:.2f} ms, {many:,} {other:.2f} ms, ratio{unit} {ratio:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
