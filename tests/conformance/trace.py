"""Records the calls of each check on a correct target, to run a fault only on checks it affects.

``python -m tests.conformance.trace [--workers N] [--match TEXT] [--out FILE]`` runs every fault and
prints those that no check catches. With ``--explorer CALLS``, it runs only random sequences on every
wrong namespace, handwritten and generated, and prints which are caught and after how many calls.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import multiprocessing
import pickle
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.conformance import lab as lab_module
from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.explorer import explore
from lance_namespace_impls.conformance.lab import Failed, Lab, Target
from lance_namespace_impls.conformance.ledger import MARK
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import CHECKS, Result
from lance_namespace_impls.conformance.run_order import in_run_order
from lance_namespace_impls.conformance.runner import (
    CannotRunError,
    Finding,
    Options,
    Session,
)
from lance_namespace_impls.conformance.scenarios import load_all

from .targets import memory
from .wrong.mechanical import Fault
from .wrong.python import Act, WrongTarget

__all__ = ["Trace", "affected", "caught", "copied", "record", "target_of"]

SEED = 3


def target_of(kind: str, folder: Path) -> PythonTarget:
    """Return a correct target: ``mixed``, or ``managed``, whose catalog manages table versions."""
    if kind == "managed":
        return PythonTarget(connect("memory", {"root": str(folder), "managed": "true"}), "wrong")
    return PythonTarget(memory(folder, "mixed"), "wrong")


@define
class Recorder:
    """A target that records the calls of another target and their replies."""

    target: Target
    calls: list[tuple[Step, Reply]] = field(factory=list)

    @property
    def kind(self) -> str:
        return self.target.kind

    @property
    def name(self) -> str:
        return self.target.name

    def call(self, step: Step) -> Reply:
        reply = self.target.call(step)
        self.calls.append((step, reply))
        return reply

    def close(self) -> None:
        self.target.close()


@frozen
class Trace:
    """The calls of each check on a correct target, and the duration of each check."""

    calls: dict[str, list[tuple[Step, Reply]]]
    seconds: dict[str, float]
    operations: dict[str, set[str]]
    """The operations that each check calls."""
    benches: dict[str, dict[str, Any]] = field(factory=dict)
    """State of the bench before each check that passed."""
    left: list[Any] = field(factory=list)
    """Objects that still existed after the run."""

    def touched(self, fault: Fault) -> list[str]:
        """Return the checks with a call that a fault changes, fastest first."""
        found = []
        for id, calls in self.calls.items():
            if fault.operation in OPERATIONS and fault.operation not in self.operations[id]:
                continue
            if fault.tells and id.startswith("LN-ORDER"):
                continue  # concurrent calls have no order, so no answer can be stale
            # No early exit: whether an answer is stale depends on all earlier calls.
            if sum(fault.touches(*call) for call in calls):
                found.append(id)
        return sorted(found, key=self.seconds.__getitem__)


def record(kind: str, skip: Iterable[str] = ()) -> Trace:
    """Record all calls of every check on a correct target.

    Calls that are normally concurrent are made sequentially, so that their order is fixed.

    Args:
        kind: the kind of target, see `target_of`.
        skip: patterns of checks to skip.
    """
    load_all()
    calls: dict[str, list[tuple[Step, Reply]]] = {}
    seconds: dict[str, float] = {}
    benches: dict[str, dict[str, Any]] = {}
    at_once, lab_module.AT_ONCE = lab_module.AT_ONCE, 1
    try:
        with tempfile.TemporaryDirectory(prefix="lns-") as folder:
            recorder = Recorder(target_of(kind, Path(folder)))
            session = Session(recorder, Options(skip=tuple(skip), seed=SEED, max_seconds=1200))
            lab = session._runner.lab
            lab.ledger.prefix = f"{MARK}00000000"
            session.start()
            calls["start"], seconds["start"] = recorder.calls, 0.0
            for check in in_run_order(CHECKS.values()):
                if check.run is not None:
                    recorder.calls = []
                    before = bench_of(lab)
                    finding = session.run_one(check)
                    told = check.id, finding.expected, finding.got
                    assert finding.result is not Result.FAIL, told
                    calls[check.id], seconds[check.id] = recorder.calls, finding.seconds
                    if finding.result is Result.PASS:
                        benches[check.id] = before
            session.finish()
    finally:
        lab_module.AT_ONCE = at_once
    called = {id: {step.operation for step, _ in made} for id, made in calls.items()}
    return Trace(calls, seconds, called, benches, session.outcome.leftovers)


def bench_of(lab: Lab) -> dict[str, Any]:
    """Return the state of a bench, except its target and the calls of the last check."""
    held = {
        "shape": lab.shape, "ledger": lab.ledger, "claimed": lab.claimed, "seed": lab.seed,
        "answered": lab.answered, "worked": lab.worked, "takes_null": lab.takes_null,
        "told": lab.told, "shared": lab._shared, "transactions": lab._transactions,
    }  # fmt: skip
    return copied(held)


def copied(bench: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a bench state, so that a check cannot change the state of another check."""
    found = {key: copy.copy(value) for key, value in bench.items()}
    found["told"] = copy.deepcopy(bench["told"])
    ledger = found["ledger"]
    ledger.entries, ledger.kept = dict(ledger.entries), set(ledger.kept)
    return found


class Caught(Exception):
    """A check failed."""


def _stop(finding: Finding) -> None:
    if finding.result is Result.FAIL:
        raise Caught(finding.check.id)


class _OtherCall(Exception):
    """A fault made another call than the recorded one."""


class _Recorded:
    """A target that knows one call."""

    kind = name = "recorded"

    def __init__(self, step: Step, reply: Reply) -> None:
        self.step, self.reply = step, reply

    def call(self, step: Step) -> Reply:
        if step != self.step:
            raise _OtherCall
        return self.reply

    def close(self) -> None:
        """Do nothing, since no resource is open."""


def affected(act: Act, trace: Trace) -> Iterator[str]:
    """Yield the checks with a call that an act may answer otherwise, fastest first."""
    for id in sorted(trace.benches, key=trace.seconds.__getitem__):
        calls = trace.calls[id]
        target = WrongTarget(_Recorded(*calls[0]), act) if calls else None
        if target and any(_changes(target, *call) for call in calls):
            yield id


def _changes(target: WrongTarget, step: Step, reply: Reply) -> bool:
    target.correct = _Recorded(step, reply)
    try:
        found = target.act(target, step)
    except (
        _OtherCall,
        ArithmeticError,
        AttributeError,
        LookupError,
        NotImplementedError,
        OSError,
        TypeError,
        ValueError,
    ):
        return True  # most faults cannot go on without the state of a server
    return found is not None and found is not reply and found != reply


def caught(target: Target, ids: Iterable[str]) -> str | None:
    """Return the first of the given checks, or of the invariants of all answers, that fails."""
    session = Session(target, Options(seed=SEED, max_seconds=120), _stop)
    try:
        session.start()
        for id in ids:
            if id != "start":
                session.run_one(CHECKS[id])
        for check in CHECKS.values():
            if check.run is None:
                session.run_one(check)
    except Caught as error:
        return str(error)
    except CannotRunError as error:
        return f"cannot run: {error}"
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return f"start: {error!r}"
    return None


def touched(fault: Fault, traces: dict[str, Trace]) -> dict[str, list[str]]:
    """Return the checks that a fault affects, by kind of target; kinds without any are omitted."""
    found = {kind: trace.touched(fault) for kind, trace in traces.items()}
    return {kind: ids for kind, ids in found.items() if ids}


def verdict(fault: Fault, checks: dict[str, list[str]]) -> tuple[str, str]:
    """Return the result of a fault with details.

    The result is ``caught`` with the check, ``missed`` with the number of checks, or ``not shown``.
    """
    asked = 0
    for kind, ids in checks.items():
        with tempfile.TemporaryDirectory(prefix="lns-") as folder:
            target = WrongTarget(target_of(kind, Path(folder)), fault.act)
            found = caught(target, ids)
        if found is not None:
            return "caught", found
        if not fault.tells or target.memory.get("wrong"):
            asked += len(ids)
    return ("missed", f"{asked} checks") if asked else ("not shown", "")


# --- the explorer alone


@frozen
class Explored:
    """How the explorer alone fares with a wrong namespace."""

    set: str
    name: str
    result: str
    """``caught``, ``missed``, ``not touched`` if the fault changes no reply, or ``raised``."""
    calls: int
    """Number of calls until it was caught, or of all calls."""
    by: str = ""

    def line(self) -> str:
        """Return the fields, separated by tabs."""
        return f"{self.result}\t{self.set}/{self.name}\t{self.calls}\t{self.by}"


class _Spent(Exception):
    """The permitted calls are used up."""


@define
class _Counted:
    """A target that accepts a limited number of calls, and stops at the first wrong answer."""

    target: Target
    most: int
    lab: Lab | None = None
    calls: int = 0

    @property
    def kind(self) -> str:
        return self.target.kind

    @property
    def name(self) -> str:
        return self.target.name

    def call(self, step: Step) -> Reply:
        if self.lab is not None and self.lab.seen:
            violation, _ = self.lab.seen[0]
            raise Caught(f"{violation.id}: {violation.expected}; got {violation.got}")
        if self.calls >= self.most:
            raise _Spent
        self.calls += 1
        return self.target.call(step)

    def close(self) -> None:
        self.target.close()


def _start(target: Target, seed: int) -> Session:
    session = Session(target, Options(seed=seed, max_seconds=1200))
    session._runner.lab.ledger.prefix = f"{MARK}{seed:08}"
    session.start()
    return session


def explored_once(target: Target, seed: int, most: int) -> tuple[str | None, int]:
    """Return the explorer's first finding, None if there is none, and the number of its calls.

    Args:
        target: target of the calls.
        seed: seed of the random sequences.
        most: maximum number of calls, including those that prepare and clean up.
    """
    counted = _Counted(target, most)
    try:
        session = _start(counted, seed)
        counted.lab = session._runner.lab
        for number in itertools.count():
            explore(counted.lab, seed * 1000 + number, 10_000)
    except (Caught, Failed) as error:
        return str(error), counted.calls
    except _Spent:
        pass
    except CannotRunError as error:
        return f"cannot run: {error}", counted.calls
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
    ) as error:
        return f"raised: {error!r}", counted.calls
    return None, counted.calls


@cache
def _explored_calls(kind: str, seed: int, most: int) -> list[tuple[Step, Reply]]:
    """Return the calls of the explorer on a correct target."""
    with _folder() as folder:
        recorder = Recorder(target_of(kind, Path(folder)))
        found, _ = explored_once(recorder, seed, most)
    assert found is None, found
    return recorder.calls


def _folder() -> tempfile.TemporaryDirectory[str]:
    memory = "/dev/shm"  # a file system in memory: the faults are not about storage
    return tempfile.TemporaryDirectory(
        prefix="lns-", dir=memory if Path(memory).is_dir() else None, ignore_cleanup_errors=True
    )


def _may_change(act: Act, calls: list[tuple[Step, Reply]]) -> bool:
    target = WrongTarget(_Recorded(*calls[0]), act)
    return any(_changes(target, *call) for call in calls)


def explored(set: str, name: str, most: int, seeds: Iterable[int]) -> Explored:
    """Return how the explorer alone fares with a wrong namespace of a set."""
    kind, act = wrong_namespaces()[set][name]
    calls = 0
    touched = False
    for seed in seeds:
        if not _may_change(act, _explored_calls(kind, seed, most)):
            calls += most
            continue
        touched = True
        with _folder() as folder:
            target = WrongTarget(target_of(kind, Path(folder)), act)
            found, made = explored_once(target, seed, most)
        calls += made
        if found is not None:
            result = "raised" if found.startswith("raised") else "caught"
            return Explored(set, name, result, calls, found.replace("\n", " ")[:200])
    return Explored(set, name, "missed" if touched else "not touched", calls)


@cache
def wrong_namespaces() -> dict[str, dict[str, tuple[str, Act]]]:
    """Return the sets of wrong namespaces: each name with a kind of target and its act."""
    from . import test_fresh_wrong as fresh
    from . import test_wrong  # noqa: F401 - registers its faults
    from .wrong.python import WRONG
    from .wrong.sets import FAULTS, left_open
    from .wrong.values import VALUES

    def of(acts: dict[str, Act], kind: str = "mixed") -> dict[str, tuple[str, Act]]:
        return {name: (kind, act) for name, act in acts.items()}

    made = {
        f"{how.__name__} {operation} {key}": how(operation, key)
        for how, operation, key in fresh.MADE
    }
    return {
        "handwritten": of({name: wrong.act for name, wrong in WRONG.items()}),
        "fresh": of(fresh.FRESH),
        "habits": of(fresh.HABITS),
        "sentences": of(fresh.SENTENCES),
        "values": of(VALUES),
        "managed": of(fresh.MANAGED, "managed"),
        "stale": of(made),
        "mechanical": of({n: fault.act for n, fault in FAULTS.items() if not left_open(n)}),
    }


def _explored_one(job: tuple[str, str, int, int]) -> Explored:
    set, name, most, seeds = job
    return explored(set, name, most, range(seeds))


def _summary(found: list[Explored]) -> str:
    """Return the number of caught namespaces per set, and the calls needed."""
    lines = []
    for set in sorted({each.set for each in found}):
        those = [each for each in found if each.set == set]
        number = sum(each.result == "caught" for each in those)
        lines.append(f"{set}: {number} of {len(those)} caught")
    calls = sorted(each.calls for each in found if each.result == "caught")
    if len(calls) > 1:
        most = statistics.quantiles(calls, n=10)[-1]
        lines.append(f"calls: median {statistics.median(calls):.0f}, 90 % {most:.0f}")
    return "\n".join(lines)


def _explore_all(given: argparse.Namespace) -> int:
    known = {line.split("\t")[1] for path in given.known for line in path.read_text().splitlines()}
    jobs = []
    for set, names in wrong_namespaces().items():
        chosen = list(names)[:: given.every if set == "mechanical" else 1]
        jobs += [
            (set, name, given.explorer, given.seeds)
            for name in chosen
            if (not given.match or any(m in f"{set}/{name}" for m in given.match))
            and f"{set}/{name}" not in known
        ]
    random.Random(SEED).shuffle(jobs)
    until = time.monotonic() + given.seconds
    found: list[Explored] = []
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for each in pool.imap_unordered(_explored_one, jobs):
            found.append(each)
            if given.out:
                with given.out.open("a") as file:
                    file.write(each.line() + "\n")
            if time.monotonic() > until:
                pool.terminate()
                break
    print(f"{len(found)} of {len(jobs)} wrong namespaces\n{_summary(found)}", flush=True)
    return 0


_TRACES: dict[str, Trace] = {}
"""Traces of this process. Each worker loads them, since forking a process that used Lance hangs."""


def _one(name: str) -> tuple[str, str, str, float]:
    from .wrong.sets import FAULTS

    started = time.monotonic()
    checks = touched(FAULTS[name], _TRACES)
    result, by = verdict(FAULTS[name], {kind: ids[: _MOST[0]] for kind, ids in checks.items()})
    return name, result, by, time.monotonic() - started


_MOST: list[int | None] = [None]


def _begin(path: str, most: int | None) -> None:
    _MOST[0] = most
    _TRACES.update(pickle.loads(Path(path).read_bytes()))
    load_all()


def main(arguments: list[str]) -> int:
    """Print the faults that are not caught; return 1 if there are any."""
    from .wrong.sets import FAULTS, left_open

    parser = argparse.ArgumentParser(prog="python -m tests.conformance.trace")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--most", type=int, help="checks a fault at most")
    parser.add_argument("--traces", type=Path, help="where traces are kept, read if they are there")
    parser.add_argument("--known", type=Path, action="append", default=[])
    parser.add_argument("--explorer", type=int, help="calls per seed of the explorer alone")
    parser.add_argument("--seeds", type=int, default=2, help="seeds of the explorer")
    parser.add_argument("--every", type=int, default=1, help="step of a sample of generated faults")
    parser.add_argument("--seconds", type=float, default=86_400, help="time limit of the explorer")
    given = parser.parse_args(arguments)
    if given.explorer:
        return _explore_all(given)
    known = {line.split("\t")[1] for path in given.known for line in path.read_text().splitlines()}
    names = [
        n
        for n in FAULTS
        if n not in known
        and not left_open(n)
        and (not given.match or any(m in n for m in given.match))
    ]
    counts: dict[str, int] = {}
    lines: list[str] = []
    random.Random(SEED).shuffle(names)
    kept = given.traces or Path(tempfile.mkdtemp(prefix="lns-")) / "traces"
    if not kept.exists():
        kept.write_bytes(pickle.dumps({kind: record(kind) for kind in ("mixed", "managed")}))
    with (
        multiprocessing.get_context("spawn").Pool(
            given.workers, _begin, (str(kept), given.most), maxtasksperchild=400
        ) as pool,
    ):
        for name, result, by, seconds in pool.imap_unordered(_one, names):
            counts[result] = counts.get(result, 0) + 1
            lines.append(f"{result}\t{name}\t{by}\t{seconds:.1f}")
            if given.out:
                given.out.write_text("\n".join(lines) + "\n")
            if result != "caught":
                print(f"{result}: {name} ({by})", flush=True)
    print(f"{len(names)} faults: {counts}", flush=True)
    return 1 if set(counts) - {"caught"} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
