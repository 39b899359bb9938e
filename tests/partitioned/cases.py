"""Random rows, specs and conditions for partitioned namespaces."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hypothesis import reject
from hypothesis import strategies as st

__all__ = ["BERLIN", "SCHEMA", "Condition", "conditions", "kept_by_lance", "specs", "tables"]

BERLIN = pa.timestamp("us", "Europe/Berlin")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("u", pa.uint8()),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us")),
        ("w", pa.timestamp("ms", "UTC")),
        ("z", BERLIN),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("m", pa.decimal128(6, 2)),
    ]
)

integers = st.integers(-25, 25)
texts = st.sampled_from(["", "a", "ab", "abc", "abd", "b", "ä", "äb", "日本語", "日本", "zz", "a%"])
dates = st.dates(date(1968, 11, 1), date(1972, 3, 1)) | st.dates(
    date(1969, 12, 28), date(1970, 1, 4)
)
moments = st.datetimes(datetime(1969, 12, 25), datetime(1970, 1, 10)) | st.datetimes(
    datetime(1965, 1, 1), datetime(2030, 1, 1)
)
# The hours around changes of daylight saving time, and around New Year.
turns = st.builds(
    lambda start, minutes: start + timedelta(minutes=minutes),
    st.sampled_from(
        [datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1), datetime(2025, 12, 31, 23)]
    ),
    st.integers(-180, 180),
)
floats = st.sampled_from(
    [0.0, -0.0, 1.5, -1.5, 2.0, 1e300, float("inf"), float("-inf"), float("nan")]
)
decimals = st.decimals(Decimal("-30"), Decimal("30"), places=2)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n": integers,
    "u": st.integers(0, 255),
    "s": texts,
    "d": dates,
    "t": moments | turns,
    "w": (moments | turns).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC)
    ),
    "z": (moments | turns).map(lambda at: at.replace(tzinfo=UTC)),
    "f": floats,
    "b": st.booleans(),
    "m": decimals,
}


@st.composite
def tables(draw: st.DrawFn, most: int = 40) -> pa.Table:
    """Generate rows with many equal values and nulls."""
    count = draw(st.integers(0, most))
    columns: dict[str, Any] = {"id": pa.array(range(count), pa.int64())}
    for name, values in VALUES.items():
        found = draw(st.lists(st.none() | values, min_size=count, max_size=count))
        columns[name] = pa.array(found, SCHEMA.field(name).type)
    return pa.table(columns, schema=SCHEMA)


FIELDS = [
    "n", "s", "d", "t", "z", "f", "b", "m", "u",
    *(f"{part}({name})" for name in "dtwz" for part in ("year", "month", "day")),
    *(f"hour({name})" for name in "twz"),
    *(f"bucket({count}, {name})" for count in (1, 3, 16) for name in "nusdtwzbm"),
    "multi_bucket(5, n, s)", "multi_bucket(4, d, b, u)",
    "truncate(3, n)", "truncate(10, n)", "truncate(2, s)", "truncate(7, m)", "truncate(100, u)",
    "truncate(2, f)",
    "expression('coalesce(col0, 0) % 3', n)", "expression('upper(col0)', s)",
]  # fmt: skip
specs = st.lists(st.sampled_from(FIELDS), min_size=0, max_size=3, unique=True)


@frozen
class Condition:
    """A condition as SQL, and as a function of rows."""

    sql: str
    exact: bool
    """Whether pyarrow and Lance agree on the result; they differ for time zones and floats."""
    of: Any

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the matching rows according to pyarrow."""
        return table.filter(self.of(table))


COMPARES = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def literal(name: str, value: Any) -> str:
    """Return a value as an SQL literal for a column."""
    if name == "s":
        return "'" + value.replace("'", "''") + "'"
    if name == "d":
        return f"date '{value}'"
    if name in "twz":
        return f"timestamp '{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
    if name == "b":
        return str(value).lower()
    if name == "m":
        return f"CAST('{value}' AS DECIMAL(6, 2))"
    return repr(value)


@st.composite
def leaves(draw: st.DrawFn) -> Condition:
    """Generate a comparison of a column."""
    name = draw(st.sampled_from([*"nusdtwzfbm"]))
    kind = SCHEMA.field(name).type
    exact = name not in "zf"
    values = VALUES[name]
    if name == "f":
        values = st.sampled_from([0.0, 1.5, -1.5, 2.0, -1e300])
    form = draw(
        st.sampled_from(["compare", "flipped", "in", "between", "null", "valid", "like", "bool"])
    )
    if form in ("null", "valid"):
        sql = f"{name} IS {'NOT ' * (form == 'valid')}NULL"
        return Condition(sql, True, lambda t: getattr(pc, f"is_{form}")(t[name]))
    if form == "like":
        start = draw(st.sampled_from(["", "a", "ab", "abc", "ä", "日本", "z"]))
        sql = f"s LIKE '{start}%'" if draw(st.booleans()) else f"starts_with(s, '{start}')"
        return Condition(sql, True, lambda t: pc.starts_with(t["s"], start))
    if form == "bool":
        return Condition("b", True, lambda t: t["b"])
    if form == "in":
        found = draw(st.lists(values, min_size=1, max_size=4))
        negated = draw(st.booleans())
        shown = ", ".join(literal(name, value) for value in found)
        sql = f"{name} {'NOT ' * negated}IN ({shown})"
        known = pa.array(found, kind)

        def among(t: pa.Table) -> Any:
            mask = pc.is_in(t[name], known)
            mask = pc.invert(mask) if negated else mask
            return pc.if_else(pc.is_valid(t[name]), mask, pa.scalar(None, pa.bool_()))

        return Condition(sql, exact, among)
    if form == "between":
        one, other = draw(values), draw(values)
        low, high = (
            (one, other)
            if literal(name, one) == literal(name, other) or one <= other
            else (other, one)
        )
        sql = f"{name} BETWEEN {literal(name, low)} AND {literal(name, high)}"
        ends = [pa.scalar(each, kind) for each in (low, high)]
        return Condition(
            sql,
            exact,
            lambda t: pc.and_(pc.greater_equal(t[name], ends[0]), pc.less_equal(t[name], ends[1])),
        )
    operator, value = draw(st.sampled_from([*COMPARES])), draw(values)
    scalar = pa.scalar(value, kind)
    if form == "flipped":
        sql = f"{literal(name, value)} {operator} {name}"
        return Condition(sql, exact, lambda t: COMPARES[operator](scalar, t[name]))
    return Condition(
        f"{name} {operator} {literal(name, value)}",
        exact,
        lambda t: COMPARES[operator](t[name], scalar),
    )


def _joined(word: str, parts: list[Condition]) -> Condition:
    function = pc.and_kleene if word == "AND" else pc.or_kleene

    def of(table: pa.Table) -> Any:
        found = parts[0].of(table)
        for each in parts[1:]:
            found = function(found, each.of(table))
        return found

    sql = f" {word} ".join(f"({each.sql})" for each in parts)
    return Condition(sql, all(each.exact for each in parts), of)


def _negated(inner: Condition) -> Condition:
    return Condition(f"NOT ({inner.sql})", inner.exact, lambda t: pc.invert(inner.of(t)))


conditions = st.recursive(
    leaves(),
    lambda inner: (
        st.builds(_joined, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3))
        | st.builds(_negated, inner)
    ),
    max_leaves=6,
)


def kept_by_lance(table: pa.Table, sql: str) -> set[int]:
    """Return the ids of the rows that match according to Lance, without partitions."""
    dataset = lance.write_dataset(table, f"memory://all-{uuid.uuid4().hex}")
    try:
        found = dataset.to_table(columns=["id"], filter=sql)
    except ValueError as error:
        # Lance reads literals as local times of the column's zone, and rejects those that a change
        # of daylight saving time skips.
        if "Cannot cast timezone" not in str(error):
            raise
        reject()
    return set(found["id"].to_pylist())
