"""Runs one operation in a separate process, which is killed at one step of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from lance_namespace_impls.catalog.namespace import Namespace

__all__ = ["ROWS", "Step", "run_and_die"]

ROWS = pa.table({"id": list(range(10))})
SECONDS = 300


class Step(NamedTuple):
    """The point where the process is killed: before or after a call of a function."""

    function: str
    """``Owner.name``; the owner ``Namespace`` means the class of the namespace under test."""
    when: str
    """``before``, ``after``, or ``first``: after a generator function yields its first item."""
    nth: int = 1
    """Number of the call at which the process is killed, counted from 1."""


@cache
def _forks() -> Any:
    """Return a context that forks processes with all modules imported and no threads running."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance", "lance_namespace_impls.tables.drop"])
    return context


def run_and_die(namespace: Namespace, table: list[str], operation: str, step: Step) -> None:
    """Create or drop a table in a separate process, which must be killed at the step.

    The operation ``create`` sends the rows as a stream, and ``create few`` as one table.
    """
    process = _forks().Process(target=_run, args=(namespace, table, operation, step))
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -signal.SIGKILL, "the step was never reached"


def _run(namespace: Namespace, table: list[str], operation: str, step: Step) -> None:
    owner, name = step.function.split(".")
    place = _owner(namespace, owner)
    setattr(place, name, _dying(getattr(place, name), step))
    request = {"id": table, "properties": {"k": "v"}}
    if operation == "create few":
        namespace.create_table(request, ROWS)
    elif operation == "create":
        batches = ROWS.to_batches(max_chunksize=5)
        namespace.create_table(request, pa.RecordBatchReader.from_batches(ROWS.schema, batches))
    else:
        namespace.drop_table({"id": table})


def _owner(namespace: Namespace, name: str) -> Any:
    from lance_namespace_client.arrow import RowStream
    from lance_namespace_impls.directory.filesystem import Directory
    from lance_namespace_impls.tables import write
    from lance_namespace_impls.tables.drop import TableFolder

    known = {"write": write, "os": os, "Namespace": type(namespace)}
    known |= {each.__name__: each for each in (Directory, TableFolder, RowStream)}
    return known[name]


def _dying(real: Callable[..., Any], step: Step) -> Callable[..., Any]:
    calls = 0

    def one_of(entries: Any) -> Iterator[Any]:
        yield next(entries)
        _die()

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < step.nth:
            return real(*args, **kwargs)
        result = None if step.when == "before" else real(*args, **kwargs)
        return one_of(result) if step.when == "first" else _die()

    return dying


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process does not get here")
