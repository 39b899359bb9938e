"""Each check asks what it asked, and refuses the answers that it is there to refuse."""

from __future__ import annotations

import json

import pytest

from .asked import ASKED, digests
from .replay import (
    CANNOT,
    REFUSED,
    SKIPPED,
    TAKEN,
    Recorded,
    alterations,
    is_skipped,
    verdict,
)

pytestmark = pytest.mark.xdist_group("conformance recording")

TABLE = json.loads(REFUSED.read_text("utf-8"))


@pytest.fixture(scope="session")
def recorded(recording) -> dict[str, Recorded]:
    return Recorded.all(recording)


@pytest.mark.parametrize("id", TABLE)
def test_a_check_refuses_each_altered_answer(id, recorded):
    """After a check was changed for good, ``python -m tests.conformance.replay`` finds others."""
    one = recorded[id]
    assert not one.run().seen
    refused, taken = TABLE[id]["refused"], TABLE[id][TAKEN]
    altered = {number: dict(alterations(one.calls[number][1])) for number, _ in refused + taken}
    found = {(n, name): verdict(one, n, altered[n][name]) for n, name in refused + taken}
    assert [row for row in refused if found[*row] in (None, TAKEN)] == []
    assert [row for row in taken if found[*row] != TAKEN] == []


@pytest.mark.parametrize("id", [id for id in TABLE if TABLE[id][SKIPPED]])
def test_a_check_is_skipped_where_what_it_needs_is_left_out(id, recorded):
    assert [each for each in TABLE[id][SKIPPED] if not is_skipped(recorded[id], each)] == []


def test_every_check_that_can_be_run_on_its_answers_refuses_some(recorded):
    refuses_nothing = recorded.keys() - TABLE.keys()
    assert [id for id in refuses_nothing if asks(recorded[id])] == []


def asks(one: Recorded) -> bool:
    """Return whether a check makes a call, and can be run on its answers alone."""
    try:
        return bool(one.run().steps)
    except CANNOT:
        return False


def test_every_check_asks_what_it_asked(recording):
    """After a check was changed for good, ``python -m tests.conformance.asked`` keeps what it asks now."""
    kept = {id: text.split() for id, text in json.loads(ASKED.read_text("utf-8")).items()}
    found = digests(recording)
    assert found.keys() == kept.keys()
    changed = [id for id in kept if found[id] != kept[id]]
    new = [
        f"{id}: {step.to_dict()}"
        for id in changed
        for step, digest in zip(recording.asked[id], found[id], strict=True)
        if digest not in kept[id]
    ]
    assert changed == [], "\n".join(
        ["new are:", *new] if new else ["fewer calls, or another order"]
    )


def test_nothing_stays_behind(recording):
    assert recording.left == []
