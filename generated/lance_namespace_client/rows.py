# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no types of its own.
# mypy: disable-error-code="import-untyped"

"""Rows as Python programs have them: frames, dicts, lists and numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_table"]


def to_table(data: Any) -> pa.Table | None:
    """Return rows given as Python objects as an Arrow table; None where they are none of these.

    A column of numpy vectors of one length, or a two-dimensional array, becomes a column of
    fixed-size lists, which vector search needs. The index of a pandas frame is left out.

    Args:
        data: a pandas or polars frame, lazy too, a ``pyarrow.dataset.Dataset``, a list of dicts,
            or a dict of columns.

    Raises:
        InvalidInputError: code 13, the columns differ in length, or values of one column in type.
    """
    import pyarrow as pa

    from .errors import InvalidInputError

    try:
        library = type(data).__module__.partition(".")[0]
        if library == "polars" and hasattr(data, "lazy"):
            return pa.table(data.lazy().collect())
        if library == "pandas" and hasattr(data, "columns"):
            return _from_pandas(data)
        if hasattr(data, "scanner") and hasattr(data, "schema"):
            return data.scanner().to_table()
        if isinstance(data, Mapping) and data:
            return pa.table(
                {str(name): _column(values) for name, values in data.items()}
            )
        if (
            isinstance(data, list | tuple)
            and data
            and all(isinstance(r, Mapping) for r in data)
        ):
            return _from_dicts(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = " ".join(str(error).split())
        raise InvalidInputError(f"the rows cannot be read: {message}") from error
    return None


def _from_pandas(frame: Any) -> pa.Table:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(
        None
    )
    for place, field in enumerate(table.schema):
        if (
            pa.types.is_list(field.type)
            and (vectors := _vectors(frame[field.name])) is not None
        ):
            table = table.set_column(place, field.name, vectors)
    return table


def _from_dicts(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


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
    """Return numpy vectors of one length as fixed-size lists; None where they are not all such."""
    arrays = list(values)
    if not arrays or any(getattr(each, "ndim", None) != 1 for each in arrays):
        return None
    if len({len(each) for each in arrays}) != 1 or not len(arrays[0]):
        return None
    import numpy as np

    return _fixed(np.stack(arrays))


def _fixed(matrix: Any) -> Any:
    import pyarrow as pa

    width = int(matrix.shape[1])
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), width)
