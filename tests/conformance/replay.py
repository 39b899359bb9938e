"""Answers that were recorded, one of them altered: the check that got it has to refuse it.

Each check is run on a correct target once, and what it was answered is kept. It can then be run on these
answers alone, in a millisecond, with any one of them altered. ``refused.json`` has, for each place of
each check at which it can fail, alterations with which it fails there; the other codes that a failure may
have, with which it passes as well; and the operations that a target may leave out, for which it is skipped.

``python -m tests.conformance.replay [--only LN-TABLE]`` finds them anew, which takes minutes: for a check
that is new or was changed.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import pickle
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from lance_namespace_impls.conformance.checks import load_all
from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.lab import Failed, Lab, NotReached, Skipped
from lance_namespace_impls.conformance.requirement import CHECKS, Check

from .trace import Trace, copied, record

__all__ = [
    "AT_ONCE", "CANNOT", "REFUSED", "SKIPPED", "TAKEN", "Recorded", "alterations", "is_skipped",
    "verdict",
]  # fmt: skip

REFUSED = Path(__file__).with_name("refused.json")
MOST_CALLS = 150
"""Checks with more are left out: those of random calls, whose answers say little one by one."""
AT_ONE_PLACE = 3
"""Alterations that are kept for a place, of other answers or of other kinds; one where a check is slow."""
AT_ONCE = ("RACE", "ORDER")
"""Areas of checks that make calls at once, whose order is another each time."""
SLOW = 0.006
"""Seconds that a check takes which is slow."""
SECONDS = 2.0
"""About how long alterations of the answers to one check are tried."""
ODD = (NotReached, Skipped, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a run takes for a check that cannot go on with what was answered, which is no refusal."""


Table = dict[str, list[Any]]
"""What is known of a check: alterations of its answers that are refused, and those that are taken, each the
number of the call and the name; and the operations for which it is skipped where they are left out.
"""


class Astray(Exception):
    """A check asked what it was not answered when it was recorded."""


@define
class Replay:
    """A target that answers what another was recorded to."""

    _answers: dict[str, list[Reply]]
    kind: str = "python"
    name: str = "replay"
    _given: Counter[str] = field(factory=Counter)

    def call(self, step: Step) -> Reply:
        key = _key(step)
        answers = self._answers.get(key, [])
        self._given[key] += 1
        if self._given[key] > len(answers):
            raise Astray(f"{step.operation} {dict(step.request)}")
        return evolve(answers[self._given[key] - 1], step=step)

    @property
    def asked(self) -> int:
        """How many calls it was asked for."""
        return self._given.total()

    def close(self) -> None:
        """Hold nothing."""


def _key(step: Step) -> str:
    return json.dumps([step.operation, step.request], sort_keys=True, default=str)


@frozen
class Recorded:
    """A check, the bench as it stood before it, and what it was asked and answered."""

    check: Check
    bench: dict[str, Any]
    calls: list[tuple[Step, Reply]]

    @classmethod
    def all(cls, trace: Trace) -> dict[str, Recorded]:
        """Return those checks of a recording that can be run on their answers."""
        return {
            id: cls(CHECKS[id], bench, trace.calls[id])
            for id, bench in trace.benches.items()
            if len(trace.calls[id]) <= MOST_CALLS and CHECKS[id].area not in AT_ONCE
        }

    def run(self, altered: int | None = None, reply: Reply | None = None) -> Lab:
        """Return the bench after the check ran on its answers, one of them another.

        Raises:
            Failed: the check refuses it.
        """
        answers: dict[str, list[Reply]] = defaultdict(list)
        for number, (step, each) in enumerate(self.calls):
            found = reply if number == altered and reply is not None else each
            answers[_key(step)].append(found)
        return self._run(answers, copied(self.bench))

    def run_without(self, operation: str) -> Lab:
        """Return the bench after the check ran where an operation is not supported, and not listed.

        Raises:
            Failed: the check refuses that.
            Skipped: it needs the operation.
        """
        answers: dict[str, list[Reply]] = defaultdict(list)
        for step, reply in self.calls:
            if step.operation == operation:
                reply = evolve(reply, code=0, message="unsupported", answer=None, rows=None)
            answers[_key(step)].append(reply)
        bench = copied(self.bench)
        bench["claimed"] = (bench["claimed"] or frozenset()) - {operation}
        bench["worked"] = bench["worked"] - {operation}
        return self._run(answers, bench)

    def _run(self, answers: dict[str, list[Reply]], bench: dict[str, Any]) -> Lab:
        lab = Lab(target=Replay(answers), **bench)
        assert self.check.run is not None
        self.check.run(lab)
        return lab


CANNOT = (Astray, Failed, *ODD)
"""How a check ends that cannot be run on its answers alone: it looks at the tables itself, which are gone."""


# --- alterations


def alterations(reply: Reply) -> Iterator[tuple[str, Reply]]:
    """Return what an answer may be instead, each by its name."""
    codes: tuple[int, ...] = (13, 18, 4, 1, 5, 2)
    if reply.code is not None:
        yield "success", evolve(reply, code=None, message="", answer={})
        codes += (0, 3, 11, 12, 15, 19, 20)
    for code in codes:
        if reply.code != code:
            yield f"code {code}", evolve(reply, code=code, message="no", answer=None, rows=None)
    if reply.rows is not None:
        for name, rows in _of_rows(reply.rows):
            yield f"rows {name}", evolve(reply, rows=rows)
    if reply.answer is not None:
        for name, answer in _of_value(dict(reply.answer), ""):
            yield f"answer{name}", evolve(reply, answer=answer)
    if reply.code is not None and reply.message:
        yield "no message", evolve(reply, message="")


def _of_rows(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    count = rows.num_rows
    yield "none", rows.slice(0, 0)
    if count:
        yield "without the first", rows.slice(1)
        yield "without the last", rows.slice(0, count - 1)
        yield "the first twice", rows.take([0, *range(count)])
    if count > 1:
        yield "backwards", rows.take(list(range(count))[::-1])
    for number, name in enumerate(rows.column_names):
        yield f"without {name}", rows.remove_column(number)
        names = [*rows.column_names]
        names[number] = f"{name}_"
        yield f"{name} renamed", rows.rename_columns(names)
        column = rows.column(number)
        if not count:
            continue
        yield f"{name} null", rows.set_column(number, name, pa.nulls(count, column.type))
        if pa.types.is_float16(column.type):
            continue  # Arrow adds none
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            more = pc.add(column, pa.scalar(1, column.type))
            yield f"{name} one more", rows.set_column(number, name, more)
            other = pa.float64() if pa.types.is_integer(column.type) else pa.float32()
            cast = column.cast(other, safe=False)
            yield f"{name} of another type", rows.set_column(number, name, cast)


def _of_value(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Return what a value may be instead, itself or in its parts."""
    if isinstance(value, dict):
        if value and path:
            yield f"{path}: empty", {}
        if path and all(isinstance(each, str) for each in value.values()):
            yield f"{path}: one more", {**value, "altered": "1"}
        for key, part in value.items():
            yield f"{path}.{key}: left out", {k: v for k, v in value.items() if k != key}
            for name, other in _of_value(part, f"{path}.{key}"):
                yield name, {**value, key: other}
    elif isinstance(value, list):
        yield f"{path}: empty", []
        if value:
            yield f"{path}: without the first", value[1:]
            yield f"{path}: without the last", value[:-1]
            yield f"{path}: the first twice", [value[0], *value]
            for name, other in _of_value(value[0], f"{path}[0]"):
                yield name, [other, *value[1:]]
        if len(value) > 1:
            yield f"{path}: backwards", value[::-1]
            for name, other in _of_value(value[-1], f"{path}[-1]"):
                yield name, [*value[:-1], other]
        if value and all(isinstance(each, str) for each in value):
            yield f"{path}: one more", [*value, "altered"]
    elif isinstance(value, bool):
        yield f"{path}: the other", not value
    elif isinstance(value, int | float):
        yield f"{path}: one more", value + 1
        yield f"{path}: one less", value - 1
        yield f"{path}: 0", 0
    elif isinstance(value, str):
        yield f"{path}: another", f"{value}x"
        yield f"{path}: no text", ""
    elif value is None:
        yield f"{path}: a text", "altered"


# --- what is refused


TAKEN, SKIPPED = "taken", "skipped without"
"""What `verdict` says of an answer with which a check passes; and where the operations stand."""


def verdict(one: Recorded, number: int, reply: Reply) -> tuple[Any, ...] | str | None:
    """Return where a check refuses an answer, `TAKEN` where it passes, None where it cannot go on.

    A place is each line of the checks on the way to the failure, or the id of a requirement on every
    answer.
    """
    try:
        lab = one.run(number, reply)
    except Failed as error:
        frames = traceback.extract_tb(error.__traceback__)
        return tuple(
            (Path(frame.filename).name, frame.lineno)
            for frame in frames
            if Path(frame.filename).parent.name == "checks"
        )
    except (Astray, *ODD):
        return None
    return lab.seen[0][0].id if lab.seen else TAKEN


def is_skipped(one: Recorded, operation: str) -> bool:
    """Return whether a check is skipped where an operation is left out; False where it fails or goes on."""
    try:
        one.run_without(operation)
    except Skipped:
        return True
    except CANNOT:
        pass
    return False


def found_for(one: Recorded) -> Table:
    """Return what is known of a check: of the alterations that it refuses some for each place.

    Where it would take too long to try all of them, every second, third ... of them is tried.
    """
    started = time.monotonic()
    asked = one.run().target.asked
    alone = time.monotonic() - started
    most = AT_ONE_PLACE if alone < SLOW else 1
    # Those after the last that the check asks for clean up.
    calls = one.calls[:asked]
    every = [(n, *each) for n, (_, reply) in enumerate(calls) for each in alterations(reply)]
    called = sorted({step.operation for step, _ in calls})
    found: Table = {"refused": [], TAKEN: []}
    found[SKIPPED] = [operation for operation in called if is_skipped(one, operation)]
    of_place: dict[Any, set[tuple[int, str]]] = defaultdict(set)
    for number, name, other in every[:: math.ceil(len(every) * alone / SECONDS)]:
        place = verdict(one, number, other)
        kind, few = name, 1 if isinstance(place, str) else most
        if calls[number][1].code is None:  # of a success each code says the same
            kind = name.partition(" ")[0] + name.rpartition(":")[2]
        elif place == TAKEN and other.code is not None:
            found[TAKEN].append((number, name))
        if place in (None, TAKEN):
            continue
        known = of_place[place]
        if len(known) < few and (number, kind) not in known:
            known.add((number, kind))
            found["refused"].append((number, name))
    return found


_RECORDED: dict[str, Recorded] = {}
"""Of this process: each has its own, since a fork of one in which Lance has run hangs."""


def _begin(path: str) -> None:
    load_all()
    _RECORDED.update(Recorded.all(pickle.loads(Path(path).read_bytes())))


def _one(id: str) -> tuple[str, Table | str]:
    try:
        return id, found_for(_RECORDED[id])
    except CANNOT as error:
        return id, str(error)


def _main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.replay")
    parser.add_argument("--only", default="LN-", help="what the ids of the checks begin with")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    table: dict[str, Table] = {}
    if REFUSED.exists():
        kept = json.loads(REFUSED.read_text("utf-8"))
        table = {id: rows for id, rows in kept.items() if not id.startswith(given.only)}
    trace = record("mixed")
    ids = [id for id in Recorded.all(trace) if id.startswith(given.only)]
    with tempfile.TemporaryDirectory(prefix="lns-") as folder:
        path = Path(folder, "trace")
        path.write_bytes(pickle.dumps(trace))
        context = multiprocessing.get_context("spawn")
        with context.Pool(given.workers, _begin, (str(path),)) as pool:
            for done, (id, found) in enumerate(pool.imap_unordered(_one, ids), 1):
                if isinstance(found, str):
                    print(f"{id} is left out: {found}", flush=True)
                elif any(found.values()):
                    table[id] = found
                if done % 100 == 0:
                    print(f"{done} of {len(ids)} checks", flush=True)
    lines = [f" {json.dumps(id)}: {json.dumps(rows)}" for id, rows in sorted(table.items())]
    REFUSED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    for kind in ("refused", TAKEN, SKIPPED):
        print(f"{sum(len(each[kind]) for each in table.values())} {kind}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
