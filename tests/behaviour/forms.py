"""The forms in which a request and its rows can be passed."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lance_namespace_client.model import Model
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.conformance.oracle import (
    Call,
    Rows,
)

from .calls import weighted


class _Dumps:
    """A request object with ``model_dump()``, like one from a later pylance release."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request

    def model_dump(self) -> dict[str, Any]:
        return {**self._request, "a_field_of_later_days": {"and": ["its", "value"]}}


REQUEST_FORMS = weighted(dict=4, model=3, dumps=1)
ROWS_FORMS = st.sampled_from(("table", "reader", "bytes", "file"))


def request_in_form(call: Call, form: str) -> Any:
    """Return a request as a dict, as the operation's model, or as an object that dumps itself."""
    if form == "dict" or call.malformed or call.request.get("id") == "":
        return call.request
    if form == "dumps":
        return _Dumps(call.request)
    model: type[Model] = OPERATIONS[call.operation].request_type
    return model.from_dict(call.request)


def rows_in_form(rows: Rows, form: str) -> Any:
    """Return rows as a table, a reader, or an Arrow IPC stream."""
    if rows.fault == "not arrow":
        return b"x,y\n1,2\n"
    table = rows.arrow()
    if rows.fault == "truncated":
        return _truncated(table)
    if form == "table":
        return table
    if form == "reader":
        return table.to_reader()
    stream = _stream(table, batches=1)
    return stream if form == "bytes" else io.BytesIO(stream)


def _stream(table: pa.Table, batches: int) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(batches):
            writer.write_table(table)
    return sink.getvalue()


def _truncated(table: pa.Table) -> bytes:
    """Return a stream that is interrupted in the middle of its second batch."""
    full = pa.table({name: pa.concat_arrays([pa.array(["1"] * 50).cast(column.type)])
                     for name, column in zip(table.column_names, table.columns, strict=True)})  # fmt: skip
    whole, one = _stream(full, batches=2), _stream(full, batches=1)
    return whole[: (len(whole) + len(one)) // 2 - 16]
