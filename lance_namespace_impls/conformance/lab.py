"""What a check works with: calls that are recorded and judged, and objects that are cleaned up."""

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
"""How many calls go to a target at a time where their order says nothing."""
MOST_PAGES = 1000
"""How many pages of a listing are read before it is said not to end."""


class Target(Protocol):
    """What takes calls."""

    @property
    def kind(self) -> str:
        """``http``, ``python`` or ``process``."""

    @property
    def name(self) -> str:
        """What to call it in reports, without credentials."""

    def call(self, step: Step) -> Reply:
        """Return what the target gives for one call."""

    def close(self) -> None:
        """Let go of the target."""


class Failed(Exception):
    """The target does not keep the requirement."""

    def __init__(self, expected: str, got: str, reply: Reply | None = None) -> None:
        super().__init__(f"expected {expected}; got {got}")
        self.expected = expected
        self.got = got
        self.reply = reply
        self.shorter: Callable[[float], Failed] | None = None
        """Looks until a time for a shorter way to the failure; its calls are then the bench's."""


class Skipped(Exception):
    """The target properly says that it cannot do what the check needs."""


class NotReached(Exception):
    """What the check stands on failed, and other checks say so."""


class TimeUp(Exception):
    """The run's time ended within a check."""


@define(kw_only=True)
class Lab:
    """The bench of one run; each check starts with `begin`."""

    target: Target
    shape: Shape
    ledger: Ledger
    claimed: frozenset[str] | None = None
    """Operations that ListOperations names; None where the target does not tell."""
    seed: int = 0
    steps: list[Step] = field(factory=list)
    """The calls of the check that runs."""
    setup: list[Step] = field(factory=list)
    """The calls that created the namespaces in which all checks work."""
    until: float = math.inf
    """When the check that runs has to end, in monotonic time, whatever the target leads it to."""
    last: Reply | None = None
    durations: list[float] = field(factory=list)
    """Durations of all calls, in seconds."""
    seen: list[tuple[Violation, Reply]] = field(factory=list)
    """What answers did wrong by themselves."""
    answered: set[str] = field(factory=set)
    """Operations that gave an answer, and ``failure`` where one gave a code."""
    turned_down: dict[str, Reply] = field(factory=dict)
    """The first refusal of a sensible call, by its operation."""
    worked: set[str] = field(factory=set)
    """Operations that succeeded at least once."""
    takes_null: bool = False
    """Whether a query whose vector is null succeeded."""
    told: dict[str, Any] = field(factory=dict)
    """What checks found out that later ones compare with."""
    _shared: dict[str, tuple[Identifier, list[Step]]] = field(factory=dict)
    """Tables that are made once, and the calls that made each."""
    _transactions: set[str] = field(factory=set)
    """Transactions that answers named."""

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
        """Return what the target gives for a call; it may only change what the kit made."""
        step = Step(operation, _plain(request), data)
        self.prepare(step)
        return self.judge(self.target.call(step))

    def together(self, steps: Iterable[Step]) -> list[Reply]:
        """Return the replies to calls in whose order nothing lies, a few at a time."""
        sent = list(steps)
        for step in sent:
            self.prepare(step)
        if self.target.kind == "process":
            return [self.judge(self.target.call(step)) for step in sent]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            replies = list(pool.map(self.target.call, sent))
        return [self.judge(reply) for reply in replies]

    def prepare(self, step: Step) -> None:
        """Take note of a call before it is sent; only what the kit made may be changed.

        Raises:
            TimeUp: it is too late for it.
        """
        if time.monotonic() > self.until:
            raise TimeUp(TIME_UP)
        self._guard(step)
        self._note(step)

    def judge(self, reply: Reply, *, by_itself: bool = True) -> Reply:
        """Take an answer in: note what it made or removed, and what is wrong with it by itself."""
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
            # The headers of a response, which are others each time.
            answer = {key: value for key, value in reply.answer.items() if key != "context"}
            reply = evolve(reply, answer=answer)
        return reply

    def _note(self, step: Step) -> None:
        """Write down what a call makes before it is sent."""
        for entry in objects_made(step):
            self.ledger.made(*entry)

    def _forget(self, step: Step) -> None:
        if (entry := object_removed(step)) is not None:
            self.ledger.gone(*entry)

    def _guard(self, step: Step) -> None:
        """Refuse to send what could change an object that the kit did not make.

        Raises:
            RuntimeError: a check is written wrong.
        """
        if OPERATIONS[step.operation].repeatable:
            return
        if step.operation == "CreateNamespace" and dict(step.request) == {"id": []}:
            return  # the root is there, and without a mode it stays as it is
        for names in _named(step):
            ours = any(name.startswith(self.ledger.prefix) for name in names)
            if not ours and not self._transactions.issuperset(names):
                raise RuntimeError(f"{step.operation} of {names} is not below what the kit made")

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
                f"{operation} to work, since ListOperations names it", reply.outcome(), reply
            )
        if operation in self.worked:
            raise Failed(f"{operation} to work, as it did before", reply.outcome(), reply)
        raise Skipped(f"{operation}: {reply.outcome()}")

    def maybe(
        self, operation: str, data: bytes | None = None, /, **request: Any
    ) -> Mapping[str, Any]:
        """Return the answer of a call with a setting that a target may refuse (0 or 13)."""
        reply = self.call(operation, data, **request)
        self.may_refuse(reply)
        return reply.answer or {}

    def may_refuse(self, reply: Reply) -> None:
        """Judge a call that must succeed, unless its setting is refused (0 or 13).

        A catalog may forbid (15) what names a location: some keep each table where its namespace is.

        Raises:
            Skipped: it was refused; where the operation is claimed and no other call of it
                succeeds, `LN-OPERATIONS-004` fails.
        """
        if reply.code in (0, 13) or forbids_location(reply):
            self.turned_down.setdefault(reply.step.operation, reply)
            raise Skipped(f"{reply.step.operation}: {reply.outcome()}")
        self.must_succeed(reply)

    def refused(
        self, operation: str, codes: Sequence[int], data: bytes | None = None, /, **request: Any
    ) -> Reply:
        """Return the reply of a call that must fail with one of some codes.

        Raises:
            Failed: it succeeded, or failed with another code.
            Skipped: the target does not support the operation, and does not claim to.
        """
        reply = self.call(operation, data, **request)
        self.must_fail(reply, codes)
        return reply

    def supports(self, operation: str) -> bool:
        """Return whether the target has carried an operation out in this run, or claims it."""
        return operation in self.worked or operation in (self.claimed or ())

    def must_fail(self, reply: Reply, codes: Sequence[int]) -> None:
        """Judge a call that must fail with one of some codes, as `refused` does."""
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
        """Compare a map that may hold more than is expected."""
        missing = {k: v for k, v in expected.items() if (found or {}).get(k) != v}
        if missing:
            raise Failed(f"{what} to hold {missing!r}", repr(dict(found or {})), self.last)

    def that(self, holds: bool, expected: str, got: Any) -> None:
        """Judge a condition on the last answer."""
        if not holds:
            raise Failed(expected, str(got)[:400], self.last)

    # --- objects

    def namespace_id(self) -> list[str]:
        """Return the identifier of a namespace that can be made and is not there."""
        if self.shape.namespace_parent is None:
            raise Skipped("no namespaces can be made here")
        return [*self.shape.namespace_parent, self.ledger.fresh()]

    def table_id(self) -> list[str]:
        """Return the identifier of a table that can be made and is not there."""
        if self.shape.table_parent is None:
            raise Skipped("no tables can be made here")
        return [*self.shape.table_parent, self.ledger.fresh()]

    def given(
        self, operation: str, data: bytes | None = None, /, **request: Any
    ) -> Mapping[str, Any]:
        """Return the answer of a call that prepares a check.

        Raises:
            NotReached: it failed; a check of that operation says so.
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
        """Return a table that is declared and holds no data."""
        identifier = self.table_id()
        self.given("DeclareTable", id=identifier)
        return identifier

    def new_table(self, *ids: int) -> list[str]:
        """Return a table of people; ten unless named."""
        identifier = self.table_id()
        self.given("CreateTable", stream(people(*(ids or PEOPLE))), id=identifier)
        return identifier

    def free_location(self) -> str:
        """Return a location where nothing is, beside a table of this run.

        A place that is named otherwise could be anybody's, or the server's working directory.
        """
        where = self.given("DescribeTable", id=self.any_table()).get("location")
        if where is None:
            raise Skipped("DescribeTable tells no location")
        return f"{where.rstrip('/')}_{self.ledger.fresh()}"

    def any_table(self) -> list[str]:
        """Return a table, declared or with rows, whichever the target can make."""
        for make in (self.new_declared, self.new_table):
            try:
                return make()
            except Skipped:
                continue
        raise Skipped("no tables can be made here")

    def shared_table(self) -> list[str]:
        """Return a table of ten people that checks only read."""
        return self.kept("people", self.new_table)

    def kept(self, name: str, make: Callable[[], list[str]]) -> list[str]:
        """Return a table that is made once, and that checks leave as it is."""
        if name not in self._shared:
            before = len(self.steps)
            found = tuple(make())
            self._shared[name] = found, self.steps[before:]
            self.ledger.keep("table", found)
        found, made_by = self._shared[name]
        if made_by and made_by[0] not in self.steps:
            self.steps[:0] = made_by  # a script of this check alone has to make the table too
        return list(found)

    def count(self, table: Sequence[str], **request: Any) -> int:
        """Return what CountTableRows gives."""
        found = self.ok("CountTableRows", id=list(table), **request).get("count")
        self.that(isinstance(found, int), "a whole number of rows", found)
        return int(found or 0)

    def ids(self, table: Sequence[str], **request: Any) -> list[int]:
        """Return the ids of the rows that QueryTable gives, sorted."""
        found = self.query(table, **request)
        self.that("id" in found.column_names, "a column id", found.column_names)
        return sorted(found.column("id").to_pylist())

    def query(self, table: Sequence[str], **request: Any) -> Any:
        """Return the rows that QueryTable gives."""
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
        """Return what a query without a vector sends: null, or what the target takes instead.

        Args:
            table: asked first where no query of the run has told yet.
        """
        if table is not None and "QueryTable" not in self.worked:
            with suppress(Failed, Skipped):
                self.query(table, k=1)
        return {} if self.shape.empty_vector else None

    def exists(self, operation: str, identifier: Sequence[str]) -> bool:
        """Return whether TableExists or NamespaceExists, or else Describe, finds an object.

        Raises:
            Failed: the code says neither.
            NotReached: it answers what cannot be read; `LN-ERROR-005` fails.
        """
        reply = self.call(operation, id=list(identifier))
        if reply.code == 0 and operation not in (self.claimed or ()):
            instead = "DescribeTable" if operation == "TableExists" else "DescribeNamespace"
            reply = self.call(instead, id=list(identifier))
        if reply.succeeded:
            return True
        if reply.broken is not None:
            raise NotReached(f"{reply.step.operation} tells nothing: {reply.broken}")
        self.must_fail(reply, (1, 4) if "Table" in reply.step.operation else (1,))
        return False

    def not_found(self, operation: str, identifier: Sequence[str], due: str) -> None:
        """Judge whether nothing is found by a name, which may be refused as a name, too.

        Raises:
            Failed: `due` is not so.
            NotReached: the answer cannot be read; `LN-ERROR-005` fails.
        """
        reply = self.call(operation, id=list(identifier))
        if reply.broken is not None:
            raise NotReached(f"{operation} tells nothing: {reply.broken}")
        if reply.succeeded or reply.code not in (4, 13):
            raise Failed(due, reply.outcome(), reply)

    def pages(self, operation: str, /, **request: Any) -> Iterator[Mapping[str, Any]]:
        """Return the answers to a listing, page by page, each when it is asked for.

        Raises:
            Failed: a page is not given, or they do not end.
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
