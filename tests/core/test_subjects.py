"""An error has a subject, and its message starts with it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    TableColumnNotFoundError,
    error_for,
)
from lance_namespace_impls.core.errors import about

ROWS = pa.table({"x": [1, 2, 3]})


def test_the_message_starts_with_the_subject() -> None:
    error = InvalidInputError("there is no column", subject="UpdateTable t")
    assert (error.text, str(error)) == ("there is no column", "UpdateTable t: there is no column")
    assert error.to_dict() == {"error": "UpdateTable t: there is no column", "code": 13}
    again = pickle.loads(pickle.dumps(error))
    assert (again.subject, again.message) == ("UpdateTable t", error.message)


def test_the_innermost_subject_is_kept() -> None:
    with pytest.raises(TableColumnNotFoundError) as caught, about("outer"), about("inner"):
        raise TableColumnNotFoundError("no column x")
    assert caught.value.message == "inner: no column x"


def test_an_error_from_a_code_has_the_subject() -> None:
    assert error_for(13, "wrong", subject="CreateTable t").message == "CreateTable t: wrong"


def broken(failure: Exception) -> RowStream:
    def batches():  # type: ignore[no-untyped-def]
        yield ROWS.to_batches()[0]
        raise failure

    return RowStream(ROWS.schema, batches())


def consume(rows: RowStream) -> None:
    """Raise a storage error if the rows fail, as a library does that does not know the cause."""
    try:
        rows.reader().read_all()
    except Exception as error:
        raise InternalError("storage is away") from error


def test_a_failure_of_the_rows_is_invalid_input() -> None:
    rows = broken(ValueError("out of paper"))
    with pytest.raises(InvalidInputError) as caught, rows.guarded("CreateTable t"):
        consume(rows)
    assert str(caught.value) == "CreateTable t: the Arrow data cannot be read: out of paper"
    assert rows.failure is caught.value.__cause__
    assert (rows.rows, rows.can_begin_again) == (3, True)


def test_other_failures_are_raised_unchanged() -> None:
    rows = RowStream.of(ROWS)
    assert RowStream.of(rows) is rows
    with pytest.raises(InternalError, match="storage"), rows.guarded():
        raise InternalError("storage is away")
