"""The calls of daft-lance with a namespace.

python -m tests.clients.daft_calls URI '["level", ...]'
"""

from __future__ import annotations

import json
import sys
from typing import Any

import daft
import daft_lance
import lance
import lance_namespace

from .script import Calls, make_calls

ROWS = {"id": list(range(300)), "x": [float(n) for n in range(300)]}


class Lake:
    """A table identifier, and the arguments with which daft-lance accesses the table."""

    def __init__(self, uri: str, levels: list[str], name: str) -> None:
        self.properties = {"uri": uri}
        self.id = [*levels, name]
        self.at: dict[str, Any] = {
            "namespace_impl": "rest",
            "namespace_properties": self.properties,
            "table_id": self.id,
        }

    def write(self, rows: dict[str, list[Any]] = ROWS, **more: Any) -> None:
        daft_lance.write_lance(daft.from_pydict(rows), **self.at, **more)

    def read(self, **more: Any) -> Any:
        return daft_lance.read_lance(**self.at, **more)

    def dataset(self) -> Any:
        client = lance_namespace.connect("rest", self.properties)
        return lance.dataset(namespace_client=client, table_id=self.id)


call: Calls[Lake] = Calls()


@call
def write_and_read(lake: Lake) -> None:
    lake.write()
    assert lake.read().sort("id").to_pydict() == ROWS


@call
def write_an_existing_table(lake: Lake) -> None:
    lake.write()
    try:
        lake.write()
    except Exception:  # noqa: BLE001 - whichever it is
        assert lake.read().count_rows() == 300
        return
    raise AssertionError("it was written twice")


@call
def append(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    assert lake.read().count_rows() == 600


@call
def overwrite(lake: Lake) -> None:
    lake.write()
    lake.write({"id": [1], "x": [1.0]}, mode="overwrite")
    assert lake.read().count_rows() == 1


@call
def overwrite_what_is_not_there(lake: Lake) -> None:
    lake.write(mode="overwrite")
    assert lake.read().count_rows() == 300


@call
def read_with_a_filter(lake: Lake) -> None:
    lake.write()
    assert lake.read().where(daft.col("id") == 7).to_pydict() == {"id": [7], "x": [7.0]}


@call
def read_a_version(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    assert lake.read(version=1).count_rows() == 300


@call
def read_a_missing_table(lake: Lake) -> None:
    try:
        lake.read().collect()
    except Exception:  # noqa: BLE001 - whichever it is
        return
    raise AssertionError("it was read")


@call
def merge_columns(lake: Lake) -> None:
    lake.write()
    daft_lance.merge_columns(**lake.at, transform={"y": "id * 2"})
    assert lake.read().where(daft.col("id") == 7).to_pydict()["y"] == [14]


@call
def merge_columns_df(lake: Lake) -> None:
    lake.write()
    options = {"with_row_address": True}
    rows = lake.read(default_scan_options=options, include_fragment_id=True)
    changed = rows.with_column("y", daft.col("id") * 2).select("_rowaddr", "fragment_id", "y")
    daft_lance.merge_columns_df(changed, **lake.at)
    assert lake.read().where(daft.col("id") == 7).to_pydict()["y"] == [14]


@call
def update_columns_df(lake: Lake) -> None:
    lake.write()
    options = {"with_row_address": True}
    rows = lake.read(default_scan_options=options, include_fragment_id=True)
    changed = rows.with_column("x", daft.col("x") + 1).select("_rowaddr", "fragment_id", "x")
    daft_lance.update_columns_df(changed, **lake.at, columns=["x"])
    assert lake.read().where(daft.col("id") == 7).to_pydict()["x"] == [8.0]


@call
def create_scalar_index(lake: Lake) -> None:
    lake.write()
    daft_lance.create_scalar_index(**lake.at, column="id", index_type="BTREE")
    assert len(lake.dataset().list_indices()) == 1


@call
def optimize_indices(lake: Lake) -> None:
    lake.write()
    daft_lance.create_scalar_index(**lake.at, column="id", index_type="BTREE", name="by_id")
    lake.write(mode="append")
    daft_lance.optimize_indices(**lake.at)
    assert lake.dataset().stats.index_stats("by_id")["num_unindexed_rows"] == 0


@call
def compact_files(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    daft_lance.compact_files(**lake.at)
    assert len(lake.dataset().get_fragments()) == 1


def main(uri: str, levels: list[str]) -> None:
    daft.set_runner_native()
    make_calls(call, lambda name: Lake(uri, levels, name))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
