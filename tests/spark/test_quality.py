"""`check`: rows that break rules, compared with pandas and numpy."""

from __future__ import annotations

import math
import random
import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableNotFoundError,
)
from lance_namespace_impls.spark import (
    InRange,
    Matches,
    NotNull,
    OneOf,
    References,
    Unique,
    VectorNorm,
    check,
    quality,
)
from lance_namespace_impls.spark.read_plan import pin, plan_tasks
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")


def failing(rule: Any, values: pa.Array) -> list[int]:
    """Return the positions of the values that break a rule."""
    found, _ = rule.failing(values)
    return [n for n, fails in enumerate(found.to_pylist()) if fails]


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        (NotNull(column="c"), pa.array([1, None, 3]), [1]),
        (NotNull(column="c"), pa.array([math.nan, None]), [1]),
        (InRange(column="c", minimum=1, maximum=3), pa.array([0, 1, 3, 4, None]), [0, 3]),
        (InRange(column="c", minimum=0.5), pa.array([0, 1, None]), [0]),
        (InRange(column="c", maximum=1), pa.array([0.5, 1.5, math.nan, None, -math.inf]), [1, 2]),
        (InRange(column="c", minimum=date(2024, 1, 1)),
         pa.array([date(2023, 12, 31), date(2024, 1, 1), None]), [0]),
        (InRange(column="c", minimum="b", maximum="d"), pa.array(["a", "b", "d", "e", None]), [0, 3]),
        (InRange(column="c"), pa.array([1, None]), []),
        (OneOf(column="c", values=["a", "b"]), pa.array(["a", "c", None, "b"]), [1]),
        (OneOf(column="c", values=[]), pa.array([1, None]), [0]),
        (Matches(column="c", pattern="a|bc"), pa.array(["a", "bc", "abc", "a\n", "", None]), [2, 3, 4]),
        (Matches(column="c", pattern=r"\d{5}"), pa.array(["01234", "0123", "012345"]), [1, 2]),
        (VectorNorm(column="c", minimum=0.99, maximum=1.01),
         pa.array([[1.0, 0.0], [0.0, 0.0], [3.0, 4.0], None, [None, 1.0], [math.nan, 1.0],
                   [math.inf, 0.0], []], pa.list_(pa.float32())), [1, 2, 4, 5, 6, 7]),
        (VectorNorm(column="c"), pa.array([[1, 2], [None]]), [1]),
    ],
)  # fmt: skip
def test_rules_about_single_values(rule: Any, values: pa.Array, expected: list[int]) -> None:
    assert failing(rule, values) == expected
    # The same values within a longer array.
    both = pa.concat_arrays([values, values])
    middle = both.slice(len(values), len(values))
    assert failing(rule, middle) == expected


@pytest.fixture
def orders(lake: Lake) -> tuple[Lake, pd.DataFrame]:
    chance = random.Random(7)
    count = 400
    rows = {
        "id": [chance.choice([None, n, n % 50]) for n in range(count)],
        "price": [chance.choice([None, math.nan, chance.uniform(-10, 110)]) for _ in range(count)],
        "state": [chance.choice([None, "open", "paid", "lost"]) for _ in range(count)],
        "zip": [chance.choice([None, "12345", "1234", "x"]) for _ in range(count)],
        "who": [chance.choice([None, chance.randrange(30)]) for _ in range(count)],
        "v": [None if n % 9 == 0 else [chance.gauss(0, 1) for _ in range(4)] for n in range(count)],
    }
    table = pa.table(rows).cast(
        pa.schema(
            [
                ("id", pa.int64()), ("price", pa.float64()), ("state", pa.string()),
                ("zip", pa.string()), ("who", pa.int64()), ("v", pa.list_(pa.float32(), 4)),
            ]
        )
    )  # fmt: skip
    lake.put("t", table, max_rows_per_file=90)
    lake.dataset("t").delete("who = 3")
    lake.put("people", pa.table({"number": range(0, 30, 2)}))
    kept = lake.dataset("t").to_table(with_row_id=True)
    frame = pd.DataFrame(
        {name: pd.Series(kept[name].to_pylist(), dtype=object) for name in kept.schema.names}
    )
    return lake, frame


def test_failures_are_those_that_pandas_finds(
    orders: tuple[Lake, pd.DataFrame], spark: Any
) -> None:
    lake, frame = orders
    rules = [
        NotNull(column="id"),
        InRange(column="price", minimum=0, maximum=100),
        OneOf(column="state", values=["open", "paid"]),
        Matches(column="zip", pattern=r"\d{5}"),
        VectorNorm(column="v", minimum=0.5, maximum=2),
        Unique(columns=("id",)),
        Unique(columns=("state", "zip", "who"), name="composed"),
        References(columns=("who",), table="people", other=("number",)),
    ]
    result = check(spark, lake.namespace, "t", rules)
    found: dict[str, set[int]] = {rule.shown: set() for rule in rules}
    for row in result.failures.collect():
        assert row.row_id not in found[row.rule]
        found[row.rule].add(row.row_id)

    def ids(mask: Any) -> set[int]:
        return set(frame["_rowid"][mask])

    price = frame["price"].map(lambda p: p is not None and not 0 <= p <= 100)
    norms = frame["v"].map(lambda v: v is not None and not 0.5 <= np.linalg.norm(v) <= 2)
    key = ["state", "zip", "who"]
    expected = {
        "not_null(id)": ids(frame["id"].isna()),
        "in_range(price, 0..100)": ids(price),
        "one_of(state)": ids(frame["state"] == "lost"),
        r"matches(zip, \d{5})": ids(
            frame["zip"].map(lambda z: z is not None and not re.fullmatch(r"\d{5}", z))
        ),
        "vector_norm(v, 0.5..2)": ids(norms),
        "unique(id)": ids(frame["id"].notna() & frame["id"].duplicated(keep=False)),
        "composed": ids(frame[key].notna().all(axis=1) & frame[key].duplicated(keep=False)),
        "references(who, people)": ids(frame["who"].map(lambda w: w is not None and w % 2 == 1)),
    }
    assert found == expected
    assert all(expected.values())
    assert [(each.rule, each.rows, each.failures) for each in result.summary] == [
        (name, len(frame), len(rows)) for name, rows in expected.items()
    ]
    assert not result.passed
    assert result.version == 2
    values = {
        row.row_id: row.value for row in result.failures.where("rule = 'one_of(state)'").collect()
    }
    assert set(values.values()) == {"lost"}
    composed = result.failures.where("rule = 'composed'").first()
    assert set(eval(composed.value)) == set(key)


def test_a_condition_and_a_version_limit_the_rows(
    orders: tuple[Lake, pd.DataFrame], spark: Any
) -> None:
    lake, _ = orders
    rules = [Unique(columns=("id",)), NotNull(column="state")]
    result = check(
        spark, lake.namespace, "t", rules, where="id >= 50 AND state = 'paid'", version=1
    )
    assert result.passed
    assert result.failures.count() == 0
    rows = lake.dataset("t").checkout_version(1).count_rows("id >= 50 AND state = 'paid'")
    assert {each.rows for each in result.summary} == {rows}
    assert rows > 0
    assert result.version == 1


def test_only_the_columns_of_the_rules_are_read(quiet_lake: Lake) -> None:
    quiet_lake.put("t", pa.table({"a": [1, None], "b": ["x", "y"]}))
    pinned = pin(quiet_lake.target())
    seen: list[list[str]] = []
    real = quality.scan_pieces

    def scan(pinned: Any, pieces: Any) -> Any:
        for scanner in real(pinned, pieces):
            seen.append(scanner.projected_schema.names)
            yield scanner

    class Session:
        """Runs the function in this process."""

        def range(self, *numbers: int) -> Any:
            return pa.record_batch({"id": [0]})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "scan_pieces", scan)
        patch.setattr(quality, "cores_of", lambda spark: 1)
        patch.setattr(quality, "map_in_arrow", lambda batch, work, schema: list(work([batch])))
        session: Any = Session()
        found: Any = quality._row_failures(session, pinned, [NotNull(column="a")])
    assert seen == [["a", "_rowid"]]
    assert [row for batch in found for row in batch.to_pylist()] == [
        {"rule": "not_null(a)", "row_id": 1, "value": None}
    ]
    assert plan_tasks(pinned, cores=1)


@pytest.mark.parametrize(
    ("rules", "kind", "said"),
    [
        ([], InvalidInputError, "at least one rule"),
        ([NotNull(column="id"), NotNull(column="id")], InvalidInputError, "a different name"),
        ([NotNull(column="z")], TableColumnNotFoundError, "no column z"),
        ([Matches(column="id", pattern="a")], InvalidInputError, "does not apply to column id"),
        ([Matches(column="s", pattern="(")], InvalidInputError, "does not apply to column s"),
        ([InRange(column="s", minimum=3)], InvalidInputError, "does not apply to column s"),
        ([OneOf(column="id", values=["a"])], InvalidInputError, "does not apply to column id"),
        ([VectorNorm(column="id")], InvalidInputError, "not lists of numbers"),
        ([VectorNorm(column="l")], InvalidInputError, "not lists of numbers"),
    ],
)
def test_rules_that_do_not_apply_are_rejected(
    quiet_lake: Lake, rules: Any, kind: type[Exception], said: str
) -> None:
    quiet_lake.put("t", pa.table({"id": [1], "s": ["a"], "l": [["x"]]}))
    spark: Any = None
    with pytest.raises(kind, match=said):
        check(spark, quiet_lake.namespace, "t", rules)


def test_keys_that_cannot_be_compared_are_rejected(lake: Lake, spark: Any) -> None:
    lake.put(
        "t", pa.table({"id": [1], "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    )
    lake.put("other", pa.table({"id": ["1"]}))
    for rule, said in (
        (References(columns=("id",), table="other"), "compares bigint with string"),
        (
            References(columns=("id",), table="other", other=("id", "id")),
            "compares 1 columns with 2",
        ),
        (Unique(columns=("m",)), "Spark cannot compute"),
        (Unique(columns=()), "names no column"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            check(spark, lake.namespace, "t", [rule])
    with pytest.raises(TableNotFoundError):
        check(spark, lake.namespace, "t", [References(columns=("id",), table="nowhere")])


def test_names_with_dots_and_case_are_keys(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"Id": [1, 1, 2], "id": [1, 2, 3], "a b": [1, 1, 1]}))
    rules = [Unique(columns=("Id",)), Unique(columns=("id",)), Unique(columns=("Id", "a b"))]
    result = check(spark, lake.namespace, "t", rules)
    assert [each.failures for each in result.summary] == [2, 0, 2]
