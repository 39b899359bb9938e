"""Calls at once: is there one order, in which they might have come, that explains all answers?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from .exchange import Reply
from .lab import Failed, Lab
from .oracle import Call, Tree
from .player import known_of, settle, step_of

__all__ = ["explain", "start"]

_TRY_AGAIN = (14, 17, 21)
"""Codes that ask the caller to try again; the call had no effect."""


def start(lab: Lab, calls: Sequence[Call]) -> Tree:
    """Return the model of what is there after calls that are made one after another.

    Raises:
        Failed: an answer is not what the model expects.
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
    """Judge calls that were made at once by their answers and by what is there afterwards.

    Args:
        lab: the bench.
        tree: what was there before.
        calls: the calls, made at once.
        replies: the answer to each.
        reads: what to look at afterwards.

    Raises:
        Failed: no order of the calls explains what came.
    """
    for dataset in tree.datasets.values():
        # A version in an answer may be the one that another call has made meanwhile.
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
    raise Failed(f"an order of {names} that explains all answers", "; ".join(shown), replies[-1])


def _content(reply: Reply) -> str:
    return reply.outcome() if reply.rows is None else str(reply.rows.to_pylist())[:300]


def _orders(tree: Tree, calls: Sequence[Call], replies: Sequence[Reply]) -> Iterator[Tree]:
    """Return what is there after each order that explains the answers."""
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
