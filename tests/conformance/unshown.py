"""Explains why some generated faults are not triggered by any call.

Either no namespace here has the behavior, or no check calls it.
``python -m tests.conformance.unshown TRACES`` prints each reason with the number of its faults.
TRACES is the file written by ``python -m tests.conformance.trace --traces TRACES``.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attrs import define, field

from lance_namespace_client.operations import OPERATIONS

from .trace import Trace, touched
from .wrong.fields import ANSWER_FIELDS, REQUEST_FIELDS, Field, held
from .wrong.mechanical import Fault

__all__ = ["Seen", "unshown"]

_FIELDS: dict[str, Field] = {
    **{f"{each.operation} request {each.name}": each for each in REQUEST_FIELDS},
    **{f"{each.operation} answer {each.name}": each for each in ANSWER_FIELDS},
}


@define
class Seen:
    """Operations, codes and fields in the calls and answers of all checks on correct targets."""

    asked: set[str] = field(factory=set)
    worked: set[str] = field(factory=set)
    codes: set[tuple[str, int]] = field(factory=set)
    fields: set[str] = field(factory=set)
    """Fields with a value, as ``Operation request name`` or ``Operation answer name``."""

    @classmethod
    def of(cls, traces: Iterable[Trace]) -> Seen:
        """Return the contents of the given traces."""
        seen = cls()
        by_operation: dict[str, list[tuple[str, Field]]] = {}
        for name, each in _FIELDS.items():
            by_operation.setdefault(each.operation, []).append((name, each))
        for step, reply in (c for trace in traces for calls in trace.calls.values() for c in calls):
            seen.asked.add(step.operation)
            if reply.code is not None:
                seen.codes.add((step.operation, reply.code))
            elif reply.succeeded:
                seen.worked.add(step.operation)
            for name, each in by_operation.get(step.operation, ()):
                form = step.request if " request " in name else reply.answer
                if (
                    name not in seen.fields
                    and form
                    and any(True for _ in held(dict(form), each.path))
                ):
                    seen.fields.add(name)
        return seen


def unshown(fault: Fault, seen: Seen) -> str:
    """Return why no call triggers a fault, given the calls and answers of all checks."""
    operation = fault.operation
    subject, _, kind = fault.name.partition(": ")
    if operation in OPERATIONS and operation not in seen.asked:
        return "no check calls the operation"
    if " code " in subject and operation in OPERATIONS:
        code = int(subject.rpartition(" ")[2])
        if (operation, code) not in seen.codes:
            return f"no namespace here answers it with code {code}"
        return "the answer is the same with that code"
    if operation in OPERATIONS and operation not in seen.worked:
        return "no namespace here carries the operation out"
    if subject in _FIELDS and subject not in seen.fields:
        if " answer " in subject:
            return "no answer here has the field"
        return "no check gives the field"
    if subject in _FIELDS:
        return f"every value there is the same: {kind}"
    return "its effect comes about in no call here"


def main(arguments: list[str]) -> int:
    """Print the number of faults that no call triggers, by reason."""
    from .wrong.sets import FAULTS, left_open

    traces: dict[str, Trace] = pickle.loads(Path(arguments[0]).read_bytes())
    seen = Seen.of(traces.values())
    reasons: dict[str, list[str]] = {}
    for name, fault in FAULTS.items():
        if not left_open(name) and not touched(fault, traces):
            reasons.setdefault(unshown(fault, seen), []).append(name)
    for reason, names in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        of = Counter(name.partition(" ")[0] for name in names)
        shown = ", ".join(f"{operation} {count}" for operation, count in of.most_common(4))
        print(f"{len(names):5}  {reason} ({shown})")
    print(f"{sum(map(len, reasons.values())):5}  faults that no call brings about")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
