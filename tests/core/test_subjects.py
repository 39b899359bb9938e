"""An error carries what it is about, which opens its message."""

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
from lance_namespace_impls.core.errors import about, from_system_failure

ROWS = pa.table({"x": [1, 2, 3]})


def test_the_subject_opens_the_message() -> None:
    error = InvalidInputError("there is no column", subject="UpdateTable t")
    assert (error.text, str(error)) == ("there is no column", "UpdateTable t: there is no column")
    assert error.to_dict() == {"error": "UpdateTable t: there is no column", "code": 13}
    again = pickle.loads(pickle.dumps(error))
    assert (again.subject, again.message) == ("UpdateTable t", error.message)


def test_the_first_subject_stays() -> None:
    with pytest.raises(TableColumnNotFoundError) as caught, about("outer"), about("inner"):
        raise TableColumnNotFoundError("no column x")
    assert caught.value.message == "inner: no column x"


def test_it_is_kept_by_code() -> None:
    assert error_for(13, "wrong", subject="CreateTable t").message == "CreateTable t: wrong"
    assert from_system_failure(OSError("gone"), "DropTable t").subject == "DropTable t"


def broken(failure: Exception) -> RowStream:
    def batches():  # type: ignore[no-untyped-def]
        yield ROWS.to_batches()[0]
        raise failure

    return RowStream(ROWS.schema, batches())


def consume(rows: RowStream) -> None:
    """Fail as a library does that takes broken rows for a failure of storage."""
    try:
        rows.reader().read_all()
    except Exception as error:
        raise InternalError("storage is away") from error


def test_rows_that_break_off_are_blamed() -> None:
    rows = broken(ValueError("out of paper"))
    with pytest.raises(InvalidInputError) as caught, rows.guarded("CreateTable t"):
        consume(rows)
    assert str(caught.value) == "CreateTable t: the Arrow data cannot be read: out of paper"
    assert rows.failure is caught.value.__cause__
    assert (rows.rows, rows.can_begin_again) == (3, True)


def test_other_failures_pass() -> None:
    rows = RowStream.of(ROWS)
    assert RowStream.of(rows) is rows
    with pytest.raises(InternalError, match="storage"), rows.guarded():
        raise InternalError("storage is away")
