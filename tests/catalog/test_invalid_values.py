"""Invalid values never cause code 18 or an exception of a library, and they change nothing."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.objects.table import Table
from lance_namespace_impls.server import serving

COLUMNS = {
    "k": pa.int64(),
    "small": pa.int8(),
    "f": pa.float32(),
    "s": pa.utf8(),
    "v": pa.list_(pa.float32(), 2),
    "day": pa.date32(),
    "price": pa.decimal128(5, 2),
    "at": pa.timestamp("us", "UTC"),
    "st": pa.struct([("a", pa.int8())]),
}
ROWS = pa.table({name: pa.nulls(2, kind) for name, kind in COLUMNS.items() if name != "k"})
ROWS = ROWS.add_column(0, "k", pa.array([1, 2], pa.int64()))


@pytest.fixture(scope="module", params=["in process", "rest"])
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Table]:
    with connect("dir", {"path": str(tmp_path_factory.mktemp("lake"))}) as lake:
        lake.create_table({"id": ["t"]}, ROWS)
        if request.param == "in process":
            yield lake.table("t")
            return
        with serving(lake) as uri, connect("rest", {"uri": uri}) as remote:
            yield remote.table("t")


def insert(table: Table, name: str, value: Any) -> None:
    table.namespace.insert_into_table({"id": ["t"]}, {name: [value]})


def overwrite(table: Table, name: str, value: Any) -> None:
    request = {"id": ["t"], "mode": "Overwrite"}
    table.namespace.insert_into_table(request, [{"k": 1, name: value}])


def create(table: Table, name: str, value: Any) -> None:
    other = table.namespace.table("new")
    other.create([{"k": 1, name: value}], mode="overwrite")
    other.drop()


def merge(table: Table, name: str, value: Any) -> None:
    request = {"id": ["t"], "on": ["k"], "when_not_matched_insert_all": True}
    table.namespace.merge_insert_into_table(request, [{"k": 9, name: value}])


WAYS: dict[str, Callable[[Table, str, Any], Any]] = {
    "add": lambda table, name, value: table.add([{name: value}]),
    "insert": insert,
    "overwrite": overwrite,
    "create": create,
    "merge": merge,
    "table-merge": lambda table, name, value: (
        table.merge_insert("k").when_matched_update_all().execute([{"k": 1, name: value}])
    ),
    "update": lambda table, name, value: table.update("k = 1", {name: value}),
    "search": lambda table, name, value: table.search(value, "v").limit(1).to_list(),
    "vector": lambda table, name, value: table.search([value, 1.0], "v").limit(1).to_list(),
    "where": lambda table, name, value: table.search().where(f"{name} = {value!r}").to_list(),
    "limit": lambda table, name, value: table.search().limit(value).to_list(),
}
SCALARS = [
    2**63, 2**70, -(2**63) - 1, 10**400, float("nan"), float("inf"), 1e300, "x", "\ud800", "a\0b",
    b"x", b"\xff", object(), 1j, None, True, np.float32(1), np.int64(300), decimal.Decimal("1e50"),
    decimal.Decimal("NaN"), decimal.Decimal("0.001"), dt.datetime.max, dt.datetime.min, dt.date.max,
    dt.timedelta.max, dt.time.max, pd.NaT, pd.NA, np.datetime64("NaT"), {}, [], [[]], [{}], set(),
]  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(SCALARS) | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b", "", "\0"]), inner, max_size=2)
    | st.lists(inner, max_size=3).map(lambda values: np.array(values, dtype=object)),
    max_leaves=4,
)  # fmt: skip


class State(NamedTuple):
    """The rows and the latest version of a table."""

    rows: pa.Table
    version: int


def state_of(table: Table) -> State:
    return State(table.to_arrow(), table.list_versions()[-1].version)


def check(table: Table, way: str, name: str, value: Any, before: State) -> State:
    """Call with a value that may be invalid, and undo the change if the call succeeds.

    Return the state of the table after the call, which has the same rows as before.
    """
    try:
        WAYS[way](table, name, value)
    except LanceNamespaceError as error:
        assert error.code != 18, f"{way} {name} {value!r}: {error!r}"
        after = state_of(table)
        assert after.rows.equals(before.rows), f"{way} {name} {value!r} changed the table"
        assert after.version == before.version
    else:
        version = table.list_versions()[-1].version
        if version != before.version:
            table.restore(before.version)
            version += 1
        after = State(before.rows, version)
    assert not table.namespace.table("new").exists()
    return after


@pytest.mark.parametrize("way", WAYS)
def test_values_that_may_be_invalid(table: Table, way: str) -> None:
    state = state_of(table)
    for name in (
        ("small", "s", "v", "price") if way == "add" else ("f",) if way == "update" else ("v",)
    ):
        for value in SCALARS:
            state = check(table, way, name, value, state)


@pytest.mark.slow
@given(way=st.sampled_from(sorted(WAYS)), name=st.sampled_from(sorted(COLUMNS)), value=VALUES)
@settings(
    max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
def test_random_values(table: Table, way: str, name: str, value: Any) -> None:
    check(table, way, name, value, state_of(table))


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (pa.dictionary(pa.int8(), pa.dictionary(pa.int8(), pa.utf8())), "dictionar(y|ies) of"),
        (pa.dictionary(pa.int8(), pa.date32()), "dictionaries of date32"),
    ],
)
def test_unsupported_dictionaries_are_rejected(table: Table, kind: pa.DataType, match: str) -> None:
    empty = pa.Table.from_batches([], pa.schema([("d", kind)]))
    with pytest.raises(LanceNamespaceError, match=f"'d'.*{match}") as caught:
        table.namespace.table("other").create(empty)
    assert caught.value.code in (InvalidInputError.code, 20)
