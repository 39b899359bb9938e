"""The calls of lance-ray with a namespace.

python -m tests.clients.ray_calls URI '["level", ...]'
"""

from __future__ import annotations

import json
import sys
from typing import Any

import lance
import lance_namespace
import lance_ray
import pyarrow as pa
import ray

from .script import Calls, make_calls

ROWS = pa.table(
    {
        "id": range(600),
        "x": [float(n) for n in range(600)],
        "text": [f"word{n % 7} apple" for n in range(600)],
        "vector": pa.array(
            [[float(n % 13), float(n % 7), float(n), 1.0] for n in range(600)],
            pa.list_(pa.float32(), 4),
        ),
    }
)


class Lake:
    """A table identifier, and the arguments with which lance-ray accesses the table."""

    def __init__(self, uri: str, levels: list[str], name: str) -> None:
        self.id = [*levels, name]
        self.place = {"namespace_impl": "rest", "namespace_properties": {"uri": uri}}
        self.at = {**self.place, "table_id": self.id}

    def write(self, rows: pa.Table = ROWS, **more: Any) -> None:
        lance_ray.write_lance(ray.data.from_arrow(rows), **self.at, **more)

    def read(self, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = lance_ray.read_lance(**self.at, **more).take_all()
        return found

    def dataset(self) -> Any:
        properties = self.place["namespace_properties"]
        client = lance_namespace.connect("rest", properties)  # type: ignore[arg-type]
        return lance.dataset(namespace_client=client, table_id=self.id)


STARTS = 5
call: Calls[Lake] = Calls()


@call
def write_and_read(lake: Lake) -> None:
    lake.write()
    found = sorted(lake.read(columns=["id", "x"]), key=lambda row: row["id"])
    assert found == ROWS.select(["id", "x"]).to_pylist()


@call
def write_an_existing_table(lake: Lake) -> None:
    lake.write()
    try:
        lake.write()
    except Exception:  # noqa: BLE001 - whichever it is
        assert len(lake.read(columns=["id"])) == 600
        return
    raise AssertionError("it was written twice")


@call
def write_as_a_stream(lake: Lake) -> None:
    lake.write(stream=True, batch_size=100)
    assert len(lake.read(columns=["id"])) == 600


@call
def append(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    assert len(lake.read(columns=["id"])) == 1200


@call
def overwrite(lake: Lake) -> None:
    lake.write()
    lake.write(ROWS.slice(0, 5), mode="overwrite")
    assert len(lake.read(columns=["id"])) == 5


@call
def overwrite_what_is_not_there(lake: Lake) -> None:
    lake.write(mode="overwrite")
    assert len(lake.read(columns=["id"])) == 600


@call
def read_with_a_filter(lake: Lake) -> None:
    lake.write()
    assert [row["id"] for row in lake.read(columns=["id"], filter="id = 7")] == [7]


@call
def read_a_missing_table(lake: Lake) -> None:
    try:
        lake.read()
    except Exception:  # noqa: BLE001 - whichever it is
        return
    raise AssertionError("it was read")


@call
def add_columns(lake: Lake) -> None:
    lake.write()
    lance_ray.add_columns(**lake.at, transform={"y": "id * 2"}, concurrency=1)
    assert lake.read(columns=["y"], filter="id = 7") == [{"y": 14}]


@call
def add_columns_from(lake: Lake) -> None:
    lake.write()
    lance_ray.add_columns_from(
        **lake.at,
        transform=lambda batch: pa.table({"y": pa.compute.multiply(batch["id"], 2)}),
        read_columns=["id"],
    )
    assert lake.read(columns=["y"], filter="id = 7") == [{"y": 14}]


@call
def create_scalar_index(lake: Lake) -> None:
    lake.write()
    lance_ray.create_scalar_index(**lake.at, column="id", index_type="BTREE", num_workers=1)
    assert len(lake.dataset().list_indices()) == 1


@call
def create_full_text_index(lake: Lake) -> None:
    lake.write()
    lance_ray.create_scalar_index(**lake.at, column="text", index_type="FTS", num_workers=1)
    assert lake.dataset().to_table(full_text_query="word3").num_rows == 86


@call
def create_vector_index(lake: Lake) -> None:
    lake.write()
    lance_ray.create_index(
        **lake.at, column="vector", index_type="IVF_FLAT", num_partitions=2, num_workers=1
    )
    assert len(lake.dataset().list_indices()) == 1


@call
def optimize_indices(lake: Lake) -> None:
    lake.write()
    lance_ray.create_scalar_index(**lake.at, column="id", index_type="BTREE", num_workers=1)
    lake.write(mode="append")
    lance_ray.optimize_indices(**lake.at)
    assert lake.dataset().stats.index_stats("id_idx")["num_unindexed_rows"] == 0


@call
def vector_search(lake: Lake) -> None:
    lake.write()
    found = lance_ray.vector_search(
        **lake.at, nearest={"column": "vector", "q": [7.0, 0.0, 7.0, 1.0], "k": 1}, num_workers=1
    )
    assert found["id"].to_pylist() == [7]


@call
def compact_files(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    lance_ray.compact_files(**lake.at, num_workers=1)
    assert len(lake.dataset().get_fragments()) == 1


@call
def compact_database(lake: Lake) -> None:
    lake.write()
    lake.write(mode="append")
    lance_ray.compact_database(**lake.place, database=lake.id[:-1], num_workers=1)
    assert len(lake.dataset().get_fragments()) == 1


def main(uri: str, levels: list[str]) -> None:
    start_ray()
    ray.data.DataContext.get_current().enable_progress_bars = False
    make_calls(call, lambda name: Lake(uri, levels, name))


def start_ray() -> None:
    """Start Ray; retry if its processes time out while they start, as on a busy machine."""
    for left in reversed(range(STARTS)):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                logging_level="error",
                object_store_memory=200 << 20,
            )
            return
        except Exception:
            ray.shutdown()
            if not left:
                raise


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
