"""Random sequences of calls, guided by coverage, against the oracle.

Each step of a sequence is the least covered of a few random moves. Coverage is counted per kind of
call: pairs of the class of a field with that of another field, the result that the oracle expects,
the state of the table or its last change. So a run covers pairs of a change and a later call that
random choice rarely hits.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from attrs import define, field

from .cleaning import CLEANING_SECONDS, clean_up
from .exchange import Step
from .lab import Failed, Lab, NotReached, Skipped
from .oracle import Call, Outcome, Refused
from .player import KINDS, LISTINGS, NAMES, Move, Player
from .pools import DELIMITERS, FAMILIES, NESTED, VALUES, is_plain

__all__ = ["explore", "kind_of", "shrink"]

MOVES = 40
CANDIDATES = 12
REFUSED_WEIGHT = 0.6
"""Weight of moves that must fail: they change nothing that later moves could meet."""
FEW_KINDS = 20
"""Number of kinds of moves that a sequence is drawn from, besides `ALWAYS`."""
ALWAYS = ("create", "make", "InsertIntoTable", "QueryTable")
Kind = tuple[Any, ...]


def kind_of(player: Player, call: Call, outcome: Outcome) -> frozenset[Kind]:
    """Return the kinds of a call: its pairs of operation, field, expected result and last change.

    Pairs, not products: few calls then reach most kinds.
    """
    if not call.request.get("id"):
        return frozenset({(call.operation, "root")})
    codes = tuple(sorted(outcome.codes)) if isinstance(outcome, Refused) else "granted"
    identifier = tuple(call.request["id"])
    change = player.changed.get(identifier)
    siblings = sum(
        other[:-1] == identifier[:-1] and other != identifier for other in player.tree.tables
    )
    name = player.family, player.short_name(identifier), siblings > 0
    classes = [(key, _class(key, value)) for key, value in call.request.items() if key != "id"]
    if call.rows is not None:
        rows = len(call.rows)
        parts = call.rows.batch_rows is not None and call.rows.batch_rows < rows
        classes += [
            ("columns of rows", tuple(call.rows.columns)),
            ("rows", (min(rows, 20), parts, call.rows.fault)),
        ]
    dataset = player.tree.dataset_of(identifier)
    state: Kind = ("no data",)
    if dataset is not None:
        state = (bool(dataset.tags), len(dataset.branches), bool(dataset.main.head.indices))
    elif identifier not in player.tree.tables:
        state = (identifier in player.tree.namespaces,)
    operation = call.operation
    kinds: set[Kind] = {
        (operation, codes, change), (operation, codes, state), (operation, name, codes == "granted"),
    }  # fmt: skip
    for number, first in enumerate(classes):
        kinds |= {(operation, first, codes), (operation, first, change), (operation, first, state)}
        kinds |= {(operation, first, second) for second in classes[number + 1 :]}
    return frozenset(kinds)


_WORD = re.compile(r"\b[A-Z]+\b|<>|<=|>=|[<>=]")


def _class(key: str, value: Any) -> Any:
    match key, value:
        case (("mode" | "behavior" | "index_type"), str()):
            return value.replace("_", "").lower()
        case (("properties" | "set_properties"), Mapping()):
            first_two = list(value.values())[:2]
            return tuple(VALUES.index(text) if text in VALUES else -1 for text in first_two)
        case (("predicate" | "filter"), str()):
            return tuple(_WORD.findall(value))
        case "columns", list():  # names that differ only in case
            return tuple(name for name in value if name.lower() in ("b", "name"))
        case "new_table_name", str():
            return is_plain(value)
        case _, bool():
            return value
        case (("version" | "limit" | "k" | "offset"), int()):
            return max(-1, min(value, 4)) if value < 900 else value
        case _, Mapping():
            return tuple(sorted(value))
        case _, list():
            return min(len(value), 3)
    return value is not None


@define
class _Explorer:
    """Chooses the moves of sequences and plays them."""

    lab: Lab
    chance: random.Random
    seen: Counter[Kind] = field(factory=Counter)
    """Number of calls of each kind."""
    kinds: list[str] = field(factory=list)
    """Kinds of the moves of the current sequence, each as often as its weight."""
    moves: list[Move] = field(factory=list)
    """Moves of the current sequence."""

    def play(self) -> None:
        """Play a sequence.

        Raises:
            Failed: an answer differs from the oracle's.
        """
        player = Player(self.lab)
        self.moves = []
        family, delimiter = self.chance.choice(tuple(FAMILIES)), self.chance.choice(DELIMITERS)
        self._play(player, Move("names", family, delimiter))
        nested = NESTED if self.lab.shape.namespace_parent is not None else ()
        names = self.chance.choice((NAMES, NAMES[:1], NAMES[:2], (*NAMES[:2], *nested)))
        # Few kinds of moves per sequence: they meet on the same objects more often.
        few = self.chance.sample(sorted(set(KINDS)), FEW_KINDS)
        self.kinds = [kind for kind in KINDS if kind in (*few, *ALWAYS)]
        if self.chance.randrange(5):  # most calls need a table and a namespace
            self._play(player, Move("make", "a", number=self.chance.randrange(100_000)))
            self._play(player, Move("create", names[0], number=self.chance.randrange(100_000)))
        for _ in range(MOVES):
            self._play(player, self._next(player, names))
        player.sweep()

    def _play(self, player: Player, move: Move) -> None:
        self.moves.append(move)
        player.make(move)

    def _next(self, player: Player, names: Sequence[str]) -> Move:
        """Return the random move with the most kinds that are rare; if none, create a table."""
        found: list[tuple[float, frozenset[Kind], Move]] = []
        for _ in range(CANDIDATES):
            move = Move(
                self.chance.choice(self.kinds),
                self.chance.choice(names),
                self.chance.choice(names),
                self.chance.randrange(100_000),
            )
            kinds, granted = self._kinds(player, move)
            if kinds:
                # The sum is exact: it must not depend on the order of a set, which is random.
                rarity = math.fsum((1 + self.seen[kind]) ** -2 for kind in kinds)
                rarity /= len(kinds) ** 0.5
                found.append((rarity * (1 if granted else REFUSED_WEIGHT), kinds, move))
        if not found:
            return Move("create", names[0], number=self.chance.randrange(100_000))
        _, kinds, move = max(found, key=lambda each: each[0])
        self.seen.update(kinds)
        return move

    def _kinds(self, player: Player, move: Move) -> tuple[frozenset[Kind], bool]:
        """Return the kinds of a move, none if it is impossible, and whether it should succeed."""
        if move.kind in LISTINGS:
            last = list(player.changed.values())[-1:]
            return frozenset({(move.kind, move.number % 5, *last)}), True
        call = player.draw(move)
        if call is None:
            return frozenset(), False
        outcome = player.tree.expect(call)
        return kind_of(player, call, outcome), not isinstance(outcome, Refused)


def explore(lab: Lab, seed: int, sequences: int) -> None:
    """Play random sequences.

    Raises:
        Failed: an answer differs from the oracle's; it can be shrunk to its shortest script.
    """
    explorer = _Explorer(lab, random.Random(seed))
    for _ in range(sequences):
        lab.steps = []
        try:
            explorer.play()
        except Failed as error:
            failure = error, list(lab.steps)
            error.shorter = partial(shrink, lab, explorer.moves, failure)
            raise
        except (Skipped, NotReached):
            continue
        finally:
            clean_up(lab, everything=False, deadline=time.monotonic() + CLEANING_SECONDS)


def _failure(lab: Lab, moves: Sequence[Move]) -> tuple[Failed, list[Step]] | None:
    lab.steps = []
    try:
        Player(lab).play(moves)
    except Failed as error:
        return error, list(lab.steps)
    except (Skipped, NotReached):
        return None
    finally:
        clean_up(lab, everything=False, deadline=time.monotonic() + CLEANING_SECONDS)
    return None


def shrink(
    lab: Lab, moves: list[Move], failure: tuple[Failed, list[Step]], deadline: float
) -> Failed:
    """Return the failure of the shortest part of a sequence found in time that still fails."""
    size = max(1, len(moves) // 2)
    while size and time.monotonic() < deadline:
        start = 0
        while start < len(moves) and time.monotonic() < deadline:
            shorter = moves[:start] + moves[start + size :]
            found = _failure(lab, shorter)
            if found is None:
                start += size
            else:
                moves, failure = shorter, found
        size //= 2
    error, lab.steps = failure
    return error
