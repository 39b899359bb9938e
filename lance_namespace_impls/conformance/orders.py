"""Concurrent calls: is there a sequential order that explains all replies?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

from .exchange import Reply, Step
from .lab import Failed, Lab, Skipped
from .oracle import Call, Tree
from .player import known_of, settle, step_of

__all__ = ["at_once", "explain", "start"]

_TRY_AGAIN = (14, 17, 21)
"""Codes that ask the caller to retry; the call had no effect."""


def at_once(lab: Lab, steps: list[Step]) -> list[Reply]:
    """Return the replies to calls that are sent concurrently."""
    if lab.target.kind == "process":
        raise Skipped("the interpreter runs one call at a time")
    for step in steps:
        lab.prepare(step)
    with ThreadPoolExecutor(len(steps)) as pool:
        replies = list(pool.map(lab.target.call, steps))
    judged = [lab.judge(reply) for reply in replies]
    for step in steps:  # one call may have recreated what another removed
        lab.prepare(step)
    return judged


def start(lab: Lab, calls: Sequence[Call]) -> Tree:
    """Return the model of the state after sequential calls.

    Raises:
        Failed: an answer differs from the model.
        Skipped: the target does not support an operation.
    """
    shape = lab.shape
    held = [parent for parent in (shape.table_parent, shape.namespace_parent) if parent]
    there = {
        parent[:depth]: dict[str, str]() for parent in held for depth in range(1, len(parent) + 1)
    }
    tree = Tree(known_of(lab), there)
    for call in calls:
        step = step_of(call)
        reply = lab.call(step.operation, step.data, **step.request)
        if reply.code == 0:
            lab.must_succeed(reply)
        settle(tree.expect(call), reply)
    return tree


def explain(
    lab: Lab, tree: Tree, calls: Sequence[Call], replies: Sequence[Reply], reads: Sequence[Call]
) -> None:
    """Judge concurrent calls by their replies and the state afterwards.

    Args:
        lab: the bench.
        tree: model of the state before the calls.
        calls: the concurrent calls.
        replies: the reply to each call.
        reads: calls that read the state afterwards.

    Raises:
        Failed: no order of the calls explains the replies and the state.
    """
    for dataset in tree.datasets.values():
        # A version in an answer may be one that another call created concurrently.
        dataset.main.numbered = False
    after = []
    for read in reads:
        step = step_of(read)
        after.append(lab.call(step.operation, step.data, **step.request))
    for ordered in _orders(tree, calls, replies):
        if _fits(ordered, reads, after):
            return
    shown = [f"{reply.step.operation}: {reply.outcome()}" for reply in replies]
    shown += [f"then {reply.step.operation}: {_content(reply)}" for reply in after]
    names = " and ".join(call.operation for call in calls)
    raise Failed(
        f"a serial order of {names} that explains all replies", "; ".join(shown), replies[-1]
    )


def _content(reply: Reply) -> str:
    return reply.outcome() if reply.rows is None else str(reply.rows.to_pylist())[:300]


def _orders(tree: Tree, calls: Sequence[Call], replies: Sequence[Reply]) -> Iterator[Tree]:
    """Return the state after each order that explains the replies."""
    for order in permutations(range(len(calls))):
        after = tree.copy()
        try:
            for number in order:
                if replies[number].code not in _TRY_AGAIN:
                    settle(after.expect(calls[number]), replies[number])
        except Failed:
            continue
        yield after


def _fits(tree: Tree, reads: Sequence[Call], replies: Sequence[Reply]) -> bool:
    after = tree.copy()
    try:
        for read, reply in zip(reads, replies, strict=True):
            settle(after.expect(read), reply)
    except Failed:
        return False
    return True
