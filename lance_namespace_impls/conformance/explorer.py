"""Random sequences of calls, guided by coverage, against the oracle.

Each step of a sequence is the least covered of a few random moves. Coverage is counted per kind of
call: the operation, the classes of its fields, the result that the oracle expects and the last
change of the object. So a run covers pairs of a change and a later call that random choice rarely
hits.
"""

from __future__ import annotations

import random
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
from .pools import DELIMITERS, FAMILIES, VALUES, is_plain

__all__ = ["explore", "kind_of", "shrink"]

MOVES = 30
CANDIDATES = 8
_KINDS = sorted(set(KINDS))
Kind = tuple[Any, ...]


def kind_of(player: Player, call: Call, outcome: Outcome) -> Kind:
    """Return the kind of a call: calls of one kind are expected to find the same faults."""
    expected = tuple(sorted(outcome.codes)) if isinstance(outcome, Refused) else "granted"
    identifier = tuple(call.request["id"])
    fields = {key: value for key, value in call.request.items() if key != "id"}
    classes = tuple(sorted((key, _class(key, value)) for key, value in fields.items()))
    tables = player.tree.tables
    siblings = sum(other[:-1] == identifier[:-1] and other != identifier for other in tables)
    name = (player.family, player.short_name(identifier), siblings) if siblings else ()
    return call.operation, classes, expected, name, player.changed.get(identifier)


def _class(key: str, value: Any) -> Any:
    match key, value:
        case (("mode" | "behavior" | "index_type"), str()):
            return value.replace("_", "").lower()
        case (("properties" | "set_properties"), Mapping()):
            return tuple(VALUES.index(text) if text in VALUES else -1 for text in value.values())
        case "columns", list():  # names that differ only in case
            return tuple(name for name in value if name.lower() in ("b", "name"))
        case "new_table_name", str():
            return is_plain(value)
    return value is not None


@define
class _Explorer:
    """Chooses the moves of sequences and plays them."""

    lab: Lab
    chance: random.Random
    seen: Counter[Kind] = field(factory=Counter)
    """Number of calls of each kind."""
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
        names = self.chance.choice((NAMES, NAMES[:1], NAMES[:2]))
        for _ in range(MOVES):
            self._play(player, self._next(player, names))
        player.sweep()

    def _play(self, player: Player, move: Move) -> None:
        self.moves.append(move)
        player.make(move)

    def _next(self, player: Player, names: Sequence[str]) -> Move:
        """Return the least covered of a few random moves; if there is none, create a table."""
        found: list[tuple[int, Kind, Move]] = []
        for _ in range(CANDIDATES):
            move = Move(
                self.chance.choice(_KINDS),
                self.chance.choice(names),
                self.chance.choice(NAMES),
                self.chance.randrange(999),
            )
            kind = self._kind(player, move)
            if kind is not None:
                found.append((self.seen[kind], kind, move))
        if not found:
            return Move("create", names[0], number=self.chance.randrange(999))
        _, kind, move = min(found, key=lambda each: each[0])
        self.seen[kind] += 1
        return move

    def _kind(self, player: Player, move: Move) -> Kind | None:
        if move.kind in LISTINGS:
            return move.kind, move.number % 3, tuple(player.changed.values())[-1:]
        call = player.draw(move)
        return None if call is None else kind_of(player, call, player.tree.expect(call))


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
