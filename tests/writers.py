"""Writers in separate processes that change one object concurrently."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

from attrs import frozen

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

__all__ = ["CHANGES", "PROCESSES", "THREADS", "Work", "change_from_everywhere", "processes"]

PROCESSES, THREADS = 2, 2
CHANGES = 10


@frozen
class Work:
    """The task of every writer: set its own properties, one at a time.

    Args:
        impl: the backend.
        properties: the properties to connect with.
        operation: ``alter_table`` or ``alter_namespace``.
        identifier: the object to change.
        round: number of the round, which distinguishes its properties from those of other rounds.
    """

    impl: str
    properties: Mapping[str, str]
    operation: str
    identifier: Sequence[str]
    round: int = 0


@contextmanager
def processes(
    count: int = PROCESSES, *, as_machines: bool = False
) -> Iterator[ProcessPoolExecutor]:
    """Start processes that share no state with this one and have already imported this module.

    Args:
        count: number of processes.
        as_machines: whether processes cannot see each other's locks, as if on separate machines.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance"])
    begin = _use_separate_temporary_folder if as_machines else None
    with ProcessPoolExecutor(count, mp_context=context, initializer=begin) as pool:
        yield pool


def _use_separate_temporary_folder() -> None:
    """Set a separate folder for temporary files, which contain the locks."""
    tempfile.tempdir = tempfile.mkdtemp()


def change_from_everywhere(
    pool: ProcessPoolExecutor, work: Work, *, count: int = PROCESSES, threads: int = THREADS
) -> set[str]:
    """Run all writers concurrently and return the properties whose changes were acknowledged."""
    found = [pool.submit(_change, work, number, threads) for number in range(count)]
    return {key for each in found for key in each.result(600)}


def _change(work: Work, process: int, threads: int) -> list[str]:
    with ThreadPoolExecutor(threads) as pool:
        done = pool.map(partial(_write, work, process), range(threads))
        return [key for keys in done for key in keys]


def _write(work: Work, process: int, thread: int) -> list[str]:
    keys = [f"k{work.round}.{process}.{thread}.{step}" for step in range(CHANGES)]
    with connect(work.impl, dict(work.properties)) as namespace:
        for key in keys:
            while not _changed(namespace, work, key):
                pass
    return keys


def _changed(namespace: Namespace, work: Work, key: str) -> bool:
    request: dict[str, Any] = {"id": list(work.identifier), "set_properties": {key: "v"}}
    try:
        getattr(namespace, work.operation)(request)
    except ConcurrentModificationError:
        return False
    return True
