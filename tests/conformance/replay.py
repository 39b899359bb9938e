"""Replays recorded answers with one of them altered: the check that receives it must fail.

A check runs once on a correct target while its calls and answers are recorded. It then runs only on
these answers, in milliseconds, with any one of them altered.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.lab import Failed, Lab, NotReached, Skipped
from lance_namespace_impls.conformance.requirement import CHECKS, Check

from .trace import Trace, copied

__all__ = ["Recorded", "alterations"]

MOST_CALLS = 150
"""Checks with more calls are omitted: they make random calls, so a single answer matters little."""
CONCURRENT = ("RACE", "ORDER")
"""Areas of checks that make concurrent calls in an order that differs between runs."""


class UnrecordedCall(Exception):
    """A check made a call that was not recorded."""


CANNOT = (
    UnrecordedCall,
    NotReached,
    Skipped,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
"""Errors raised by a check that cannot continue with an answer; they do not count as a failure."""


@define
class Replay:
    """A target that returns recorded answers."""

    _answers: dict[str, list[Reply]]
    kind: str = "python"
    name: str = "replay"
    _calls: Counter[str] = field(factory=Counter)

    def call(self, step: Step) -> Reply:
        key = _key(step)
        answers = self._answers.get(key, [])
        self._calls[key] += 1
        if self._calls[key] > len(answers):
            raise UnrecordedCall(f"{step.operation} {dict(step.request)}")
        return evolve(answers[self._calls[key] - 1], step=step)

    @property
    def count(self) -> int:
        """Number of calls so far."""
        return self._calls.total()

    def close(self) -> None:
        """Do nothing, since no resource is open."""


def _key(step: Step) -> str:
    return json.dumps([step.operation, step.request], sort_keys=True, default=str)


@frozen
class Recorded:
    """A check, the state of the bench before it ran, and its calls with their answers."""

    check: Check
    bench: dict[str, Any]
    calls: list[tuple[Step, Reply]]

    @classmethod
    def all(cls, trace: Trace) -> list[Recorded]:
        """Return the checks of a recording that can run on recorded answers."""
        return [
            cls(CHECKS[id], bench, trace.calls[id])
            for id, bench in trace.benches.items()
            if len(trace.calls[id]) <= MOST_CALLS and CHECKS[id].area not in CONCURRENT
        ]

    def run(self, altered: int | None = None, reply: Reply | None = None) -> Lab:
        """Run the check on its answers, one of them altered if given, and return the bench.

        Raises:
            Failed: the check rejects the answer.
        """
        answers: dict[str, list[Reply]] = defaultdict(list)
        for number, (step, each) in enumerate(self.calls):
            answers[_key(step)].append(reply if reply and number == altered else each)
        lab = Lab(target=Replay(answers), **copied(self.bench))
        assert self.check.run is not None
        self.check.run(lab)
        return lab

    def is_rejected(self, altered: int, reply: Reply) -> bool:
        """Return whether the check or an invariant of all answers rejects an altered answer."""
        try:
            return bool(self.run(altered, reply).seen)
        except Failed:
            return True
        except CANNOT:
            return False

    def rejects_some(self) -> bool:
        """Return whether the check fails with some altered answer.

        The last answers are altered first, since earlier calls are mostly preparation. Also true if
        the check makes no calls, or if it cannot run on answers alone because it reads the tables
        directly.
        """
        try:
            lab = self.run()
        except CANNOT:
            return True
        # The calls after those of the check itself clean up.
        calls = list(enumerate(self.calls[: lab.target.count]))[::-1]  # type: ignore[attr-defined]
        rounds = zip_longest(
            *([(number, each) for _, each in alterations(reply)] for number, (_, reply) in calls)
        )
        altered = (each for each in chain.from_iterable(rounds) if each is not None)
        return not calls or any(self.is_rejected(*each) for each in altered)


def alterations(reply: Reply) -> Iterator[tuple[str, Reply]]:
    """Yield named wrong answers that can replace a reply."""
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
            continue  # Arrow cannot add float16 values
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            more = pc.add(column, pa.scalar(1, column.type))
            yield f"{name} one more", rows.set_column(number, name, more)
            other = pa.float64() if pa.types.is_integer(column.type) else pa.float32()
            cast = column.cast(other, safe=False)
            yield f"{name} of another type", rows.set_column(number, name, cast)


def _of_value(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield named alterations of a JSON value; each changes the value or one of its parts."""
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
