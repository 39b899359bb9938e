"""Limits the use of the server's resources: concurrency per caller, sizes, rates and durations."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import math
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, Self, TypeVar

import attrs

from lance_namespace_client.errors import (
    InvalidInputError,
    ServiceUnavailableError,
    ThrottlingError,
)
from lance_namespace_client.operations import Body, Operation

__all__ = [
    "LANCE_THREADS",
    "RETRY_SECONDS",
    "HeadersTooLargeError",
    "Limits",
    "Meter",
    "Slots",
    "Pool",
    "Pools",
    "TooSlowError",
    "contained",
    "cores",
    "out_of_time",
]

T = TypeVar("T")

# Tags of operations that read or write a table's rows.
HEAVY_TAGS = frozenset({"Column", "Data", "Index", "MaterializedView"})
RETRY_SECONDS = 1.0
# Environment variable for the number of threads per process that run Lance's queries; the default
# is one per core. Passing a small query between threads takes longer than running it, and if there
# is one process per core, more threads have no benefit.
LANCE_THREADS = "TOKIO_WORKER_THREADS"


def _limit(default: float, doc: str, *, unit: str | None = None) -> Any:
    def positive(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
        if not 0 < value < math.inf:
            raise InvalidInputError(f"{attribute.name} must be greater than 0, not {value}")

    metadata = {"doc": doc, "unit": unit}
    return attrs.field(default=default, validator=positive, metadata=metadata)


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of a server; each must be greater than 0 (code 13).

    The defaults suit a machine with a few cores and 4 GiB.
    """

    connections: int = _limit(1024, "open connections")
    header_bytes: int = _limit(64 << 10, "maximum size of a request's headers", unit="bytes")
    header_seconds: float = _limit(
        10, "maximum time to receive a request's headers", unit="seconds"
    )
    json_bytes: int = _limit(4 << 20, "maximum size of a JSON body", unit="bytes")
    json_seconds: float = _limit(30, "maximum time to receive a JSON body", unit="seconds")
    metadata_calls: int = _limit(40, "maximum number of concurrent operations on metadata")
    queries: int = _limit(
        16, "maximum number of concurrent queries and other operations that return rows"
    )
    query_seconds: float = _limit(300, "maximum duration of a query", unit="seconds")
    answer_seconds: float = _limit(
        3600, "maximum time for the client to read the rows of a response", unit="seconds"
    )
    reader_seconds: float = _limit(
        60, "period over which a client's read rate is measured", unit="seconds"
    )
    uploads: int = _limit(16, "maximum number of concurrent uploads")
    upload_seconds: float = _limit(3600, "maximum duration of an upload", unit="seconds")
    upload_window_seconds: float = _limit(
        5, "period over which an upload's rate is measured", unit="seconds"
    )
    batch_bytes: int = _limit(1 << 30, "maximum size of a batch in an upload", unit="bytes")
    least_rate: int = _limit(
        16 << 10,
        "minimum rate of an upload, and of a client that reads a response",
        unit="bytes/second",
    )
    unsent_bytes: int = _limit(
        256 << 20,
        "maximum total size of the rows waiting for slow clients, across all responses",
        unit="bytes",
    )
    waiting: int = _limit(64, "maximum number of waiting calls, per kind")
    waiting_seconds: float = _limit(10, "maximum time that a call waits", unit="seconds")

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Self:
        """Create limits from strings, such as command-line options.

        Raises:
            InvalidInputError: code 13, a limit does not exist, or its value is not a number greater
                than 0.
        """
        fields = attrs.fields_dict(cls)
        values: dict[str, Any] = {}
        for name, text in settings.items():
            if name not in fields:
                near = difflib.get_close_matches(name, fields, 1)
                advice = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(fields)}"
                raise InvalidInputError(f"unknown limit {name!r}; {advice}")
            kind = int if fields[name].type in (int, "int") else float
            try:
                values[name] = kind(text)
            except ValueError:
                raise InvalidInputError(
                    f"{name} must be a {'whole ' if kind is int else ''}number, not {text[:40]!r}"
                ) from None
        return cls(**values)


def cores() -> int:
    """Return the number of cores for queries; several workers share the cores of the machine."""
    share = os.environ.get(LANCE_THREADS, "")
    if share.isascii() and share.isdigit():
        return max(1, int(share))
    if hasattr(os, "sched_getaffinity"):  # Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class TooSlowError(InvalidInputError, TimeoutError):
    """Raised if the client takes too long to send its request (code 13, HTTP status 408)."""

    http_status = 408


class HeadersTooLargeError(InvalidInputError):
    """Raised if the request headers are too large for the server (code 13, HTTP status 431)."""

    http_status = 431


class Meter:
    """Measures a client's transfer rate while the server waits for the client.

    Args:
        least_rate: minimum average rate over `seconds`, in bytes per second.
        seconds: time before the rate is checked for the first time.
    """

    def __init__(self, least_rate: int, seconds: float) -> None:
        self._least = least_rate
        self._window = seconds
        self._waited = 0.0
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Limit the time that the block may wait for the client.

        Raises:
            TooSlowError: code 13, the client's rate is below the minimum.
        """
        started = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self._window - self._waited)):
                yield
        except TimeoutError:
            raise self._too_slow() from None
        self._waited += time.monotonic() - started

    def moved(self, count: int) -> None:
        """Record that bytes were transferred.

        Raises:
            TooSlowError: code 13, the client's rate is below the minimum.
        """
        self._bytes += count
        if self._bytes >= self._least * self._window:
            self._waited, self._bytes = 0.0, 0
        elif self._waited >= self._window:
            raise self._too_slow()

    def _too_slow(self) -> TooSlowError:
        return TooSlowError(
            f"the connection transfers fewer than {self._least} bytes per second; the "
            "server aborted it"
        )


class Figure(Protocol):
    """A number that increases and decreases, such as a Prometheus gauge."""

    def inc(self) -> None:
        """Increase the number by one."""

    def dec(self) -> None:
        """Decrease the number by one."""


class _Uncounted:
    def inc(self) -> None:
        """Do nothing."""

    dec = inc


def contained(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function and return its result; raise only subclasses of `Exception`.

    Otherwise, a panic in Rust code or a `SystemExit` in a namespace would end more than this call.
    """
    try:
        return function(*arguments)
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"the namespace raised {type(error).__name__}") from error


class _Waiting:
    """A call that waits for a slot."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.has_slot: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


class Slots:
    """A fixed number of slots, shared fairly among callers.

    A caller can hold at most three quarters, rounded up, of the slots that other callers do not
    hold. Running calls cannot be interrupted, so some slots must remain free for callers that have
    none. A slot that becomes free is assigned to the waiting caller that holds the fewest slots. In
    case of a tie, it is assigned to the caller whose last slot was assigned longest ago. If too
    many calls are waiting, a waiting call of the caller with the most waiting calls is rejected.

    Args:
        size: number of slots.
        waiting: maximum number of waiting calls.
    """

    def __init__(self, size: int, waiting: int) -> None:
        self._free = self._size = size
        self._most_waiting = waiting
        self._slots_of: Counter[str] = Counter()
        self._queue: list[_Waiting] = []
        """Waiting calls, in order of arrival."""
        self._acquired = 0
        self._last_acquired: dict[str, int] = {}
        """For each caller that holds or waits for a slot, the time when it last received one."""

    def acquire(self, owner: str) -> bool:
        """Acquire a slot if this is possible without waiting; return whether one was acquired."""
        if not self._may_acquire(owner):
            return False
        self._free -= 1
        self._slots_of[owner] += 1
        self._acquired += 1
        self._last_acquired[owner] = self._acquired
        return True

    def release(self, owner: str) -> None:
        """Release a slot."""
        self._free += 1
        self._slots_of[owner] -= 1
        if not self._slots_of[owner]:
            del self._slots_of[owner]
        self._assign()
        self._forget(owner)

    def _forget(self, owner: str) -> None:
        if owner not in self._slots_of and all(each.owner != owner for each in self._queue):
            self._last_acquired.pop(owner, None)

    async def wait(self, owner: str) -> bool:
        """Wait for a slot; return False if too many calls are waiting, immediately or after a
        while.
        """
        if len(self._queue) >= self._most_waiting and not self._displace(owner):
            return False
        waiting = _Waiting(owner)
        self._queue.append(waiting)
        try:
            return await waiting.has_slot
        except asyncio.CancelledError:
            if waiting in self._queue:
                self._queue.remove(waiting)
                self._forget(owner)
            elif not waiting.has_slot.cancelled() and waiting.has_slot.result():
                self.release(owner)  # the slot was assigned at the moment of cancellation
            raise

    def _displace(self, owner: str) -> bool:
        """Reject a call of the caller with the most waiting calls, unless that is the owner."""
        counts = Counter(each.owner for each in self._queue)
        most, count = counts.most_common(1)[0] if counts else (owner, 0)
        if count <= counts[owner] + 1:
            return False
        last = next(each for each in reversed(self._queue) if each.owner == most)
        self._queue.remove(last)
        if not last.has_slot.done():
            last.has_slot.set_result(False)
        return True

    def _may_acquire(self, owner: str) -> bool:
        available = self._free + self._slots_of[owner]
        return self._free > 0 and self._slots_of[owner] < available - available // 4

    def _order(self, waiting: _Waiting) -> tuple[int, int]:
        return self._slots_of[waiting.owner], self._last_acquired.get(waiting.owner, 0)

    def _assign(self) -> None:
        """Assign free slots to eligible waiting calls."""
        while self._free:
            # A canceled call remains in the queue for a short time.
            able = [
                each
                for each in self._queue
                if not each.has_slot.done() and self._may_acquire(each.owner)
            ]
            if not able:
                return
            chosen = min(able, key=self._order)
            self._queue.remove(chosen)
            self.acquire(chosen.owner)
            chosen.has_slot.set_result(True)


class Pool:
    """A thread pool for one kind of work, with a bounded queue of waiting calls.

    Args:
        kind: kind of calls, for messages.
        size: number of slots.
        limits: maximum number of waiting calls, and their maximum waiting time.
    """

    def __init__(self, kind: str, size: int, limits: Limits) -> None:
        self._threads = ThreadPoolExecutor(size, f"lance-ns-{kind}")
        self.size = size
        self.running: Figure = _Uncounted()
        self.waiting: Figure = _Uncounted()
        self._kind = kind
        self._slots = Slots(size, limits.waiting)
        self._limits = limits

    async def enter(self, owner: str = "") -> None:
        """Acquire a slot; `leave` releases it.

        Args:
            owner: key of the caller.

        Raises:
            ThrottlingError: code 21, no slot became free, or the owner has already used its share.
        """
        if not self._slots.acquire(owner):
            self.waiting.inc()
            try:
                async with asyncio.timeout(self._limits.waiting_seconds):
                    has_slot = await self._slots.wait(owner)
            except TimeoutError:
                has_slot = False
            finally:
                self.waiting.dec()
            if not has_slot:
                raise self._full()
        self.running.inc()

    def leave(self, owner: str = "") -> None:
        """Release a slot."""
        self.running.dec()
        self._slots.release(owner)

    def start(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a function in one of the threads; anything it raises becomes an `Exception`."""
        return self._threads.submit(contained, function, *arguments)

    def close(self) -> None:
        """Reject new operations; let running operations finish."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _full(self) -> ThrottlingError:
        return ThrottlingError(
            f"the server has reached its limit of concurrent {self._kind}, either overall or for "
            "this caller; try again later",
            retry_after=RETRY_SECONDS,
        )


class Pools:
    """The thread pools of a server: one for each kind of work, so that no kind can starve another.

    Args:
        limits: sizes of the pools.
    """

    def __init__(self, limits: Limits) -> None:
        self.metadata = Pool("calls", limits.metadata_calls, limits)
        self.queries = Pool("queries", limits.queries, limits)
        self.uploads = Pool("uploads", limits.uploads, limits)

    def of(self, operation: Operation[Any, Any]) -> Pool:
        """Return the pool that runs an operation."""
        if operation.body is Body.ARROW:
            return self.uploads
        return self.queries if operation.tag in HEAVY_TAGS else self.metadata

    def items(self) -> Iterator[tuple[str, Pool]]:
        """Return each pool with its name."""
        yield "metadata", self.metadata
        yield "queries", self.queries
        yield "uploads", self.uploads

    def close(self) -> None:
        """Reject new operations; let running operations finish."""
        for _, pool in self.items():
            pool.close()


def out_of_time(name: str, seconds: float) -> ServiceUnavailableError:
    """Return the error (code 17) for an operation that exceeded its time limit."""
    return ServiceUnavailableError(
        f"{name} was aborted after {seconds:g} seconds; request fewer rows or less data"
    )
