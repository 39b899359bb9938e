# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""Converts Python data to rows: data frames, dicts, lists and numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_table"]


VECTOR_NAMES = ("vector", "embedding")
"""Parts of the names of vector columns."""


def to_table(data: Any, *, infer_vectors: bool = False) -> pa.Table | None:
    """Convert rows in Python objects to an Arrow table, or return None for other objects.

    A column of numpy vectors of equal length, with or without nulls, or a two-dimensional array
    becomes a column of fixed-size lists, which vector search needs. Named index levels of a pandas
    frame become the last columns, as in pandas' own Parquet files; unnamed ones are omitted.

    Args:
        data: a pandas or polars frame, including lazy ones, a ``pyarrow.dataset.Dataset``, a list
            of dicts, or a dict of columns.
        infer_vectors: whether lists of numbers of equal length also become fixed-size lists, of
            32-bit floats, in columns whose name contains one of `VECTOR_NAMES`. This is for rows of
            new tables; rows of existing tables get the types of the table's columns.

    Raises:
        InvalidInputError: code 13, the columns differ in length, or the values in a column differ
            in type.
    """
    import pyarrow as pa

    from .errors import InvalidInputError

    try:
        library = type(data).__module__.partition(".")[0]
        if library == "polars" and hasattr(data, "lazy"):
            return pa.table(data.lazy().collect())
        if library == "pandas" and hasattr(data, "columns"):
            return _from_pandas(data, infer_vectors)
        if hasattr(data, "scanner") and hasattr(data, "schema"):
            return data.scanner().to_table()
        if isinstance(data, Mapping) and data:
            return pa.table(
                {
                    str(name): _named(name, values, infer_vectors)
                    for name, values in data.items()
                }
            )
        if (
            isinstance(data, list | tuple)
            and data
            and all(isinstance(r, Mapping) for r in data)
        ):
            return _from_dicts(data, infer_vectors)
    except (
        pa.ArrowException,
        ArithmeticError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        message = " ".join(str(error).split())[:300]
        raise InvalidInputError(f"the rows cannot be read: {message}") from error
    return None


def _from_pandas(frame: Any, infer_vectors: bool) -> pa.Table:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(
        None
    )
    for level, name in enumerate(frame.index.names):
        if name is not None:
            table = _with_level(table, str(name), frame.index.get_level_values(level))
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            values = list(frame.iloc[:, place])
            vectors = _vectors(values)
            if vectors is None and infer_vectors:
                vectors = _inferred(field.name, values)
            if vectors is not None:
                table = table.set_column(place, field.name, vectors)
    return table


def _with_level(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Append a level of a pandas index to a table as the last column."""
    import pyarrow as pa

    column = pa.array(values)
    if name not in table.column_names:
        return table.append_column(name, column)
    if (
        table.column(name).to_pylist() == column.to_pylist()
    ):  # set_index(..., drop=False)
        return table
    raise ValueError(
        f"the index and a column are both named {name!r} and differ; rename one, or drop the index "
        "with reset_index(drop=True)"
    )


def _from_dicts(rows: Sequence[Mapping[str, Any]], infer_vectors: bool) -> pa.Table:
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise ValueError("the rows have no columns; add at least one")
    return pa.table(
        {
            str(name): _named(name, [row.get(name) for row in rows], infer_vectors)
            for name in names
        }
    )


def _named(name: Any, values: Any, infer_vectors: bool) -> Any:
    """Convert a column; errors contain its name."""
    import pyarrow as pa

    try:
        if infer_vectors and (vectors := _inferred(str(name), values)) is not None:
            return vectors
        return _column(values)
    except (
        pa.ArrowException,
        ArithmeticError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise ValueError(f"column {str(name)[:100]!r}: {error}") from error


def _column(values: Any) -> Any:
    import pyarrow as pa

    if getattr(values, "ndim", 1) == 2:
        return _fixed(values)
    if isinstance(values, list | tuple) and (vectors := _vectors(values)) is not None:
        return vectors
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    return pa.array(values)


def _vectors(values: Iterable[Any]) -> Any:
    """Convert numpy vectors of equal length to fixed-size lists, or return None for other values.

    Missing vectors (None, or NaN in pandas) become nulls.
    """
    arrays = list(values)
    found = [each for each in arrays if _is_vector(each)]
    if not found or len({len(each) for each in found}) != 1 or not len(found[0]):
        return None
    if len(found) == len(arrays):
        import numpy as np

        return _fixed(np.stack(arrays))
    missing = [not _is_vector(each) for each in arrays]
    if not all(
        _is_missing(each) for gap, each in zip(missing, arrays, strict=True) if gap
    ):
        return None
    import numpy as np

    blank = np.zeros_like(found[0])
    filled = [blank if gap else each for gap, each in zip(missing, arrays, strict=True)]
    return _fixed(np.stack(filled), missing)


def _inferred(name: str, values: Any) -> Any:
    """Convert the lists of a vector column to fixed-size lists, or return None for other values.

    If a value is outside the range of 32-bit floats, the column is not converted.
    """
    if not any(part in name.lower() for part in VECTOR_NAMES):
        return None
    if not isinstance(values, list | tuple):
        return None
    missing = [_is_missing(each) for each in values]
    found = [each for gap, each in zip(missing, values, strict=True) if not gap]
    if not found or not all(isinstance(each, list | tuple) and each for each in found):
        return None
    if len({len(each) for each in found}) != 1:
        return None
    if not all(type(number) in (int, float) for each in found for number in each):
        return None
    import numpy as np

    exact = np.array(found, dtype="float64")
    with np.errstate(over="ignore"):
        matrix = exact.astype("float32")
    if (np.isinf(matrix) & np.isfinite(exact)).any():
        return None
    if len(found) == len(missing):
        return _fixed(matrix)
    filled = np.zeros((len(missing), matrix.shape[1]), dtype="float32")
    filled[~np.array(missing)] = matrix
    return _fixed(filled, missing)


def _is_vector(value: Any) -> bool:
    """Return whether a value is a one-dimensional numpy array of numbers or booleans."""
    return getattr(value, "ndim", None) == 1 and value.dtype.kind in "fiub"


def _is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or pandas' NA or NaT."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def _fixed(matrix: Any, missing: Sequence[bool] | None = None) -> Any:
    import pyarrow as pa

    width = int(matrix.shape[1])
    mask = None if missing is None else pa.array(missing)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(matrix.reshape(-1)), width, mask=mask
    )
