"""Calls of lancedb that create, list, drop and describe tables."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa

from .lancedb_call import ROWS, Lance, call, failing, rows

# --- tables of a database


@call
def create_table(it: Lance) -> None:
    table = it.db.create_table(it.name, rows())
    assert table.count_rows() == ROWS


@call
def create_table_of_dicts(it: Lance) -> None:
    it.db.create_table(it.name, [{"id": 1, "vector": [1.0, 2.0]}, {"id": 2, "vector": [3.0, 4.0]}])
    assert it.db.open_table(it.name).count_rows() == 2


@call
def create_table_empty(it: Lance) -> None:
    table = it.db.create_table(it.name, schema=rows().schema)
    assert table.count_rows() == 0
    assert table.schema == rows().schema


@call
def create_table_from_batches(it: Lance) -> None:
    schema = rows().schema
    batches = (rows(at, 10).to_batches()[0] for at in (0, 10, 20))
    assert it.db.create_table(it.name, batches, schema=schema).count_rows() == 30


@call
def create_table_of_all_types(it: Lance) -> None:
    typed = {
        "boolean": pa.array([True]),
        "int8": pa.array([1], pa.int8()),
        "uint64": pa.array([1], pa.uint64()),
        "half": pa.array([np.float16(1)], pa.float16()),
        "double": pa.array([1.5]),
        "large_text": pa.array(["x"], pa.large_string()),
        "bytes": pa.array([b"x"]),
        "fixed": pa.array([b"1234"], pa.binary(4)),
        "day": pa.array([date(2026, 1, 2)]),
        "seconds": pa.array([1], pa.time32("s")),
        "moment": pa.array([datetime(2026, 1, 2)], pa.timestamp("us")),
        "moment_utc": pa.array([datetime(2026, 1, 2)], pa.timestamp("ms", "UTC")),
        "span": pa.array([timedelta(seconds=1)], pa.duration("us")),
        "money": pa.array([Decimal("1.20")], pa.decimal128(10, 2)),
        "more_money": pa.array([Decimal("1.20")], pa.decimal256(50, 2)),
        "point": pa.array([{"x": 1.0, "y": [1]}]),
        "large_list": pa.array([[1]], pa.large_list(pa.int32())),
        "label": pa.array(["x"]).dictionary_encode(),
    }
    wanted = pa.table(typed)
    table = it.db.create_table(it.name, wanted)
    assert table.schema == wanted.schema
    assert table.search().to_arrow().equals(wanted)


@call
def create_table_that_is_there(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    failing(
        lambda: it.db.create_table(it.name, rows(0, 3)), "already exists", "exists", kind=ValueError
    )
    assert it.db.open_table(it.name).count_rows() == ROWS


@call
def create_table_overwrite(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    assert it.db.create_table(it.name, rows(0, 3), mode="overwrite").count_rows() == 3


@call
def create_table_exist_ok(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    assert it.db.create_table(it.name, rows(), exist_ok=True).count_rows() == ROWS


@call
def table_names(it: Lance) -> None:
    it.db.create_table("another", rows(0, 1))
    assert it.table.name == it.name
    assert sorted(it.db.table_names()) == sorted(("another", it.name))


@call
def table_names_by_page(it: Lance) -> None:
    for name in ("a", "b", "c", "d", "e"):
        it.db.create_table(name, rows(0, 1))
    assert list(it.db.table_names(limit=2)) == ["a", "b"]
    assert list(it.db.table_names(page_token="b", limit=2)) == ["c", "d"]


@call
def list_tables(it: Lance) -> None:
    it.db.create_table("a", rows(0, 1))
    it.db.create_table("b", rows(0, 1))
    found = it.db.list_tables(limit=1)
    assert found.tables == ["a"]
    assert it.db.list_tables(page_token=found.page_token).tables == ["b"]


@call
def open_table(it: Lance) -> None:
    assert it.table.name == it.name
    table = it.db.open_table(it.name)
    assert (table.name, table.count_rows()) == (it.name, ROWS)


@call
def open_table_that_is_missing(it: Lance) -> None:
    failing(lambda: it.db.open_table("nowhere"), "was not found", "not found", kind=ValueError)


@call
def drop_table(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.drop_table(it.name)
    assert list(it.db.table_names()) == []


@call
def drop_table_that_is_missing(it: Lance) -> None:
    failing(lambda: it.db.drop_table("nowhere"), "not found", "does not exist")


@call
def drop_table_and_make_it_again(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.drop_table(it.name)
    assert it.db.create_table(it.name, rows(0, 3)).count_rows() == 3


@call
def rename_table(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.rename_table(it.name, "renamed")
    assert list(it.db.table_names()) == ["renamed"]
    assert it.db.open_table("renamed").count_rows() == ROWS


@call
def clone_table(it: Lance) -> None:
    source = it.table.uri if isinstance(it.table.uri, str) else it.table.uri()
    copy = it.db.clone_table("copied", source)
    copy.delete("id < 500")
    assert (copy.count_rows(), it.table.count_rows()) == (12, ROWS)


@call
def create_namespace(it: Lance) -> None:
    it.db.create_namespace(["inner"])
    try:
        assert "inner" in it.db.list_namespaces().namespaces
    finally:
        it.db.drop_namespace(["inner"])


@call
def tables_in_a_namespace(it: Lance) -> None:
    it.db.create_namespace(["inner"])
    try:
        it.db.create_table("t", rows(0, 3), namespace_path=["inner"])
        assert list(it.db.table_names(namespace_path=["inner"])) == ["t"]
        assert it.db.open_table("t", namespace_path=["inner"]).count_rows() == 3
        it.db.drop_table("t", namespace_path=["inner"])
    finally:
        it.db.drop_namespace(["inner"])


# --- attributes of a table


@call
def schema(it: Lance) -> None:
    assert it.table.schema == rows().schema


@call
def version(it: Lance) -> None:
    before = it.table.version
    it.table.add(rows(ROWS, 1))
    assert it.table.version == before + 1


@call
def stats(it: Lance) -> None:
    assert it.table.stats()["num_rows"] == ROWS


@call
def uri(it: Lance) -> None:
    found = it.table.uri if isinstance(it.table.uri, str) else it.table.uri()
    assert it.name in found


@call
def table_pickles(it: Lance) -> None:
    assert pickle.loads(pickle.dumps(it.table)).count_rows() == ROWS


@call
def embedding_functions(it: Lance) -> None:
    assert it.table.embedding_functions == {}


@call
def to_arrow(it: Lance) -> None:
    assert it.table.to_arrow().equals(rows())


@call
def to_pandas(it: Lance) -> None:
    assert len(it.table.to_pandas()) == ROWS


@call
def head(it: Lance) -> None:
    assert it.table.head(3).column("id").to_pylist() == [0, 1, 2]
