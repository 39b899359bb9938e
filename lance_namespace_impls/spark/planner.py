"""The process that plans scans for Spark's driver: ``python -m lance_namespace_impls.spark.planner``.

The JVM's `Planner` starts it with the first scan and keeps it. Requests and answers are lines of
JSON on standard input and output. The process holds no state that a request depends on, so another
one can replace it.
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
from typing import Any, BinaryIO

from ..distributed.failures import coded
from .datasource import LanceNamespaceDataSource
from .scan_plan import Source, pack, plan_aggregates, plan_scan, translate

__all__ = ["answer_to", "main"]

# Lookups in a slow catalog must not delay other queries of a busy driver.
_THREADS = 16


def answer_to(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request; a failure becomes its traceback, which names the code."""
    try:
        if "source" not in request:
            return _open(request)
        source = _unpacked(request["source"])
        target = source.pinned.target
        with coded(f"reading {target.name}", target.namespace.config.secrets()):
            source.options.require_batch(target.name)
            return _OPERATIONS[request["operation"]](source, request)
    except Exception:  # noqa: BLE001 the driver raises it
        return {"error": traceback.format_exc()}


def _open(request: Mapping[str, Any]) -> dict[str, Any]:
    from pyspark.sql.types import StructType

    given = request["schema"]
    schema = None if given is None else StructType.fromJson(json.loads(given))
    data_source = LanceNamespaceDataSource(request["options"])
    source, found = data_source.open(schema)
    with data_source.coded("reading"):
        return {
            "source": _packed(source),
            "schema": found.json(),
            "rows": source.rows(),
            "widths": source.widths(),
            "pushdown": source.options.pushdown,
        }


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


_OPERATIONS = {"translate": _translate, "aggregate": _aggregate, "plan": _plan}


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _packed(source: Source) -> str:
    from pyspark import cloudpickle

    return _text(cloudpickle.dumps(source))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=256)
def _unpacked(text: str) -> Source:
    found: Source = pickle.loads(base64.b64decode(text))
    return found


def main() -> None:
    """Answer requests until the driver closes standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    lock = Lock()
    with ThreadPoolExecutor(_THREADS) as threads:
        for line in sys.stdin.buffer:
            threads.submit(_serve, line, answers, lock)


def _serve(line: bytes, answers: BinaryIO, lock: Lock) -> None:
    request = json.loads(line)
    answer = json.dumps({"number": request["number"], **answer_to(request)})
    with lock:
        answers.write(answer.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
