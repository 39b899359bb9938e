"""The process that plans scans and calls catalogs for Spark's driver.

The JVM's `Planner` starts it (``python -m lance_namespace_impls.spark.planner``) for the first scan
or catalog operation, and keeps it running. Requests and responses are lines of JSON on standard
input and output. The process holds no state that a request depends on, so another process can
replace it.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

from attrs import evolve

from lance_namespace_client.errors import InternalError, LanceNamespaceError

from ..distributed.failures import coded
from .catalog_operations import Described, call
from .catalog_table import CatalogTable, TableWrite, WriteKind, option_of
from .datasource import LanceNamespaceDataSource
from .read_plan import pin
from .row_writer import WriteTask
from .scan_plan import Source, pack, plan_aggregates, plan_scan, translate

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter
    from pyspark.sql.types import StructType

__all__ = ["respond", "main"]

# Lookups in a slow catalog must not delay other queries of a busy driver.
_THREADS = 16


def respond(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response to a request; for a failure, it contains the traceback and the code."""
    try:
        return _dispatch(request)
    except LanceNamespaceError as error:
        return {"error": _shown(error), "code": int(error.code)}
    except Exception:  # noqa: BLE001 the driver raises it
        return {"error": traceback.format_exc()}


def _dispatch(request: Mapping[str, Any]) -> dict[str, Any]:
    operation = request["operation"]
    if "catalog" in request:
        response = call(operation, request)
        return _described(response) if isinstance(response, Described) else response
    if operation in _WITHOUT_SOURCE:
        return _WITHOUT_SOURCE[operation](request)
    source = _unpacked(request["source"])
    target = source.pinned.target
    with coded(f"reading {target.name}", target.namespace.config.secrets()):
        source.options.require_batch(target.name)
        return _OPERATIONS[operation](source, request)


def _shown(error: LanceNamespaceError) -> str:
    """Return the text of a failure: only its last line, unless it may be a bug."""
    if not isinstance(error, InternalError):
        return traceback.format_exception_only(error)[-1]  # a line, as `protocol_error_in` expects
    return "".join(traceback.format_exception(error))


def _open(request: Mapping[str, Any]) -> dict[str, Any]:
    from pyspark.sql.types import StructType

    schema_json = request["schema"]
    schema = None if schema_json is None else StructType.fromJson(json.loads(schema_json))
    data_source = LanceNamespaceDataSource(request["options"])
    source, found = data_source.open(schema)
    with data_source.coded("reading"):
        return _snapshot(source, found)


def _snapshot(source: Source, schema: StructType) -> dict[str, Any]:
    pinned = source.pinned
    rows, widths = source.statistics()
    return {
        "source": _packed(source),
        "schema": schema.json(),
        "rows": rows,
        "widths": widths,
        "pushdown": source.options.pushdown,
        "version": f"{pinned.location}@{pinned.branch or ''}@{pinned.version}@{pinned.written}",
    }


def _described(table: Described) -> dict[str, Any]:
    if table.source is None:
        return {**table.more, "source": None, "schema": table.schema.json()}
    return {**table.more, **_snapshot(table.source, table.schema)}


def _configure(source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same version with the options of a query."""
    from pyspark.sql.types import StructType

    pinned = source.pinned
    table = CatalogTable(target=pinned.target, options=source.options)
    options = table.with_options(request["options"])
    if options.filter:
        pinned = pin(pinned.target, filter=options.filter, version=pinned.version)
    schema = StructType.fromJson(json.loads(request["schema"]))
    return _snapshot(Source(pinned, options), schema)


def _write(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option that describes a write of a table of a catalog."""
    with coded("planning a write"):
        table = option_of(request["planned"])
        kind, base = WriteKind(request["kind"]), request["base"]
        write = TableWrite(kind=kind, base=None if base is None else _unpacked(base).pinned)
        return {"table": evolve(table, write=write).to_option()}


def _start_write(request: Mapping[str, Any]) -> dict[str, Any]:
    """Plan a write; return its writer, and the function that the tasks run."""
    from pyspark import cloudpickle
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(json.loads(request["schema"]))
    output = StructType.fromJson(json.loads(request["output"]))
    writer = LanceNamespaceDataSource(request["options"]).writer(schema, request["overwrite"])
    task = (WriteTask(writer, output.names[0]), output)
    function: bytes = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]
    return {"function": _text(function), "writer": _packed(writer)}


def _finish_write(request: Mapping[str, Any]) -> dict[str, Any]:
    """Commit or abort a write; an abort first waits for a commit that is still running."""
    text = request["writer"]
    writer: DataSourceArrowWriter = pickle.loads(base64.b64decode(text))
    messages = [pickle.loads(base64.b64decode(each)) for each in request["messages"]]
    with _lock_of(text):
        if request["operation"] == "abort_write":
            writer.abort(messages)
        else:
            writer.commit(messages)
    return {}


@lru_cache(maxsize=1024)
def _lock_of(writer: str) -> Lock:
    return Lock()


def _delete(source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
    target = source.pinned.target
    target.namespace.delete_from_table(
        {"id": list(target.table), "predicate": request["condition"]}
    )
    return {}


def _translate(source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
    return {"conditions": translate(source, request["predicates"])}


def _aggregate(source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
    found = plan_aggregates(source, request["conditions"], request["aggregates"])
    return {} if found is None else {"schema": found.schema.json(), "row": found.counts}


def _plan(source: Source, request: Mapping[str, Any]) -> dict[str, Any]:
    from pyspark.sql.types import StructType

    task, tasks = plan_scan(
        source,
        StructType.fromJson(json.loads(request["schema"])),
        conditions=request["conditions"],
        limit=request["limit"],
        aggregates=request["aggregates"],
        cores=request["cores"],
    )
    function, partitions = pack(task, tasks)
    return {"function": _text(function), "partitions": list(map(_text, partitions))}


_OPERATIONS = {
    "translate": _translate,
    "aggregate": _aggregate,
    "plan": _plan,
    "configure": _configure,
    "delete": _delete,
}
_WITHOUT_SOURCE = {
    "open": _open,
    "write": _write,
    "start_write": _start_write,
    "commit_write": _finish_write,
    "abort_write": _finish_write,
}


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _packed(value: Source | DataSourceArrowWriter) -> str:
    from pyspark import cloudpickle

    return _text(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=256)
def _unpacked(text: str) -> Source:
    found: Source = pickle.loads(base64.b64decode(text))
    return found


def main() -> None:
    """Process requests until the driver closes standard input."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep the output of libraries out of the responses
    lock = Lock()
    with ThreadPoolExecutor(_THREADS) as threads:
        for line in sys.stdin.buffer:
            threads.submit(_serve, line, responses, lock)


def _serve(line: bytes, responses: BinaryIO, lock: Lock) -> None:
    request = json.loads(line)
    response = json.dumps({"number": request["number"], **respond(request)})
    with lock:
        responses.write(response.encode() + b"\n")
        responses.flush()


if __name__ == "__main__":
    main()
