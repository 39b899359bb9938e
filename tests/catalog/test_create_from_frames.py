"""Create tables from Python data in one call: data frames, Arrow data, dicts and lists."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lance_namespace_client.async_rest import AsyncRestNamespace
from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableSchemaValidationError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.objects.table import Table
from lance_namespace_impls.server import serving

COLUMNS = {"n": [1, 2], "s": ["a", None]}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(pd.DataFrame(COLUMNS), id="pandas"),
        pytest.param(pl.DataFrame(COLUMNS), id="polars"),
        pytest.param(pl.LazyFrame(COLUMNS), id="lazy"),
        pytest.param(pa.table(COLUMNS), id="arrow"),
        pytest.param([{"n": 1, "s": "a"}, {"n": 2, "s": None}], id="dicts"),
        pytest.param(COLUMNS, id="columns"),
    ],
)
def test_a_table_is_created_from_python_data(tmp_path: Path, rows: Any) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, rows)
    assert lake.table("t").to_arrow().to_pydict() == COLUMNS


DAYS = pd.DatetimeIndex(["2024-01-01", "2024-01-02"], name="day")
VECTOR = np.array([1, 2], "f4")
FIXED = pa.list_(pa.float32(), 2)


def written(tmp_path: Path, rows: Any) -> pa.Table:
    """Create a table with these rows and return its contents."""
    lake = connect("dir", {"path": str(tmp_path)})
    return lake.table("t").create(rows).to_arrow()


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        pytest.param(DAYS, ["close", "day"], id="named"),
        pytest.param(pd.RangeIndex(2, name="n"), ["close", "n"], id="named-range"),
        pytest.param(
            pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", "y"]),
            ["close", "x", "y"],
            id="levels",
        ),
        pytest.param(
            pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
            ["close", "x"],
            id="one-named-level",
        ),
        pytest.param(pd.Index([3, 5]), ["close"], id="unnamed"),
        pytest.param(None, ["close"], id="default"),
    ],
)
def test_named_levels_of_an_index_become_columns(
    tmp_path: Path, index: Any, columns: list[str]
) -> None:
    frame = pd.DataFrame({"close": [1.5, 2.5]}, index=index)
    table = written(tmp_path, frame)
    assert table.column_names == columns
    for name in columns[1:]:
        assert table[name].to_pylist() == list(frame.index.get_level_values(name))


def test_an_index_is_written_by_merge_and_add(tmp_path: Path) -> None:
    table = connect("dir", {"path": str(tmp_path)}).table("t")
    table.create(pd.DataFrame({"close": [1.5, 2.5]}, index=DAYS))
    merge = table.merge_insert("day").when_matched_update_all()
    merge.execute(pd.DataFrame({"close": [9.5]}, index=DAYS[1:]))
    table.add(pd.DataFrame({"close": [3.5]}, index=DAYS[:1].shift(5, freq="D")))
    assert sorted(table.to_arrow()["close"].to_pylist()) == [1.5, 3.5, 9.5]


def test_an_index_that_repeats_a_column_is_stored_once(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [3, 4]})
    assert written(tmp_path / "same", frame.set_index("n", drop=False)).to_pydict() == {"n": [3, 4]}
    with pytest.raises(InvalidInputError, match="both named 'n'"):
        written(tmp_path / "other", frame.set_index(pd.Index([7, 8], name="n")))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"v": VECTOR}, {"v": None}], id="dicts"),
        pytest.param([{"v": VECTOR}, {"n": 1}], id="dicts-without-the-key"),
        pytest.param({"v": [VECTOR, None]}, id="columns"),
        pytest.param(pd.DataFrame({"v": [VECTOR, None]}), id="pandas"),
        pytest.param(pd.DataFrame({"v": [VECTOR, float("nan")]}), id="pandas-nan"),
        pytest.param(pd.DataFrame({0: [VECTOR, pd.NA]}), id="pandas-na-under-a-number"),
        pytest.param(
            pl.DataFrame({"v": pl.Series([[1, 2], None], dtype=pl.Array(pl.Float32, 2))}),
            id="polars",
        ),
    ],
)
def test_vectors_with_a_null_can_be_searched(tmp_path: Path, rows: Any) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    table = lake.table("t").create(rows)
    name = table.schema.names[0]
    assert table.schema.field(name).type == FIXED
    assert table.to_arrow()[name].to_pylist() == [[1, 2], None]
    assert table.search([1.0, 2.0], name).limit(1).to_list()[0][name] == [1, 2]


@pytest.mark.parametrize(
    "values",
    [[np.array(["a", "b"]), None], [np.ones(2), np.ones(3), None]],
    ids=["texts", "ragged"],
)
def test_other_arrays_stay_lists(tmp_path: Path, values: list[Any]) -> None:
    assert pa.types.is_list(written(tmp_path, {"v": values}).schema.field("v").type)


PLAIN = [{"n": 2, "v": [0.5, 0.5]}, {"n": 3, "v": None}]


def overwrite(table: Table, rows: Any) -> None:
    table.namespace.insert_into_table({"id": list(table.id), "mode": "Overwrite"}, rows)


def append(table: Table, rows: Any) -> None:
    table.namespace.insert_into_table({"id": list(table.id)}, rows)


def merge(table: Table, rows: Any) -> None:
    request = {"id": list(table.id), "on": ["n"], "when_not_matched_insert_all": True}
    table.namespace.merge_insert_into_table(request, rows)


WAYS: dict[str, Any] = {
    "overwrite": overwrite,
    "append": append,
    "merge": merge,
    "add": Table.add,
    "add-overwrite": lambda table, rows: table.add(rows, mode="overwrite"),
    "table-merge": lambda table, rows: (
        table.merge_insert("n")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(rows)
    ),
}
FORMS: dict[str, Any] = {
    "dicts": PLAIN,
    "pandas": pd.DataFrame(PLAIN),
    "polars": pl.DataFrame(PLAIN),
    "arrow": pa.table(
        {"n": [2, 3], "v": pa.array([[0.5, 0.5], None], pa.large_list(pa.float64()))}
    ),
}


@pytest.mark.parametrize(
    ("way", "form"),
    [*((way, "dicts") for way in WAYS), *(("append", form) for form in [*FORMS][1:])],
)
def test_plain_lists_become_vectors_of_the_existing_type(
    tmp_path: Path, way: str, form: str
) -> None:
    table = connect("dir", {"path": str(tmp_path)}).table("t")
    table.create(pa.table({"n": [1], "v": pa.array([[1, 2]], FIXED)}))
    WAYS[way](table, FORMS[form])
    assert table.schema.field("v").type == FIXED
    found = {row["n"]: row["v"] for row in table.to_arrow().to_pylist()}
    assert found[2] == [0.5, 0.5]
    assert found[3] is None
    assert len(table.search([0.5, 0.5]).limit(1).to_list()) == 1


@pytest.mark.parametrize("way", WAYS)
def test_lists_of_another_length_change_nothing(tmp_path: Path, way: str) -> None:
    table = connect("dir", {"path": str(tmp_path)}).table("t")
    table.create(pa.table({"n": [1], "v": pa.array([[1, 2]], FIXED)}))
    with pytest.raises(LanceNamespaceError, match="'v'") as caught:
        WAYS[way](table, [{"n": 2, "v": [1.0, 2.0, 3.0]}])
    assert caught.value.code in (13, 20)
    assert table.to_arrow().to_pylist() == [{"n": 1, "v": [1, 2]}]


def test_an_overwrite_with_vectors_replaces_the_type(tmp_path: Path) -> None:
    table = connect("dir", {"path": str(tmp_path)}).table("t")
    table.create(pa.table({"v": pa.array([[1, 2]], FIXED)}))
    overwrite(table, {"v": np.ones((1, 3), "f8")})
    assert table.schema.field("v").type == pa.list_(pa.float64(), 3)


# --- lists as vectors of new tables

LISTS = [[1.0, 2.5], None, [3, 4]]


@pytest.fixture(scope="module", params=["dir", "rest"])
def directory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    with connect("dir", {"path": str(tmp_path_factory.mktemp("lake"))}) as directory:
        if request.param == "dir":
            yield directory
            return
        with serving(directory) as uri, connect("rest", {"uri": uri}) as client:
            yield client


@pytest.fixture
def lake(directory: Any) -> Iterator[Any]:
    """A directory whose tables are dropped after the test."""
    yield directory
    for name in list(directory.iter_tables()):
        directory.table([name]).drop()


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"id": n, "my_Vector": each} for n, each in enumerate(LISTS)], id="dicts"),
        pytest.param({"id": [0, 1, 2], "my_Vector": LISTS}, id="columns"),
        pytest.param(pd.DataFrame({"id": [0, 1, 2], "my_Vector": LISTS}), id="pandas"),
    ],
)
def test_lists_in_a_vector_column_become_vectors(lake: Any, rows: Any) -> None:
    lake.create_table({"id": ["t"]}, rows)
    table = lake.table("t")
    assert table.schema.field("my_Vector").type == FIXED
    assert table.to_arrow()["my_Vector"].to_pylist() == LISTS
    assert table.search([3.0, 4.0]).limit(1).to_list()[0]["id"] == 2
    lake.table("t").create(rows, mode="overwrite")
    assert lake.table("t").schema.field("my_Vector").type == FIXED


def test_lists_in_an_async_upload_become_vectors(tmp_path: Path) -> None:
    rows = [{"id": n, "embedding": each} for n, each in enumerate(LISTS)]

    async def create(uri: str) -> None:
        async with httpx.AsyncClient() as client:
            await AsyncRestNamespace(client, uri).create_table({"id": ["t"]}, rows)

    with connect("dir", {"path": str(tmp_path)}) as lake, serving(lake) as uri:
        asyncio.run(create(uri))
        assert lake.table("t").schema.field("embedding").type == FIXED


@pytest.mark.parametrize(
    "column",
    [
        pytest.param({"vector": [[1.0, 2.0], [1.0]]}, id="lengths differ"),
        pytest.param({"vector": [[], []]}, id="empty"),
        pytest.param({"vector": [[1.0, None], [1.0, 2.0]]}, id="null in a list"),
        pytest.param({"vector": [["a"], ["b"]]}, id="text"),
        pytest.param({"vector": [[True], [False]]}, id="booleans"),
        pytest.param({"vector": [[1e300], [1.0]]}, id="beyond 32 bits"),
        pytest.param({"sizes": [[1.0, 2.0], [3.0, 4.0]]}, id="another name"),
    ],
)
def test_other_lists_remain_lists(tmp_path: Path, column: Any) -> None:
    (values,) = column.values()
    found = written(tmp_path, column)
    assert pa.types.is_list(found.schema.field(0).type)
    assert found.column(0).to_pylist() == values


def test_lists_keep_the_precision_of_an_existing_column(lake: Any) -> None:
    exact = pa.schema([("vector", pa.list_(pa.float64(), 2))])
    lake.table("t").create(schema=exact)
    lake.table("t").add([{"vector": [0.1, 1e300]}])
    lake.insert_into_table({"id": ["t"]}, [{"vector": [0.2, 1e300]}])
    assert lake.table("t").to_arrow()["vector"].to_pylist() == [[0.1, 1e300], [0.2, 1e300]]


# --- schemas

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.string())])


def test_a_table_is_created_from_a_schema(lake: Any) -> None:
    table = lake.table("t").create(schema=SCHEMA)
    assert (table.schema, table.count_rows()) == (SCHEMA, 0)
    table.add([{"a": 1, "b": "x"}])
    assert lake.table("t").create(schema=SCHEMA, exist_ok=True).count_rows() == 1
    with pytest.raises(TableAlreadyExistsError):
        lake.table("t").create(schema=SCHEMA)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"a": 1}, {"a": None}], id="dicts"),
        pytest.param(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), id="pandas"),
        pytest.param(pa.table({"a": pa.array([1, None], pa.int64())}), id="arrow"),
    ],
)
def test_rows_are_converted_to_a_schema(lake: Any, rows: Any) -> None:
    table = lake.table("t").create(rows, schema=SCHEMA)
    assert table.schema == SCHEMA
    assert table.to_arrow().to_pydict() == {"a": [1, None], "b": [None, None]}


def test_batches_with_a_schema(lake: Any) -> None:
    batches = (pa.record_batch([[n], [str(n)]], schema=SCHEMA) for n in range(3))
    assert lake.table("t").create(batches, SCHEMA).to_arrow()["b"].to_pylist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": "x", "k": 1}], "column 'a' is int32"),
        ([{"c": 1, "k": 1}], "no column 'c'"),
        ([{"a": 1}], "column 'k' must not contain nulls"),
    ],
)
def test_rows_with_another_schema_create_nothing(lake: Any, rows: Any, message: str) -> None:
    schema = SCHEMA.append(pa.field("k", pa.int64(), nullable=False))
    with pytest.raises(TableSchemaValidationError, match=message):
        lake.table("t").create(rows, schema=schema)
    with pytest.raises(InvalidInputError, match="rows or a schema"):
        lake.table("t").create()
    assert not lake.table("t").exists()


@pytest.mark.parametrize(
    "fields",
    [
        pa.field("n", pa.int32()),
        [pa.field("n", pa.int32()), pa.field("v", pa.list_(pa.float32(), 2))],
        pa.schema([("n", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("s", pa.string())]),
    ],
    ids=["field", "fields", "schema"],
)
def test_columns_without_values_are_added(lake: Any, fields: Any) -> None:
    table = lake.table("t").create([{"a": 1}])
    table.add_columns(fields)
    expected = [fields] if isinstance(fields, pa.Field) else list(fields)
    assert [(f.name, f.type) for f in list(table.schema)[1:]] == [
        (f.name, f.type) for f in expected
    ]
    assert table.to_list() == [{"a": 1, **{each.name: None for each in expected}}]


def test_indices_are_created_with_lancedb_method_names(lake: Any) -> None:
    table = lake.table("t").create([{"id": n, "text": f"word {n}"} for n in range(20)])
    table.create_scalar_index("id", index_type="BITMAP")
    table.create_fts_index("text", with_position=True)
    assert len(table.list_indices()) == 2
    assert table.search("word", query_type="fts").limit(3).to_arrow().num_rows == 3
