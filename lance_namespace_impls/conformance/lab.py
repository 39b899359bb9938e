"""The bench of checks: it records and judges calls, and cleans up objects."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from attrs import define, evolve, field

from lance_namespace_client.operations import OPERATIONS

from .exchange import Reply, Step
from .ledger import Ledger, object_removed, objects_made
from .observe import Violation, forbids_location, says_unsupported, violations
from .requirement import TIME_UP
from .rows import PEOPLE, people, stream
from .shape import Shape

__all__ = ["MOST_PAGES", "Failed", "Identifier", "Lab", "NotReached", "Skipped", "Target", "TimeUp"]

Identifier = tuple[str, ...]
AT_ONCE = 4
"""Maximum number of concurrent calls to a target whose order does not matter."""
MOST_PAGES = 1000
"""Maximum number of pages of a listing; a longer one is considered endless."""


class Target(Protocol):
    """Receiver of calls."""

    @property
    def kind(self) -> str:
        """``http``, ``python`` or ``process``."""

    @property
    def name(self) -> str:
        """Name in reports, without credentials."""

    def call(self, step: Step) -> Reply:
        """Return the reply of the target to one call."""

    def close(self) -> None:
        """Release the target."""


class Failed(Exception):
    """The target violates the requirement."""

    def __init__(self, expected: str, got: str, reply: Reply | None = None) -> None:
        super().__init__(f"expected {expected}; got: {got}")
        self.expected = expected
        self.got = got
        self.reply = reply
        self.shorter: Callable[[float], Failed] | None = None
        """Searches until a time for a shorter script that fails; its calls replace the bench's."""


class Skipped(Exception):
    """The target properly reports that it does not support what the check needs."""


class NotReached(Exception):
    """A prerequisite of the check failed, which other checks report."""


class TimeUp(Exception):
    """The time limit of the run expired during a check."""


@define(kw_only=True)
class Lab:
    """The bench of one run; each check starts with `begin`."""

    target: Target
    shape: Shape
    ledger: Ledger
    claimed: frozenset[str] | None = None
    """Operations that ListOperations returns; None if the target does not report them."""
    seed: int = 0
    steps: list[Step] = field(factory=list)
    """The calls of the current check."""
    setup: list[Step] = field(factory=list)
    """The calls that created the namespaces in which all checks work."""
    until: float = math.inf
    """When the current check must end at the latest, in monotonic time."""
    last: Reply | None = None
    durations: list[float] = field(factory=list)
    """Durations of all calls, in seconds."""
    seen: list[tuple[Violation, Reply]] = field(factory=list)
    """Violations in single answers, regardless of other calls."""
    answered: set[str] = field(factory=set)
    """Operations that returned an answer, and ``failure`` if any call returned a code."""
    turned_down: dict[str, Reply] = field(factory=dict)
    """The first rejection of a plausible call, by operation."""
    worked: set[str] = field(factory=set)
    """Operations that succeeded at least once."""
    takes_null: bool = False
    """Whether a query whose vector is null succeeded."""
    told: dict[str, Any] = field(factory=dict)
    """Results of checks that later checks compare with."""
    _shared: dict[str, tuple[Identifier, list[Step]]] = field(factory=dict)
    """Tables that are created once, and the calls that created each."""
    _transactions: set[str] = field(factory=set)
    """Transactions that answers returned."""

    def share(self, other: Lab) -> None:
        """Share with another bench which operations the target supports."""
        self.answered, self.turned_down, self.worked = (
            other.answered, other.turned_down, other.worked,
        )  # fmt: skip

    def begin(self) -> None:
        """Start a check."""
        self.steps = []
        self.last = None

    # --- calls

    def call(self, operation: str, data: bytes | None = None, /, **request: Any) -> Reply:
        """Return the reply to a call, which may only change objects that the kit created."""
        step = Step(operation, _plain(request), data)
        self.prepare(step)
        return self.judge(self.target.call(step))

    def together(self, steps: Iterable[Step]) -> list[Reply]:
        """Return the replies to calls whose order does not matter, a few at a time."""
        sent = list(steps)
        for step in sent:
            self.prepare(step)
        if self.target.kind == "process":
            return [self.judge(self.target.call(step)) for step in sent]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            replies = list(pool.map(self.target.call, sent))
        return [self.judge(reply) for reply in replies]

    def prepare(self, step: Step) -> None:
        """Record a call before it is sent; it may only change objects that the kit created.

        Raises:
            TimeUp: the time limit has expired.
        """
        if time.monotonic() > self.until:
            raise TimeUp(TIME_UP)
        self._guard(step)
        self._note(step)

    def judge(self, reply: Reply, *, by_itself: bool = True) -> Reply:
        """Record a reply: the objects that it created or removed, and its own violations."""
        self.steps.append(reply.step)
        self.durations.append(reply.seconds)
        self.last = reply
        if by_itself:
            self.seen += [(violation, reply) for violation in violations(reply)]
        operation = reply.step.operation
        if reply.succeeded:
            self.answered.add(operation)
            self.worked.add(operation)
            self._transactions.add(str((reply.answer or {}).get("transaction_id")))
            self._forget(reply.step)
        elif reply.code is not None and not reply.no_route:
            self.answered.add("failure")
        if says_unsupported(reply):
            reply = evolve(reply, code=0)
        if reply.answer is not None and "context" in reply.answer:
            # The response headers differ each time.
            answer = {key: value for key, value in reply.answer.items() if key != "context"}
            reply = evolve(reply, answer=answer)
        return reply

    def _note(self, step: Step) -> None:
        """Record the objects that a call creates, before it is sent."""
        for entry in objects_made(step):
            self.ledger.made(*entry)

    def _forget(self, step: Step) -> None:
        if (entry := object_removed(step)) is not None:
            self.ledger.gone(*entry)

    def _guard(self, step: Step) -> None:
        """Reject a call that could change an object that the kit did not create.

        Raises:
            RuntimeError: a check has a bug.
        """
        if OPERATIONS[step.operation].repeatable:
            return
        if step.operation == "CreateNamespace" and dict(step.request) == {"id": []}:
            return  # the root exists, and without a mode it stays unchanged
        for names in _named(step):
            ours = any(name.startswith(self.ledger.prefix) for name in names)
            if not ours and not self._transactions.issuperset(names):
                raise RuntimeError(
                    f"{step.operation} on {names} would change an object that the "
                    "kit did not create"
                )

    def ok(self, operation: str, data: bytes | None = None, /, **request: Any) -> Mapping[str, Any]:
        """Return the answer of a call that must succeed.

        Raises:
            Failed: it did not.
            Skipped: the target does not support the operation, and does not claim to.
        """
        reply = self.call(operation, data, **request)
        self.must_succeed(reply)
        return reply.answer or {}

    def must_succeed(self, reply: Reply) -> None:
        """Judge a call that must succeed, as `ok` does."""
        operation = reply.step.operation
        if reply.code == 0:
            self._unsupported(operation, reply)
        if not reply.succeeded:
            raise Failed(f"{operation} to succeed", reply.outcome(), reply)

    def _unsupported(self, operation: str, reply: Reply) -> None:
        if self.claimed is not None and operation in self.claimed:
            raise Failed(
                f"{operation} to succeed, because ListOperations returns it", reply.outcome(), reply
            )
        if operation in self.worked:
            raise Failed(f"{operation} to succeed, as it did before", reply.outcome(), reply)
        raise Skipped(f"{operation}: {reply.outcome()}")

    def maybe(
        self, operation: str, data: bytes | None = None, /, **request: Any
    ) -> Mapping[str, Any]:
        """Return the answer to a call with a setting that a target may reject (0 or 13)."""
        reply = self.call(operation, data, **request)
        self.may_refuse(reply)
        return reply.answer or {}

    def may_refuse(self, reply: Reply) -> None:
        """Judge a call that must succeed, unless its setting is rejected (0 or 13).

        A catalog may forbid explicit locations (15): some store each table below its namespace.

        Raises:
            Skipped: it was rejected; if the operation is claimed and none of its other calls
                succeeds, `LN-OPERATIONS-004` fails.
        """
        if reply.code in (0, 13) or forbids_location(reply):
            self.turned_down.setdefault(reply.step.operation, reply)
            raise Skipped(f"{reply.step.operation}: {reply.outcome()}")
        self.must_succeed(reply)

    def refused(
        self, operation: str, codes: Sequence[int], data: bytes | None = None, /, **request: Any
    ) -> Reply:
        """Return the reply to a call that must fail with one of several codes.

        Raises:
            Failed: it succeeded, or failed with another code.
            Skipped: the target does not support the operation, and does not claim to.
        """
        reply = self.call(operation, data, **request)
        self.must_fail(reply, codes)
        return reply

    def supports(self, operation: str) -> bool:
        """Return whether an operation has succeeded in this run, or the target claims it."""
        return operation in self.worked or operation in (self.claimed or ())

    def must_fail(self, reply: Reply, codes: Sequence[int]) -> None:
        """Judge a call that must fail with one of several codes, as `refused` does."""
        operation = reply.step.operation
        if reply.code == 0 and 0 not in codes and not self.supports(operation):
            self._unsupported(operation, reply)
        if reply.code not in codes or reply.broken is not None:
            due = " or ".join(map(str, codes))
            raise Failed(f"{operation} to fail with code {due}", reply.outcome(), reply)

    # --- comparing

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Compare a value of the last answer."""
        if found != expected:
            raise Failed(f"{what} to be {expected!r}", repr(found), self.last)

    def has(self, found: Mapping[str, Any] | None, expected: Mapping[str, Any], what: str) -> None:
        """Compare a map that may contain more entries than expected."""
        missing = {k: v for k, v in expected.items() if (found or {}).get(k) != v}
        if missing:
            raise Failed(f"{what} to contain {missing!r}", repr(dict(found or {})), self.last)

    def that(self, holds: bool, expected: str, got: Any) -> None:
        """Judge a condition on the last answer."""
        if not holds:
            raise Failed(expected, str(got)[:400], self.last)

    # --- objects

    def namespace_id(self) -> list[str]:
        """Return the identifier of a namespace that does not exist and can be created."""
        if self.shape.namespace_parent is None:
            raise Skipped("no namespaces can be created here")
        return [*self.shape.namespace_parent, self.ledger.fresh()]

    def table_id(self) -> list[str]:
        """Return the identifier of a table that does not exist and can be created."""
        if self.shape.table_parent is None:
            raise Skipped("no tables can be created here")
        return [*self.shape.table_parent, self.ledger.fresh()]

    def given(
        self, operation: str, data: bytes | None = None, /, **request: Any
    ) -> Mapping[str, Any]:
        """Return the answer of a call that prepares a check.

        Raises:
            NotReached: it failed; a check of that operation reports it.
            Skipped: the target does not support it.
        """
        return self.must_be_given(self.call(operation, data, **request))

    def must_be_given(self, reply: Reply) -> Mapping[str, Any]:
        """Return the answer to a call that prepares a check, as `given` does."""
        try:
            self.must_succeed(reply)
        except Failed as error:
            raise NotReached(f"{reply.step.operation} failed: {error.got}") from error
        return reply.answer or {}

    def new_namespace(self) -> list[str]:
        """Return an empty namespace."""
        identifier = self.namespace_id()
        self.given("CreateNamespace", id=identifier)
        return identifier

    def new_declared(self) -> list[str]:
        """Return a declared table without data."""
        identifier = self.table_id()
        self.given("DeclareTable", id=identifier)
        return identifier

    def new_table(self, *ids: int) -> list[str]:
        """Return a table of people; ten by default."""
        identifier = self.table_id()
        self.given("CreateTable", stream(people(*(ids or PEOPLE))), id=identifier)
        return identifier

    def free_location(self) -> str:
        """Return an empty location next to a table of this run.

        Any other location might belong to someone else or be in the server's working directory.
        """
        where = self.given("DescribeTable", id=self.any_table()).get("location")
        if where is None:
            raise Skipped("DescribeTable returns no location")
        return f"{where.rstrip('/')}_{self.ledger.fresh()}"

    def any_table(self) -> list[str]:
        """Return a table, declared or with rows, whichever the target can create."""
        for make in (self.new_declared, self.new_table):
            try:
                return make()
            except Skipped:
                continue
        raise Skipped("no tables can be created here")

    def shared_table(self) -> list[str]:
        """Return a table of ten people that checks only read."""
        return self.kept("people", self.new_table)

    def kept(self, name: str, make: Callable[[], list[str]]) -> list[str]:
        """Return a table that is created once and that checks do not change."""
        if name not in self._shared:
            before = len(self.steps)
            found = tuple(make())
            self._shared[name] = found, self.steps[before:]
            self.ledger.keep("table", found)
        found, made_by = self._shared[name]
        if made_by and made_by[0] not in self.steps:
            self.steps[:0] = made_by  # the script of this check must create the table, too
        return list(found)

    def count(self, table: Sequence[str], **request: Any) -> int:
        """Return the result of CountTableRows."""
        found = self.ok("CountTableRows", id=list(table), **request).get("count")
        self.that(isinstance(found, int), "an integer number of rows", found)
        return int(found or 0)

    def ids(self, table: Sequence[str], **request: Any) -> list[int]:
        """Return the sorted ids of the rows that QueryTable returns."""
        found = self.query(table, **request)
        self.that("id" in found.column_names, "a column id", found.column_names)
        return sorted(found.column("id").to_pylist())

    def query(self, table: Sequence[str], **request: Any) -> Any:
        """Return the rows that QueryTable returns."""
        request = {"vector": None, "k": 1000, **request}
        if request["vector"] is None and self.shape.empty_vector:
            request["vector"] = {}
        reply = self.call("QueryTable", id=list(table), **request)
        if (
            reply.code == 13
            and request["vector"] is None
            and not self.takes_null
            and self.target.kind != "python"
        ):
            self.shape.empty_vector = True
            request["vector"] = {}
            reply = self.call("QueryTable", id=list(table), **request)
        self.must_succeed(reply)
        self.takes_null = self.takes_null or request["vector"] is None
        return reply.rows

    def no_vector(self, table: Sequence[str] | None = None) -> dict[str, Any] | None:
        """Return the vector field of a query without a vector: null, or what the target accepts.

        Args:
            table: table for a first query, if no query of the run has shown which one.
        """
        if table is not None and "QueryTable" not in self.worked:
            with suppress(Failed, Skipped):
                self.query(table, k=1)
        return {} if self.shape.empty_vector else None

    def exists(self, operation: str, identifier: Sequence[str]) -> bool:
        """Return whether TableExists or NamespaceExists, or else Describe, finds an object.

        Raises:
            Failed: the code means neither.
            NotReached: the answer cannot be parsed; `LN-ERROR-005` fails.
        """
        reply = self.call(operation, id=list(identifier))
        if reply.code == 0 and operation not in (self.claimed or ()):
            instead = "DescribeTable" if operation == "TableExists" else "DescribeNamespace"
            reply = self.call(instead, id=list(identifier))
        if reply.succeeded:
            return True
        if reply.broken is not None:
            raise NotReached(
                f"{reply.step.operation} returned an unreadable response: {reply.broken}"
            )
        self.must_fail(reply, (1, 4) if "Table" in reply.step.operation else (1,))
        return False

    def not_found(self, operation: str, identifier: Sequence[str], due: str) -> None:
        """Verify that a name finds no object; rejecting the name is right, too.

        Raises:
            Failed: `due`, the expectation, is not met.
            NotReached: the answer cannot be parsed; `LN-ERROR-005` fails.
        """
        reply = self.call(operation, id=list(identifier))
        if reply.broken is not None:
            raise NotReached(f"{operation} returned an unreadable response: {reply.broken}")
        if reply.succeeded or reply.code not in (4, 13):
            raise Failed(due, reply.outcome(), reply)

    def pages(self, operation: str, /, **request: Any) -> Iterator[Mapping[str, Any]]:
        """Yield the answers to a listing lazily, page by page.

        Raises:
            Failed: a call for a page fails, or the pages do not end.
        """
        more: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            answer = self.ok(operation, **request, **more)
            yield answer
            if not answer.get("page_token"):
                return
            more = {"page_token": answer["page_token"]}
        raise Failed("the listing to end", f"{MOST_PAGES} pages", self.last)

    def walk(self, operation: str, key: str, /, **request: Any) -> list[str]:
        """Return all names of a listing, page by page."""
        found: list[str] = []
        for answer in self.pages(operation, **request):
            names = answer.get(key)
            self.that(isinstance(names, list), f"a list of {key}", names)
            found += list(names or ())
        return found


def _plain(request: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in request.items()}


def _named(step: Step) -> list[list[str]]:
    """Return the identifier of each object that a call may change."""
    request = step.request
    several = [*(request.get("entries") or ())]
    operations = request.get("operations") or ()
    several += [part for entry in operations for part in entry.values() if part is not None]
    if not several:
        several = [request]
    return [_names(part.get("id")) for part in several]


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given or ()]
