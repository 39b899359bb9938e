"""Finds the partitions that may contain rows that match a condition.

A condition is treated as a tree of AND, OR and NOT over comparisons of a column with literals.
Comparisons of the same column that are combined by AND become one `Domain`. For each partition
field, the domains of its columns are converted to a mask over the partition values. All other
conditions keep all partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from ..core.imports import load
from ..tables.sql_parser import COMPARISONS, Kind, Node, SqlError, parse, separate
from .domains import MAX_VALUES, Domain, literal_of
from .spec import PartitionField, PartitionSpec, column_paths, type_at
from .transforms import Bucket, Expression, Identity, TimePart, Truncate

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Pruning"]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "=", "!=": "="}
_DAY = 86_400
# Intervals of this length, in seconds, count as containing every value of a part of a timestamp.
_PERIODS = {"month": 365 * _DAY, "day": 28 * _DAY, "hour": _DAY}
# In 1972, the last time zone changed to an offset of whole minutes.
_REGULAR_ZONES = 3 * 365 * _DAY


class Pruning:
    """A condition, prepared to be applied to the partitions of any spec.

    Args:
        condition: SQL condition on the rows; None keeps all partitions.
        schema: schema of the rows, with ids.
    """

    def __init__(self, condition: str | None, schema: pa.Schema) -> None:
        self._paths = column_paths(schema)
        self._ids = {path: id for id, path in self._paths.items()}
        self._types = {id: type_at(schema, path) for id, path in self._paths.items()}
        self._root: Node | None = None
        if condition:
            try:
                self._root = parse(condition)
            except SqlError:
                self._root = None  # the scan reports the error

    def mask(self, spec: PartitionSpec, partitions: pa.Table) -> pa.Array | None:
        """Return a mask of the partitions that may contain matching rows, or None for all.

        Args:
            spec: the spec of the partitions.
            partitions: one row for each partition, with a column for each field of the spec.
        """
        if self._root is None:
            return None
        return _Mask(self, spec, partitions).of(self._root, negated=False)

    def column(self, node: Node) -> int | None:
        """Return the id of the column that an expression names, or None if it is not a column."""
        return self._ids.get(node.value) if node.kind == Kind.COLUMN else None

    def domain(self, node: Node, negated: bool) -> tuple[int, Domain] | None:
        """Return the column that a comparison restricts, and its domain, or None if unknown."""
        if node.kind == Kind.COLUMN:
            return self._boolean(node, not negated)
        if not node.args:
            return None
        id = self.column(node.args[0])
        flipped = False
        if id is None and node.kind == Kind.OPERATOR and len(node.args) == 2:
            id, flipped = self.column(node.args[1]), True
        if id is None:
            return None
        if node.kind == Kind.IS:
            found = self._is(node, negated)
        elif node.kind == Kind.OPERATOR and node.name in COMPARISONS:
            found = self._compared(node, id, flipped, negated)
        elif node.kind == Kind.IN and not (negated or node.value):
            found = self._among(node, id)
        elif node.kind == Kind.BETWEEN and not (negated or node.value):
            found = self._between(node, id)
        elif not (negated or node.value):
            found = self._starting(node, id)
        else:
            found = None
        return None if found is None else (id, found)

    def _boolean(self, node: Node, value: bool) -> tuple[int, Domain] | None:
        pa = load("pyarrow")
        id = self.column(node)
        if id is None or not pa.types.is_boolean(self._types[id]):
            return None
        return id, Domain.of_values([pa.scalar(value)])

    def _is(self, node: Node, negated: bool) -> Domain | None:
        if node.name != "NULL":
            return None
        return Domain() if node.value != negated else Domain.of_null()

    def _compared(self, node: Node, id: int, flipped: bool, negated: bool) -> Domain | None:
        found = literal_of(node.args[0 if flipped else 1], self._types[id])
        if found is None:
            return None
        operator = node.name
        if flipped:
            operator = _MIRRORED.get(operator, operator)
        if negated:
            operator = _NEGATED.get(operator, "<>")
        low, high = found
        if operator in ("=", "=="):
            return Domain.of_values([low]) if low.equals(high) else Domain(low=low, high=high)
        if operator in ("<", "<="):
            return Domain(high=high)
        return Domain(low=low) if operator in (">", ">=") else Domain()

    def _among(self, node: Node, id: int) -> Domain | None:
        items = [each for item in node.args[1:] for each in separate(item)]
        found = [literal_of(item, self._types[id]) for item in items]
        values = []
        for each in found:
            if each is None or not each[0].equals(each[1]):
                return None
            values.append(each[0])
        return Domain.of_values(values)

    def _between(self, node: Node, id: int) -> Domain | None:
        low, high = (literal_of(each, self._types[id]) for each in node.args[1:])
        if low is None or high is None:
            return None
        return Domain(low=low[0], high=high[1])

    def _starting(self, node: Node, id: int) -> Domain | None:
        """Return the domain of ``x LIKE 'a%'`` or ``starts_with(x, 'a')``."""
        is_ = load("pyarrow").types
        kind = self._types[id]
        if not (is_.is_string(kind) or is_.is_large_string(kind)) or len(node.args) != 2:
            return None
        text = node.args[1]
        if text.kind != Kind.STRING:
            return None
        if node.kind == Kind.CALL and node.name == "STARTS_WITH":
            return Domain(prefix=text.value)
        if node.kind != Kind.LIKE or node.name != "LIKE" or not text.value.endswith("%"):
            return None
        start = text.value[:-1]
        return None if any(sign in start for sign in "%_\\") else Domain(prefix=start)


class _Mask:
    """Computes which partitions of a spec a condition keeps."""

    def __init__(self, pruning: Pruning, spec: PartitionSpec, partitions: pa.Table) -> None:
        self._pruning = pruning
        self._spec = spec
        self._partitions = partitions

    def of(self, node: Node, *, negated: bool) -> pa.Array | None:
        """Return a mask of the partitions that may contain rows for which a condition is true, or
        None for all partitions.

        Args:
            node: the condition.
            negated: whether to find rows for which the condition is false instead.
        """
        if node.kind == Kind.OPERATOR and node.name == "NOT":
            return self.of(node.args[0], negated=not negated)
        if node.kind == Kind.LOGIC and (node.name == "AND") != negated:
            return self._all(node.args, negated)
        if node.kind == Kind.LOGIC:
            return self._any(node.args, negated)
        return self._all([node], negated)

    def _any(self, nodes: Sequence[Node], negated: bool) -> pa.Array | None:
        found = None
        for node in nodes:
            mask = self.of(node, negated=negated)
            if mask is None:
                return None
            found = mask if found is None else load("pyarrow.compute").or_(found, mask)
        return found

    def _all(self, nodes: Sequence[Node], negated: bool) -> pa.Array | None:
        """Return the mask for conditions joined by AND; those on the same column are
        intersected.
        """
        domains: dict[int, Domain] = {}
        found: pa.Array | None = None
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            same, below = negated, node
            while below.kind == Kind.OPERATOR and below.name == "NOT":
                same, below = not same, below.args[0]
            if below.kind == Kind.LOGIC and (below.name == "AND") != same:
                if same == negated:
                    waiting += below.args
                else:
                    found = _both(found, self._all(below.args, same))
            elif below.kind == Kind.LOGIC:
                found = _both(found, self._any(below.args, same))
            elif (known := self._pruning.domain(below, same)) is not None:
                id, domain = known
                domains[id] = domains[id] & domain if id in domains else domain
        for field in self._spec.fields:
            found = _both(found, self._of_field(field, domains))
        return found

    def _of_field(self, field: PartitionField, domains: Mapping[int, Domain]) -> pa.Array | None:
        """Return a mask of the values of a field that are possible; None means all values."""
        known = [domains.get(source) for source in field.sources]
        if all(domain is None for domain in known):
            return None
        values = self._partitions.column(field.column)
        kinds = [self._pruning._types.get(source) for source in field.sources]
        mask = _finite(field, values, known, kinds)
        if mask is not None or len(known) != 1 or isinstance(field.transform, Expression):
            return mask
        (domain,) = known
        assert domain is not None
        return _of_interval(field, values, domain)


def _both(one: pa.Array | None, other: pa.Array | None) -> pa.Array | None:
    if one is None or other is None:
        return one if other is None else other
    return load("pyarrow.compute").and_(one, other)


def _finite(
    field: PartitionField,
    values: pa.ChunkedArray,
    domains: Sequence[Domain | None],
    kinds: Sequence[pa.DataType | None],
) -> pa.Array | None:
    """Return the mask for columns with finite sets of values; None if any of them is not finite."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    sets = [None if domain is None else domain.finite() for domain in domains]
    known = [each for each in sets if each is not None]
    if len(known) < len(sets) or prod(map(len, known)) > MAX_VALUES:
        return None
    if any(kind is None or pa.types.is_floating(kind) for kind in kinds):
        return None  # zeros and NaNs are equal to other values
    rows = list(product(*known))
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    wanted = field.transform.apply(columns, field.type)
    mask = pc.is_in(values, value_set=wanted.drop_null(), skip_nulls=True)
    return pc.or_(mask, pc.is_null(values)) if wanted.null_count else mask


def _of_interval(field: PartitionField, values: pa.ChunkedArray, domain: Domain) -> pa.Array | None:
    """Return the mask for the bounds of one column; None if they do not restrict the field."""
    pc = load("pyarrow.compute")
    if not domain.valid:
        return (
            pc.is_null(values)
            if domain.null
            else pc.and_not(pc.is_null(values), pc.is_null(values))
        )
    if domain.null:
        return None
    mask = pc.is_valid(values)
    bounds = domain.bounded()
    transform = field.transform
    if isinstance(transform, Bucket):
        return mask
    if isinstance(transform, TimePart):
        return _both(mask, _of_time(field, values, bounds))
    if not _is_monotone(field):
        return mask
    for bound, compare in ((bounds.low, pc.greater_equal), (bounds.high, pc.less_equal)):
        if bound is not None:
            mask = pc.and_(mask, _compared(compare, values, _applied(field, bound)))
    if domain.prefix is not None:
        mask = pc.and_(mask, _starting(field, values, domain.prefix))
    return mask


def _is_monotone(field: PartitionField) -> bool:
    """Return whether the partition values never decrease as the values of the column increase."""
    if isinstance(field.transform, Identity):
        return True
    # The rounding of floats may be different.
    return isinstance(field.transform, Truncate) and not load("pyarrow").types.is_floating(
        field.type
    )


def _applied(field: PartitionField, bound: pa.Scalar) -> pa.Scalar:
    pa = load("pyarrow")
    return field.transform.apply([pa.array([bound], bound.type)], field.type)[0]


def _compared(
    compare: Callable[..., Any], values: pa.ChunkedArray, bound: pa.Scalar
) -> pa.ChunkedArray:
    """Compare partition values with a bound; NaNs are kept."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    found = pc.fill_null(compare(values, bound), False)
    if pa.types.is_floating(values.type):
        found = pc.or_(found, pc.fill_null(pc.is_nan(values), False))
    return found


def _starting(field: PartitionField, values: pa.ChunkedArray, prefix: str) -> pa.ChunkedArray:
    pc = load("pyarrow.compute")
    if isinstance(field.transform, Truncate):
        prefix = prefix[: field.transform.width]
    return pc.fill_null(pc.starts_with(values, prefix), False)


def _of_time(field: PartitionField, values: pa.ChunkedArray, domain: Domain) -> pa.Array | None:
    """Return the mask for a part of a timestamp between bounds; None if there is no restriction."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    assert isinstance(field.transform, TimePart)
    part = field.transform.part
    bounds = [domain.low, domain.high]
    if part == "year":
        mask = None
        compares = ((pc.greater_equal, -1), (pc.less_equal, 1))
        for bound, (compare, side) in zip(bounds, compares, strict=True):
            if bound is not None:
                # Local time can go back by an hour or more, even into the previous year.
                margin = 0 if getattr(bound.type, "tz", None) in (None, "UTC") else _DAY
                moved = _moved(bound, side * margin)
                (year,) = field.transform.apply([moved], field.type).to_pylist()
                mask = _both(mask, _compared(compare, values, pa.scalar(year, values.type)))
        return mask
    if domain.low is None or domain.high is None:
        return None
    start, end = (_seconds(bound) for bound in (domain.low, domain.high))
    step = 600 if part == "hour" else _DAY // 2  # each value lasts longer than this step
    if getattr(domain.low.type, "tz", None) not in (None, "UTC"):
        # In earlier centuries, the offsets of zones contained minutes and seconds.
        if start < _REGULAR_ZONES:
            return None
        start, end = start - 2 * step, end + 2 * step  # local time may change in between
    if end - start >= _PERIODS[part]:
        return None
    moments = _at([*range(start, end, step), end], domain.low.type)
    wanted = pc.unique(field.transform.apply([moments], field.type))
    return pc.is_in(values, value_set=wanted, skip_nulls=True)


def _seconds(bound: pa.Scalar) -> int:
    """Return a date or a timestamp as seconds since 1970, rounded down."""
    pa = load("pyarrow")
    if pa.types.is_date32(bound.type):
        return int(bound.cast(pa.int32()).as_py()) * _DAY
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[bound.type.unit]
    return int(bound.cast(pa.int64()).as_py()) // scale


def _at(seconds: Sequence[int], kind: pa.DataType) -> pa.Array:
    """Return times, in seconds, in the type of a column."""
    pa = load("pyarrow")
    if pa.types.is_date32(kind):
        return pa.array([each // _DAY for each in seconds], pa.int32()).cast(kind)
    return pa.array(seconds, pa.int64()).cast(pa.timestamp("s", kind.tz))


def _moved(bound: pa.Scalar, seconds: int) -> pa.Array:
    return _at([_seconds(bound) + seconds], bound.type)
