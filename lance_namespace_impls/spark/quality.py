"""Checks the rows of a table against rules, and returns the rows that break one as a DataFrame.

Workers read only the columns that the rules need, and evaluate rules about single rows with Arrow,
so only failures reach the JVM. Spark compares keys for uniqueness and references.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import define, evolve, frozen
from pyarrow import types as is_

from lance_namespace_client.errors import InvalidInputError, TableColumnNotFoundError

from ..core.errors import first_line
from ..core.imports import load
from ..distributed.casts import is_list
from ..distributed.columns import cast_batch, compatible, spark_arrow_schema, to_spark_schema
from ..distributed.failures import coded, decoded
from ..distributed.secrets import map_in_arrow
from ..maintenance.results import Rows
from .dataframe_reader import cores_of, count_rows, read_table, target_of
from .extra import require_pyspark
from .read_plan import ROW_ID, pin, plan_tasks, scan_pieces

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from ..catalog.namespace import Namespace
    from .read_plan import Piece, Pinned

__all__ = [
    "Checked",
    "InRange",
    "Matches",
    "NotNull",
    "OneOf",
    "References",
    "Rule",
    "RuleResult",
    "Unique",
    "VectorNorm",
    "check",
]

pc = load("pyarrow.compute")

_FAILURES = "rule string, row_id bigint, value string"
_SCHEMA = pa.schema([("rule", pa.string()), ("row_id", pa.int64()), ("value", pa.string())])
_VALUE_CHARACTERS = 1000


class Rule(ABC):
    """A rule about the rows of a table; `name` identifies it in results."""

    name: str | None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns that the rule reads."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """Name of the rule in results."""


class RowRule(Rule):
    """A rule about single rows."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that the rule reads."""
        return (self.column,)

    @abstractmethod
    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return which values break the rule (null counts as no), and the values to report.

        Raises:
            pa.ArrowException: the rule does not apply to the type of the values.
        """


@frozen(kw_only=True)
class NotNull(RowRule):
    """Every value is present.

    Args:
        column: the column.
        name: name in results; defaults to a description.
    """

    column: str
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        return self.name or f"not_null({self.column})"

    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return which values are null."""
        return values.is_null(), values


@frozen(kw_only=True)
class InRange(RowRule):
    """Every value is between two bounds, inclusive; null is ignored, and NaN breaks the rule.

    Args:
        column: the column, which contains numbers, strings, dates or times.
        minimum: the lowest value; None for no bound.
        maximum: the highest value; None for no bound.
        name: name in results; defaults to a description.
    """

    column: str
    minimum: Any = None
    maximum: Any = None
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        low, high = ("" if each is None else each for each in (self.minimum, self.maximum))
        return self.name or f"in_range({self.column}, {low}..{high})"

    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return which values are outside the bounds."""
        return _outside(values, self.minimum, self.maximum), values


@frozen(kw_only=True)
class OneOf(RowRule):
    """Every value is in a list; null is ignored.

    Args:
        column: the column.
        values: the allowed values.
        name: name in results; defaults to a description.
    """

    column: str
    values: Sequence[Any]
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        return self.name or f"one_of({self.column})"

    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return which values are not in the list."""
        allowed = pa.array(list(self.values), values.type)
        return pc.and_(pc.invert(pc.is_in(values, allowed)), values.is_valid()), values


@frozen(kw_only=True)
class Matches(RowRule):
    """Every text as a whole matches a regular expression (RE2); null is ignored.

    Args:
        column: the column.
        pattern: the regular expression.
        name: name in results; defaults to a description.
    """

    column: str
    pattern: str
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        return self.name or f"matches({self.column}, {self.pattern})"

    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        r"""Return which texts do not match.

        If a text ends with a line break, only ``\z`` matches its end.
        """
        found = pc.match_substring_regex(values, rf"\A(?:{self.pattern})\z")
        return pc.invert(found), values


@frozen(kw_only=True)
class VectorNorm(RowRule):
    """Every vector has a Euclidean norm between two bounds; null is ignored.

    A vector with a null, NaN or infinite element breaks the rule. The reported value is the norm.

    Args:
        column: the column, which contains lists of numbers.
        minimum: the lowest norm; None for no bound.
        maximum: the highest norm; None for no bound.
        name: name in results; defaults to a description.
    """

    column: str
    minimum: float | None = None
    maximum: float | None = None
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        low, high = ("" if each is None else each for each in (self.minimum, self.maximum))
        return self.name or f"vector_norm({self.column}, {low}..{high})"

    def failing(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return which vectors have a norm outside the bounds."""
        norms = _norms(values)
        unusable = pc.invert(pc.is_finite(norms))
        outside = _outside(norms, self.minimum, self.maximum)
        return pc.or_(unusable, outside), norms


@frozen(kw_only=True)
class Unique(Rule):
    """No two rows have the same key; rows with a null in the key are ignored.

    Every row of a repeated key is a failure.

    Args:
        columns: the columns of the key.
        name: name in results; defaults to a description.
    """

    columns: tuple[str, ...]
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        return self.name or f"unique({', '.join(self.columns)})"


@frozen(kw_only=True)
class References(Rule):
    """Every key exists in another table; rows with a null in the key are ignored.

    Args:
        columns: the columns of the key.
        table: identifier of the other table, in the same namespace connection.
        other: columns of the other table, in the same order; defaults to the same names.
        name: name in results; defaults to a description.
    """

    columns: tuple[str, ...]
    table: str | Sequence[str]
    other: tuple[str, ...] | None = None
    name: str | None = None

    @property
    def shown(self) -> str:
        """Name of the rule in results."""
        table = self.table if isinstance(self.table, str) else ".".join(self.table)
        return self.name or f"references({', '.join(self.columns)}, {table})"


@define(kw_only=True)
class RuleResult:
    """Result of a rule."""

    rule: str
    """Name of the rule."""
    rows: int
    """Rows that were checked."""
    failures: int
    """Rows that break the rule."""


@frozen(kw_only=True)
class Checked:
    """Result of a check.

    Attributes:
        version: version of the table that was checked.
        summary: one row per rule, in the order of the rules.
        failures: a row for each failure: ``rule``, ``row_id`` (`_rowid` of the row) and ``value``
            as text. Spark computes it when it is used, from the same version.
    """

    version: int
    summary: Rows[RuleResult]
    failures: DataFrame

    @property
    def passed(self) -> bool:
        """Whether no row breaks a rule."""
        return not any(each.failures for each in self.summary)


def check(
    spark: SparkSession,
    namespace: Namespace,
    table: str | Sequence[str],
    rules: Sequence[Rule],
    *,
    where: str | None = None,
    version: int | None = None,
) -> Checked:
    """Check the rows of a table against rules, and return the failures.

    Args:
        spark: the session.
        namespace: namespace of the table.
        table: identifier of the table, as ``"db.letters"`` or a list of names.
        rules: the rules.
        where: condition in Lance's SQL for the rows to check; defaults to all.
        version: version of the table; defaults to the latest.

    Raises:
        TableNotFoundError: code 4, the table or one that a rule references does not exist.
        TableColumnNotFoundError: code 12, a rule names an unknown column.
        InvalidInputError: code 13, a rule does not apply to the type of its column, two rules have
            the same name, or the condition is invalid.
        InvalidTableStateError: code 19, the table has no data.
    """
    require_pyspark()
    target = target_of(namespace, table)
    names = [rule.shown for rule in rules]
    if not rules or len(set(names)) < len(names):
        raise InvalidInputError(
            f"{target.name}: check requires at least one rule, and a different name for each "
            "rule; pass name="
        )
    pinned = pin(target, filter=where, version=version)
    needed = list(dict.fromkeys(column for rule in rules for column in rule.columns))
    if unknown := [name for name in needed if name not in pinned.schema.names]:
        raise TableColumnNotFoundError(
            f"{target.name} has no column {', '.join(unknown)}; it has "
            f"{', '.join(pinned.schema.names)}"
        )
    for rule in rules:
        if isinstance(rule, RowRule):
            _require_applicable(rule, pinned)
    parts = [_row_failures(spark, pinned, [each for each in rules if isinstance(each, RowRule)])]
    for rule in rules:
        if isinstance(rule, Unique):
            parts.append(_repeated(_keys(spark, pinned, rule), rule))
        elif isinstance(rule, References):
            parts.append(_unreferenced(spark, pinned, rule))
        elif not isinstance(rule, RowRule):
            raise InvalidInputError(f"{target.name}: {rule!r} is not a rule of this module")
    failures = reduce(lambda one, other: one.unionAll(other), [each for each in parts if each])
    with decoded():
        counts = {row.rule: row["count"] for row in failures.groupBy("rule").count().collect()}
    rows = count_rows(namespace, list(target.table), filter=where, version=pinned.version)
    results = [RuleResult(rule=name, rows=rows, failures=counts.get(name, 0)) for name in names]
    return Checked(version=pinned.version, summary=Rows(RuleResult, results), failures=failures)


def _require_applicable(rule: RowRule, pinned: Pinned) -> None:
    schema = _plain(pinned, rule.columns)
    try:
        rule.failing(pa.nulls(1, schema.field(0).type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{pinned.target.name}: the rule {rule.shown} does not apply to column {rule.column} "
            f"({pinned.schema.field(rule.column).type}): {first_line(error)}"
        ) from error


def _plain(pinned: Pinned, columns: Sequence[str]) -> pa.Schema:
    """Return the types in which workers check columns: those of Spark."""
    schema = pa.schema([pinned.schema.field(name) for name in columns])
    return spark_arrow_schema(to_spark_schema(schema))


def _row_failures(
    spark: SparkSession, pinned: Pinned, rules: Sequence[RowRule]
) -> DataFrame | None:
    """Return the failures of rules about single rows, found in one scan; None without rules."""
    if not rules:
        return None
    names = list(dict.fromkeys(column for rule in rules for column in rule.columns))
    plain = _plain(pinned, names)
    stored = [pinned.schema.field(name) for name in names]
    scanned = evolve(pinned, schema=pa.schema([*stored, pa.field(ROW_ID, pa.int64())]))
    tasks = plan_tasks(scanned, cores=cores_of(spark))
    target = pinned.target

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with coded(f"checking {target.name}", target.namespace.config.secrets()):
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    yield from _found(scanned, tasks[task], rules, plain)

    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return map_in_arrow(numbers, find, _FAILURES)


def _found(
    pinned: Pinned, pieces: Sequence[Piece], rules: Sequence[RowRule], plain: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for scanner in scan_pieces(pinned, pieces):
        for stored in scanner.to_batches():
            ids = stored.column(ROW_ID).cast(pa.int64())
            batch = cast_batch(stored, plain, cut_fractions=True)
            for rule in rules:
                failing, values = rule.failing(batch.column(rule.column))
                failing = pc.fill_null(failing, False)
                if count := pc.sum(failing).as_py():
                    shown = [_text(each) for each in values.filter(failing).to_pylist()]
                    yield pa.RecordBatch.from_arrays(
                        [
                            pa.repeat(rule.shown, count),
                            ids.filter(failing),
                            pa.array(shown, pa.string()),
                        ],
                        schema=_SCHEMA,
                    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)[:_VALUE_CHARACTERS]


def _outside(values: pa.Array, minimum: Any, maximum: Any) -> pa.Array:
    """Return which values are below or above the bounds, or NaN."""
    failing = pa.repeat(False, len(values))
    if is_.is_floating(values.type):
        failing = pc.or_(failing, pc.is_nan(values))
    for compare, bound in ((pc.less, minimum), (pc.greater, maximum)):
        if bound is not None:
            failing = pc.or_(failing, compare(values, _bound(bound, values.type)))
    return failing


def _bound(value: Any, kind: pa.DataType) -> pa.Scalar:
    scalar = pa.scalar(value)
    if not compatible(scalar.type, kind):
        raise TypeError(f"the bound {value!r} is {scalar.type}")
    try:
        return scalar.cast(kind)
    except pa.ArrowInvalid:
        return scalar  # such as 9.5 for integers, which Arrow compares as doubles


def _norms(values: pa.Array) -> pa.Array:
    """Return the Euclidean norms of lists; a null or NaN element makes the norm NaN."""
    import numpy as np

    if not is_list(values.type) or not compatible(values.type.value_type, pa.float64()):
        raise TypeError("its values are not lists of numbers")
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    elements = values.flatten().cast(pa.float64())
    squares = np.square(pc.fill_null(elements, float("nan")).to_numpy(zero_copy_only=False))
    rows = np.repeat(np.arange(len(values)), lengths)
    sums = np.zeros(len(values))
    np.add.at(sums, rows, squares)
    return pa.array(np.sqrt(sums), pa.float64(), mask=values.is_null().to_numpy(False))


def _keys(spark: SparkSession, pinned: Pinned, rule: Unique | References) -> DataFrame:
    """Return the complete keys of a table's rows, as ``key0``, ``key1`` and ``row_id``."""
    if not rule.columns:
        raise InvalidInputError(f"{pinned.target.name}: the rule {rule.shown} names no column")
    names = list(dict.fromkeys(rule.columns))
    frame = read_table(
        spark,
        pinned.target.namespace,
        list(pinned.target.table),
        columns=[*names, ROW_ID],
        filter=pinned.filter,
        version=pinned.version,
    )
    return _complete(_renamed(frame, names, "row_id"))


def _renamed(frame: DataFrame, names: Sequence[str], *rest: str) -> DataFrame:
    # Rename by position: names may contain dots or differ only in case.
    return frame.toDF(*(f"key{number}" for number in range(len(names))), *rest)


def _complete(frame: DataFrame) -> DataFrame:
    return frame.dropna("any", subset=[name for name in frame.columns if name != "row_id"])


def _failures(frame: DataFrame, rule: Unique | References) -> DataFrame:
    from pyspark.sql import functions

    keys = [name for name in frame.columns if name.startswith("key")]
    value = functions.col(keys[0]).cast("string") if len(keys) == 1 else _json(keys, rule)
    return frame.select(
        functions.lit(rule.shown).alias("rule"),
        "row_id",
        functions.substring(value, 1, _VALUE_CHARACTERS).alias("value"),
    )


def _json(keys: Sequence[str], rule: Unique | References) -> Column:
    from pyspark.sql import functions

    names = dict.fromkeys(rule.columns)
    return functions.to_json(
        functions.struct(
            *(functions.col(key).alias(name) for key, name in zip(keys, names, strict=True))
        )
    )


def _repeated(keys: DataFrame, rule: Unique) -> DataFrame:
    """Return the rows whose key occurs more than once."""
    from pyspark.sql import Window, functions

    names = [name for name in keys.columns if name != "row_id"]
    times = functions.count("*").over(Window.partitionBy(*names))
    with decoded():
        return _failures(keys.withColumn("times", times).where("times > 1").drop("times"), rule)


def _unreferenced(spark: SparkSession, pinned: Pinned, rule: References) -> DataFrame:
    """Return the rows whose key does not exist in the other table."""
    keys = _keys(spark, pinned, rule)
    other = list(rule.other or rule.columns)
    if len(other) != len(rule.columns):
        raise InvalidInputError(
            f"{pinned.target.name}: the rule {rule.shown} compares {len(rule.columns)} columns with "
            f"{len(other)}"
        )
    referenced = read_table(spark, pinned.target.namespace, rule.table, columns=other)
    referenced = _renamed(referenced, other)
    for name in referenced.columns:
        kinds = [frame.schema[name].dataType.simpleString() for frame in (keys, referenced)]
        if kinds[0] != kinds[1]:
            raise InvalidInputError(
                f"{pinned.target.name}: the rule {rule.shown} compares {kinds[0]} with {kinds[1]}; "
                "the columns must have the same type"
            )
    with decoded():
        return _failures(keys.join(referenced, referenced.columns, "left_anti"), rule)
