"""Runs the checks on a target within a time limit, and cleans up after them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from attrs import define, evolve, field, frozen

from .cleaning import CLEANING_SECONDS, clean_up
from .exchange import Reply, Step
from .lab import Failed, Lab, NotReached, Skipped, Target, TimeUp
from .ledger import Entry, Ledger
from .observe import Violation
from .requirement import CHECKS, TIME_UP, Check, Result, chosen, require_matches
from .run_order import in_run_order
from .scenarios import load_all
from .shape import Shape
from .shape_probe import find_shape
from .standing import stands_on

__all__ = [
    "CannotRunError",
    "Finding",
    "Options",
    "Outcome",
    "Plan",
    "Session",
    "run",
]

SHORTENING_SECONDS = 15.0
"""Time limit for shortening a failure's script; below, the one after the run's time limit."""
LEAST_SHORTENING_SECONDS = 3.0
COMPLETE_CALLS = 26_500
"""Calls that a server with all operations receives in a complete run."""
LEAST_SECONDS = 120.0
"""Shortest default time limit in seconds."""
CLEANED_AT_ONCE = 16
"""Number of leftover objects at which they are removed, several at a time."""
_NOT_HERE = (0, 1, 4, 13, 15, 16)
"""Codes which mean that an object cannot be created here or by this caller."""
BYSTANDER = "LN-SAFE-001"
CLAIMED = "LN-OPERATIONS-004"
_OF_FORM = ("LN-SCHEMA-", "LN-ANSWER-", "LN-ERROR-")
"""Id prefixes of the requirements on the form of answers."""
PREPARED = "the prerequisites of the check to work"


class CannotRunError(Exception):
    """The target is not reachable, is not a Lance namespace, or permits nothing."""


@frozen(kw_only=True)
class Options:
    """Options and limits of a run."""

    under: tuple[str, ...] = ()
    read_only: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    seed: int = 0
    max_seconds: float | None = None
    """Time limit in seconds: no check starts or sends another call after it. None is twice the time
    that a complete run is expected to need, from the measured latency, and at least two minutes."""
    jobs: int = 1
    """Checks that run concurrently; one if the target accepts one call at a time."""
    folder: Path | None = None
    """Directory for the ledger of the run; None for no file."""
    claimed: frozenset[str] | None = None
    """Operations that the target claims; by default, those that ListOperations returns."""


@frozen(kw_only=True)
class Finding:
    """The result of one check."""

    check: Check
    result: Result
    expected: str = ""
    got: str = ""
    reply: Reply | None = None
    """The reply that determined the result."""
    setup: tuple[Step, ...] = ()
    """The calls that created the namespaces in which the run works."""
    script: tuple[Step, ...] = ()
    """The calls of the check that lead to the result."""
    seconds: float = 0.0


@define
class Outcome:
    """The results of a run."""

    target: str
    seed: int
    findings: list[Finding] = field(factory=list)
    seconds: float = 0.0
    leftovers: list[Entry] = field(factory=list)
    """Objects that could not be removed."""
    claimed: frozenset[str] | None = None
    max_seconds: float = math.inf
    """Time limit of the run, in seconds."""
    more_seconds: float = 0.0
    """Estimated time for the checks that were not reached in time, in seconds."""

    def failed(self) -> list[Finding]:
        """Return the checks that failed."""
        return [f for f in self.findings if f.result is Result.FAIL]

    def unreached(self) -> list[Finding]:
        """Return the checks that were not reached within the time limit."""
        return [f for f in self.findings if f.result is Result.NOT_REACHED and f.got == TIME_UP]

    @property
    def status(self) -> int:
        """Exit status: 1 if a check failed, 3 if checks were not reached in time, otherwise 0."""
        return 1 if self.failed() else 3 if self.unreached() else 0


@frozen(kw_only=True)
class Plan:
    """Expected size and duration of a run, from the latency of its first calls."""

    calls: int
    """Number of calls that a server with all operations receives."""
    latency: float
    """Median duration of a call in seconds."""
    seconds: float
    """Expected duration in seconds."""
    max_seconds: float
    """Time limit in seconds."""


def run(
    target: Target,
    options: Options | None = None,
    progress: Callable[[Finding], None] = lambda finding: None,
    planned: Callable[[Plan], None] = lambda plan: None,
) -> Outcome:
    """Run the checks on a target, which stays open.

    Args:
        target: target to check.
        options: options of the run.
        progress: called with the result of each check, one call at a time.
        planned: called once, before the first check.

    Raises:
        CannotRunError: nothing can be checked; the message names the cause.
    """
    session = Session(target, options, progress)
    try:
        session.start()
        planned(session.plan)
        session.run_all()
    finally:
        session.finish()
    return session.outcome


class Session:
    """A run in steps: start, any checks one after another, finish.

    Args:
        target: target to check; it stays open.
        options: options of the run.
        progress: called with the result of each check, one call at a time.
    """

    def __init__(
        self,
        target: Target,
        options: Options | None = None,
        progress: Callable[[Finding], None] = lambda finding: None,
    ) -> None:
        load_all()
        self.options = options or Options()
        self.outcome = Outcome(target.name, self.options.seed)
        self._started = time.monotonic()
        self._ledgers = [
            Ledger(target.name, folder=self.options.folder)
            for _ in range(_jobs(target, self.options))
        ]
        limit = math.inf if self.options.max_seconds is None else self.options.max_seconds
        lock = threading.Lock()

        def told(finding: Finding) -> None:
            with lock:
                progress(finding)

        first, *others = [
            Lab(
                target=target,
                shape=Shape(base=self.options.under),
                ledger=ledger,
                seed=self.options.seed,
            )
            for ledger in self._ledgers
        ]
        for lab in others:
            lab.share(first)
        self._runner, *self._others = [
            _Runner(lab, self.options, self.outcome, told, self._started + limit)
            for lab in (first, *others)
        ]
        self.plan = Plan(calls=0, latency=0.0, seconds=0.0, max_seconds=limit)

    def start(self) -> None:
        """Determine what the target supports, and create the namespaces to work in.

        Raises:
            CannotRunError: nothing can be checked; the message names the cause.
            InvalidInputError: code 13, a pattern of the options matches no check.
        """
        require_matches((*self.options.only, *self.options.skip))
        lab = self._runner.lab
        listed = _reach(lab)
        claimed = listed if self.options.claimed is None else self.options.claimed
        self.outcome.claimed = claimed
        for runner in (self._runner, *self._others):
            runner.lab.claimed = claimed
            if not self.options.read_only:
                find_shape(runner.lab)
                _require_room(runner.lab)
            runner.prepare()
        # The median: the first calls of a process import modules or open connections.
        self._set_plan(median(lab.durations))

    def _set_plan(self, latency: float) -> None:
        run = [check for check in CHECKS.values() if check.run is not None]
        chosen_checks = [c for c in run if chosen(c, self.options.only, self.options.skip)]
        calls = round(COMPLETE_CALLS * len(chosen_checks) / len(run))
        seconds = calls * latency / (1 + len(self._others))
        limit = self.options.max_seconds
        if limit is None:
            limit = max(LEAST_SECONDS, 2 * seconds)
        self.plan = Plan(calls=calls, latency=latency, seconds=seconds, max_seconds=limit)
        self.outcome.max_seconds = limit
        for runner in (self._runner, *self._others):
            runner.deadline = self._started + limit

    def run_all(self) -> None:
        """Run every check, then evaluate the requirements on all answers."""
        runners = [self._runner, *self._others]
        checks = list(CHECKS.values())
        waiting = iter([check for check in in_run_order(checks) if check.run is not None])
        lock = threading.Lock()

        def work(runner: _Runner) -> None:
            while True:
                with lock:
                    check = next(waiting, None)
                if check is None:
                    return
                runner.add(runner.came_out(check))

        if len(runners) == 1:
            work(self._runner)
        else:
            with ThreadPoolExecutor(len(runners)) as pool:
                for done in [pool.submit(work, runner) for runner in runners]:
                    done.result()
        for other in self._others:
            self._runner.join(other)
        for check in checks:
            if check.run is None:
                self._runner.add(self._runner.came_out(check))
        for runner in runners:
            runner.shorten()
        self._runner.blame()
        order = {check.id: number for number, check in enumerate(checks)}
        self.outcome.findings.sort(key=lambda finding: order[finding.check.id])
        self._estimate()

    def _estimate(self) -> None:
        """Estimate the time that the checks that were not reached need."""
        unreached = len(self.outcome.unreached())
        ran = [f for f in self.outcome.findings if f.seconds]
        if unreached and ran:
            each = sum(finding.seconds for finding in ran) / len(ran)
            self.outcome.more_seconds = unreached * each / (1 + len(self._others))

    def run_one(self, check: Check) -> Finding:
        """Return the result of one check; a check of all answers evaluates those so far."""
        return self._runner.run_one(check)

    def finish(self) -> None:
        """Remove the created objects; the outcome lists those that could not be removed."""
        for runner in (self._runner, *self._others):
            self.outcome.leftovers += clean_up(runner.lab, everything=True, deadline=None)
        for ledger in self._ledgers:
            ledger.close()
        self.outcome.seconds = time.monotonic() - self._started


def _jobs(target: Target, options: Options) -> int:
    """Return the number of concurrent checks: one for a target in another process."""
    return 1 if target.kind == "process" else max(1, options.jobs)


def _reach(lab: Lab) -> frozenset[str] | None:
    """Return the operations that the target claims; None if it does not report them."""
    reply = lab.call("ListOperations")
    if reply.succeeded and isinstance((reply.answer or {}).get("operations"), list):
        return frozenset(map(str, (reply.answer or {})["operations"]))
    probe = lab.call("ListNamespaces", id=list(lab.shape.base), limit=1)
    if probe.broken is not None and probe.exchange is None:
        raise CannotRunError(f"{lab.target.name} cannot be reached: {probe.broken}")
    if probe.no_route:
        other = lab.call("ListTables", id=list(lab.shape.base), limit=1)
        if other.no_route or other.broken is not None:
            raise CannotRunError(
                f"{lab.target.name} is not a Lance namespace: it has no ListNamespaces or ListTables"
            )
    if probe.code in (15, 16) and reply.code in (15, 16):
        raise CannotRunError(f"{lab.target.name} permits no reads: {probe.outcome()}")
    return None


def _require_room(lab: Lab) -> None:
    """Raise CannotRunError if neither a namespace nor a table may be created."""
    first, second = lab.shape.no_namespace, lab.shape.no_table
    if lab.shape.table_parent is not None or first is None or second is None:
        return
    if not all(reply.code in _NOT_HERE for reply in (first, second)):
        return  # a fault of the target, which checks report
    place = "$".join(lab.shape.base) or "the root"
    raise CannotRunError(
        f"{lab.target.name} permits no changes: CreateNamespace in {place} returned "
        f"{first.outcome()}, and {second.step.operation} returned {second.outcome()}; specify a "
        "namespace to work in with --under ID, or use --read-only"
    )


@define
class _Runner:
    lab: Lab
    options: Options
    outcome: Outcome
    progress: Callable[[Finding], None]
    deadline: float
    bystanders: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(factory=list)
    harm: Finding | None = None
    have: frozenset[str] = frozenset()
    """Capabilities of the target that checks can require."""
    lower: dict[str, Finding] = field(factory=dict)
    """Findings of checks that ran early because they are prerequisites of others."""
    long: list[tuple[Failed, str]] = field(factory=list)
    """Failures whose scripts may be shortened, each with the id of its check."""

    def prepare(self) -> None:
        """Create the bystanders and determine the capabilities before the first check."""
        self._place_bystanders()
        self.have = self.lab.shape.capabilities(self.lab.target.kind)

    def join(self, other: _Runner) -> None:
        """Add what another runner observed on the same target."""
        self.lab.seen += other.lab.seen
        self.bystanders += other.bystanders
        self.harm = self.harm or other.harm

    def run_one(self, check: Check) -> Finding:
        """Return the result of one check, with its shortest script."""
        finding = self.came_out(check)
        prepared = finding.result is Result.NOT_REACHED and finding.reply is not None
        if prepared and not self.outcome.failed():
            finding = evolve(finding, result=Result.FAIL, expected=PREPARED)
        self.add(finding)
        self.shorten()
        self.long.clear()
        return self.outcome.findings[-1]

    def came_out(self, check: Check) -> Finding:
        if check.run is None:
            return self._observed(check)
        left_out = self._left_out(check, self.options.only)
        if left_out is not None:
            return left_out
        finding = self.lower.pop(check.id, None) or self._one(check, check.run)
        return self._reached(finding)

    def _reached(self, finding: Finding) -> Finding:
        """Return a failure as not reached if a prerequisite of its check did not pass, either."""
        if finding.result is not Result.FAIL:
            return finding
        for id in stands_on(finding.check.id):
            lower = self._lower(CHECKS[id])
            if lower.result is Result.FAIL:
                got = f"{id} failed: expected {lower.expected}; got: {lower.got}"
                return evolve(finding, result=Result.NOT_REACHED, expected="", got=got)
            if lower.result is Result.NOT_REACHED and lower.reply is not None:
                got = f"{id} was not reached: {lower.got}"
                return evolve(finding, result=Result.NOT_REACHED, expected="", got=got)
        return finding

    def _lower(self, check: Check) -> Finding:
        """Return the result of a prerequisite, even if the caller did not select it."""
        for finding in self.outcome.findings:
            if finding.check.id == check.id and finding.result is not Result.DISABLED:
                return finding
        if check.id not in self.lower:
            left_out = self._left_out(check, ())
            if left_out is not None or check.run is None:
                return left_out or self._observed(check)
            self.lower[check.id] = self._one(check, check.run)
        return self._reached(self.lower[check.id])

    def add(self, finding: Finding) -> None:
        finding = evolve(finding, setup=tuple(self.lab.setup))
        self.outcome.findings.append(finding)
        self.progress(finding)

    def _left_out(self, check: Check, only: Sequence[str]) -> Finding | None:
        """Return why a check is not run, None if it is; `only` has patterns of checks to run."""
        if not chosen(check, only, self.options.skip):
            return Finding(check=check, result=Result.DISABLED, got="excluded by the caller")
        if check.changes and self.options.read_only:
            return Finding(check=check, result=Result.DISABLED, got="--read-only")
        if time.monotonic() > self.deadline:
            return Finding(check=check, result=Result.NOT_REACHED, got=TIME_UP)
        if self.harm is not None:
            got = f"{BYSTANDER} failed: checks that change objects are not run"
            return Finding(check=check, result=Result.NOT_REACHED, got=got)
        missing = self._missing(check)
        if missing:
            return Finding(check=check, result=Result.SKIP, got=missing)
        return None

    def _one(self, check: Check, run: Callable[[Lab], None]) -> Finding:
        self.lab.begin()
        seen = len(self.lab.seen)
        started = time.monotonic()
        finding = Finding(check=check, result=Result.PASS)
        self.lab.until = self.deadline
        try:
            run(self.lab)
        except Skipped as error:
            finding = Finding(check=check, result=Result.SKIP, got=str(error))
        except TimeUp as error:
            finding = Finding(check=check, result=Result.NOT_REACHED, got=str(error))
        except NotReached as error:
            finding = Finding(
                check=check, result=Result.NOT_REACHED, got=str(error), reply=self.lab.last
            )
        except Failed as error:
            if error.shorter is not None:
                self.long.append((error, check.id))
            finding = Finding(
                check=check,
                result=Result.FAIL,
                expected=error.expected,
                got=error.got,
                reply=error.reply or self.lab.last,
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            finding = self._odd(check, error, self.lab.seen[seen:])
        finally:
            self.lab.until = math.inf
        script = tuple(self.lab.steps)
        seconds = time.monotonic() - started
        if check.changes:
            self._look_at_bystanders(script)
            if len(self.lab.ledger.to_remove(everything=False)) >= CLEANED_AT_ONCE:
                clean_up(self.lab, everything=False, deadline=time.monotonic() + CLEANING_SECONDS)
        return evolve(finding, script=script, seconds=seconds)

    def _odd(
        self, check: Check, error: Exception, seen: Sequence[tuple[Violation, Reply]]
    ) -> Finding:
        """Return the result of a check that raised an error because of an unexpected answer."""
        reply = self.lab.last
        for violation, of in seen:
            if violation.id.startswith(_OF_FORM):
                return Finding(check=check, result=Result.FAIL, expected=violation.expected,
                               got=violation.got, reply=of)  # fmt: skip
        answered = f"{reply.step.operation} returned {reply.outcome()}" if reply else "no answer"
        got = (
            f"{answered}, which prevents the check from continuing ({type(error).__name__}: "
            f"{error})"
        )
        return Finding(check=check, result=Result.NOT_REACHED, got=got, reply=reply)

    def shorten(self) -> None:
        """Shorten the scripts of failures that have already been reported."""
        for error, id in self.long:
            findings = self.outcome.findings
            number = next((n for n, f in enumerate(findings) if f.check.id == id), None)
            if (
                number is None
                or error.shorter is None
                or findings[number].result is not Result.FAIL
            ):
                continue
            deadline = max(self.deadline, time.monotonic() + LEAST_SHORTENING_SECONDS)
            shorter = error.shorter(min(deadline, time.monotonic() + SHORTENING_SECONDS))
            findings[number] = evolve(
                findings[number],
                expected=shorter.expected,
                got=shorter.got,
                reply=shorter.reply or self.lab.last,
                script=tuple(self.lab.steps),
            )

    def _missing(self, check: Check) -> str:
        lacking = sorted(check.capabilities - self.have)
        claimed = self.lab.claimed
        if claimed is not None:
            lacking += [f"{o} (not claimed)" for o in check.operations if o not in claimed]
        return "needs " + ", ".join(lacking) if lacking else ""

    def _observed(self, check: Check) -> Finding:
        if check.id == BYSTANDER:
            passed = Result.PASS if self.bystanders else Result.SKIP
            return self.harm or Finding(check=check, result=passed)
        if not chosen(check, self.options.only, self.options.skip):
            return Finding(check=check, result=Result.DISABLED, got="excluded by the caller")
        if check.id == CLAIMED:
            return self._claimed(check)
        for violation, reply in self.lab.seen:
            if violation.id == check.id:
                return Finding(
                    check=check,
                    result=Result.FAIL,
                    expected=violation.expected,
                    got=violation.got,
                    reply=reply,
                    script=(reply.step,),
                )
        if "http" in check.capabilities and self.lab.target.kind != "http":
            return Finding(check=check, result=Result.SKIP, got="needs http")
        if check.id.startswith("LN-SCHEMA-"):
            operation = check.requirement.split()[3]
            if operation not in self.lab.answered:
                return Finding(check=check, result=Result.SKIP, got=f"no response to {operation}")
        return Finding(check=check, result=Result.PASS)

    def _claimed(self, check: Check) -> Finding:
        """Return whether every operation that is claimed and was called succeeded at least once."""
        lab = self.lab
        if lab.claimed is None:
            return Finding(check=check, result=Result.SKIP, got="no operations are claimed")
        for operation, reply in lab.turned_down.items():
            if operation in lab.claimed and operation not in lab.worked:
                return Finding(
                    check=check,
                    result=Result.FAIL,
                    expected=f"{operation} to succeed at least once, because it is claimed",
                    got=reply.outcome(),
                    reply=reply,
                    script=(reply.step,),
                )
        return Finding(check=check, result=Result.PASS)

    def blame(self) -> None:
        """If no check failed, fail the first check whose preparation failed."""
        findings = self.outcome.findings
        prepared = [f for f in findings if f.result is Result.NOT_REACHED and f.reply is not None]
        if prepared and not self.outcome.failed():
            first = findings.index(prepared[0])
            findings[first] = evolve(prepared[0], result=Result.FAIL, expected=PREPARED)
            self.progress(findings[first])

    # --- objects of others

    def _place_bystanders(self) -> None:
        """Create objects that no check changes, and record their state."""
        if self.options.read_only:
            return
        lab = self.lab
        for kind, make, read in (
            ("namespace", lab.new_namespace, "DescribeNamespace"),
            ("table", lab.any_table, "DescribeTable"),
        ):
            try:
                identifier = make()
            except (Skipped, NotReached):
                continue
            lab.ledger.keep(kind, tuple(identifier))
            reply = lab.call(read, id=identifier)
            if reply.succeeded:
                self.bystanders.append((read, {"id": identifier}, _lasting(reply)))

    def _look_at_bystanders(self, script: Sequence[Step]) -> None:
        for operation, request, before in self.bystanders:
            reply = self.lab.call(operation, **request)
            if reply.broken is not None or reply.code in (15, 16, 17, 18, 21):
                continue  # not an answer about the object
            if not reply.succeeded or _lasting(reply) != before:
                self.harm = Finding(
                    check=CHECKS[BYSTANDER],
                    result=Result.FAIL,
                    expected=f"{request['id']} to remain unchanged: {before}",
                    got=reply.outcome(),
                    reply=reply,
                    script=tuple(script),
                )


def _lasting(reply: Reply) -> dict[str, Any]:
    """Return the values of an object that stay the same unless a call changes them."""
    answer = reply.answer or {}
    return {key: answer[key] for key in ("location", "properties") if answer.get(key)}
