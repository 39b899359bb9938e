"""Generated wrong namespaces: rows and names change when they are stored or returned."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from .mechanical import Fault
from .python import WrongTarget

__all__ = ["CONTENTS"]

Column = Callable[[Any, pa.Field], tuple[Any, pa.Field]]


def _columns(change: Callable[[Any, pa.Field], Any]) -> Callable[[pa.Table], pa.Table]:
    """Return a function that changes the columns of a table.

    The argument returns the new column, also with a new field, or None to keep the column.
    """

    def of(table: pa.Table) -> pa.Table:
        arrays, fields = [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            made = change(column, field)
            if isinstance(made, tuple):
                column, field = made
            elif made is not None:
                column = made
                field = field.with_type(column.type)
            arrays.append(column)
            fields.append(field)
        return pa.table(arrays, schema=pa.schema(fields, table.schema.metadata))

    return of


def _retyped(
    is_type: Callable[[pa.DataType], bool], to: Callable[[pa.DataType], pa.DataType]
) -> Any:
    """Return a function that casts columns to a narrower type and back."""
    return _columns(
        lambda c, f: c.cast(to(f.type), safe=False).cast(f.type, safe=False) if is_type(f.type) else None
    )  # fmt: skip


def _as_type(
    is_type: Callable[[pa.DataType], bool], to: Callable[[pa.DataType], pa.DataType]
) -> Any:
    return _columns(lambda c, f: c.cast(to(f.type), safe=False) if is_type(f.type) else None)


def _values(is_type: Callable[[pa.DataType], bool], change: Callable[[Any], Any]) -> Any:
    """Return a function that changes each value of the columns of a type."""

    def of(column: Any, field: pa.Field) -> Any:
        if not is_type(field.type):
            return None
        return pa.chunked_array([pa.array([change(v) for v in column.to_pylist()], field.type)])

    return _columns(of)


def _texts(change: Callable[[str], str | None]) -> Any:
    return _values(
        lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        lambda v: None if v is None else change(v),
    )


def _list(t: pa.DataType) -> bool:
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t))


def _past(rows: int) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.slice(0, rows)


def _is(*names: str) -> Callable[[pa.DataType], bool]:
    return lambda t: any(getattr(pa.types, f"is_{name}")(t) for name in names)


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "nulls are zeros": _columns(
        lambda c, f: pc.fill_null(c, 0) if _is("integer", "floating")(f.type) else None),
    "null texts are empty": _columns(
        lambda c, f: pc.fill_null(c, "") if _is("string")(f.type) else None),
    "null booleans are false": _columns(
        lambda c, f: pc.fill_null(c, False) if _is("boolean")(f.type) else None),
    "empty texts are null": _texts(lambda v: v or None),
    "texts are trimmed": _texts(str.strip),
    "texts are cut at 255": _texts(lambda v: v[:255]),
    "texts are normalised": _texts(lambda v: unicodedata.normalize("NFC", v)),
    "texts lose what is not ASCII": _texts(lambda v: v.encode("ascii", "replace").decode()),
    "texts end at a NUL": _texts(lambda v: v.partition("\0")[0]),
    "texts lose their line ends": _texts(lambda v: v.replace("\r\n", "\n")),
    "whole numbers go through doubles": _retyped(
        lambda t: t in (pa.int64(), pa.uint64()), lambda t: pa.float64()),
    "whole numbers are of 32 bits": _retyped(lambda t: t == pa.int64(), lambda t: pa.int32()),
    "unsigned numbers are signed": _as_type(lambda t: t == pa.uint64(), lambda t: pa.int64()),
    "small numbers are of 64 bits": _as_type(
        lambda t: t in (pa.int8(), pa.int16(), pa.uint8(), pa.uint16()), lambda t: pa.int64()),
    "doubles go through singles": _retyped(lambda t: t == pa.float64(), lambda t: pa.float32()),
    "singles are doubles": _as_type(lambda t: t == pa.float32(), lambda t: pa.float64()),
    "halves are singles": _as_type(lambda t: t == pa.float16(), lambda t: pa.float32()),
    "NaN is null": _values(_is("floating"), lambda v: None if v != v else v),
    "-0.0 is 0.0": _values(_is("floating"), lambda v: 0.0 if v == 0 else v),
    "infinity is null": _values(
        _is("floating"), lambda v: None if v in (float("inf"), float("-inf")) else v),
    "times lose their nanoseconds": _retyped(
        lambda t: pa.types.is_timestamp(t) and t.unit == "ns",
        lambda t: pa.timestamp("us", t.tz)),
    "times lose their microseconds": _retyped(
        lambda t: pa.types.is_timestamp(t) and t.unit in ("us", "ns"),
        lambda t: pa.timestamp("ms", t.tz)),
    "times lose their zone": _as_type(
        lambda t: pa.types.is_timestamp(t) and t.tz is not None, lambda t: pa.timestamp(t.unit)),
    "times without a zone are UTC": _as_type(
        lambda t: pa.types.is_timestamp(t) and t.tz is None, lambda t: pa.timestamp(t.unit, "UTC")),
    "durations lose their microseconds": _retyped(
        pa.types.is_duration, lambda t: pa.duration("ms")),
    "times of day lose their microseconds": _retyped(
        pa.types.is_time64, lambda t: pa.time32("ms")),
    "days are times": _as_type(lambda t: t == pa.date32(), lambda t: pa.timestamp("us")),
    "decimals are doubles": _as_type(pa.types.is_decimal, lambda t: pa.float64()),
    "decimals go through doubles": _retyped(pa.types.is_decimal, lambda t: pa.float64()),
    "bytes are cut at a NUL": _values(
        pa.types.is_binary, lambda v: None if v is None else v.partition(b"\0")[0]),
    "empty bytes are null": _values(pa.types.is_binary, lambda v: v or None),
    "fixed bytes are bytes": _as_type(
        pa.types.is_fixed_size_binary, lambda t: pa.binary()),
    "null lists are empty": _values(_list, lambda v: v or []),
    "empty lists are null": _values(_list, lambda v: v or None),
    "lists lose their nulls": _values(
        _list, lambda v: None if v is None else [x for x in v if x is not None]),
    "lists lose their last": _values(_list, lambda v: None if v is None else v[:-1] or v),
    "null structs are structs of nulls": _values(
        pa.types.is_struct, lambda v: {} if v is None else v),
    "structs lose their nulls": _values(
        pa.types.is_struct,
        lambda v: None if v is not None and all(x is None for x in v.values()) else v),
    "rows are reversed": lambda t: t.take(list(range(t.num_rows))[::-1]) if t.num_rows else t,
    "the last row is lost": lambda t: t.slice(0, max(t.num_rows - 1, 0)),
    "the first row is there twice": lambda t: pa.concat_tables([t.slice(0, 1), t]),
    "rows past 1,024 are lost": _past(1024),
    "rows past 8,192 are lost": _past(8192),
    "only the first batch counts": lambda t: (
        pa.Table.from_batches(t.to_batches()[:1], t.schema)),
    "the last batch is lost": lambda t: (
        pa.Table.from_batches(t.to_batches()[:-1] or t.to_batches(), t.schema)),
    "rows repeat where batches meet": lambda t: pa.concat_tables(
        [t, *(pa.Table.from_batches([b.slice(0, 1)]) for b in t.to_batches()[1:])]),
    "equal rows are one": lambda t: (
        t if not t.num_rows else t.take(sorted(
            {repr(row): n for n, row in reversed(list(enumerate(t.to_pylist())))}.values()))),
    "column names are in lower case": lambda t: t.rename_columns(
        [n.lower() for n in t.column_names]),
    "columns come in the order of their names": lambda t: t.select(sorted(t.column_names)),
    "metadata of the schema is lost": lambda t: t.replace_schema_metadata(None),
    "metadata of columns is lost": _columns(lambda c, f: (c, f.with_metadata(None))),
    "columns are nullable": _columns(lambda c, f: (c, f.with_nullable(True))),
}  # fmt: skip


@lru_cache(maxsize=4096)
def _read(data: bytes | None) -> pa.Table | None:
    if data is None:
        return None
    try:
        return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowException, OSError):
        return None


@lru_cache(maxsize=4096)
def _stored(data: bytes | None, change: Callable[[pa.Table], pa.Table]) -> bytes | None:
    table = _read(data)
    try:
        made = None if table is None else change(table)
    except (pa.ArrowException, OverflowError, TypeError, KeyError, ValueError):
        return data
    if made is None or (made.equals(table, check_metadata=True) and not _zeros(made, table)):
        return data
    return stream(made)


def _zeros(made: pa.Table, table: pa.Table) -> bool:
    return bool(repr(made.to_pylist()) != repr(table.to_pylist()))


def _writes() -> Iterator[Fault]:
    for operation in OPERATIONS.values():
        if operation.body is not Body.ARROW:
            continue
        for name, change in CHANGES.items():

            def act(
                target: WrongTarget, step: Step, op: str = operation.name, change: Any = change
            ) -> Reply | None:
                if step.operation != op:
                    return None
                data = _stored(step.data, change)
                return evolve(target.correct.call(evolve(step, data=data)), step=step)

            def touches(
                step: Step, reply: Reply, op: str = operation.name, change: Any = change
            ) -> bool:
                return step.operation == op and _stored(step.data, change) != step.data

            yield Fault(f"{operation.name} stores: {name}", act, touches)


def _queries() -> Iterator[Fault]:
    for name, change in CHANGES.items():

        def of(reply: Reply, change: Any = change) -> Reply:
            if reply.rows is None:
                return reply
            try:
                made = change(reply.rows)
            except (pa.ArrowException, OverflowError, TypeError, KeyError, ValueError):
                return reply
            same = made.equals(reply.rows, check_metadata=True) and not _zeros(made, reply.rows)
            return reply if same else evolve(reply, rows=made)

        yield Fault(
            f"QueryTable gives: {name}",
            lambda t, s, of=of: of(t.correct.call(s)) if s.operation == "QueryTable" else None,
            lambda s, r, of=of: of(r) is not r,
        )


NAMES: dict[str, Callable[[str], str]] = {
    "in lower case": str.lower,
    "in upper case": str.upper,
    "trimmed": str.strip,
    "normalised": lambda n: unicodedata.normalize("NFC", n),
    "decomposed": lambda n: unicodedata.normalize("NFD", n),
    "unquoted": unquote,
    "quoted": lambda n: quote(n, safe=" -_."),
    "cut at 64": lambda n: n[:64],
    "cut at 128": lambda n: n[:128],
    "with _ for -": lambda n: n.replace("-", "_"),
    "with a space for +": lambda n: n.replace("+", " "),
    "without what is not ASCII": lambda n: n.encode("ascii", "ignore").decode(),
    "up to the first dot": lambda n: n.partition(".")[0] or n,
    "up to the first slash": lambda n: n.partition("/")[0] or n,
}


def _names() -> Iterator[Fault]:
    for key in ("id", "new_table_name", "tag", "name", "branch", "index_name"):
        for name, change in NAMES.items():

            def of(step: Step, key: str = key, change: Any = change) -> Step:
                value = step.request.get(key)
                if isinstance(value, str):
                    return evolve(step, request={**step.request, key: change(value)})
                if isinstance(value, list):
                    return evolve(step, request={**step.request, key: [change(n) for n in value]})
                return step

            yield Fault(
                f"every {key} is taken {name}",
                lambda t, s, of=of: evolve(t.correct.call(of(s)), step=s),
                lambda s, r, of=of: of(s).request != s.request,
            )


CONTENTS = {f.name: f for made in (_writes(), _queries(), _names()) for f in made}
