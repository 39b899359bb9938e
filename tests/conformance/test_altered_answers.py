"""Every check fails with some altered answer: no check passes regardless of the answers."""

from __future__ import annotations

import pytest
from attrs import evolve

from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.run_order import EXTENSIVE, in_run_order

from .replay import Recorded

# Recording all calls of the kit takes half a minute.
pytestmark = pytest.mark.xdist_group("conformance recording")


def test_checks_pass_on_their_own_answers_and_reject_others(recording):
    recorded = Recorded.all(recording)
    assert recorded
    assert [one.check.id for one in recorded if not one.rejects_some()] == []


def test_a_check_that_ignores_its_answers_is_detected(recording):
    one = next(each for each in Recorded.all(recording) if each.calls)
    ignoring = evolve(one.check, run=lambda lab: lab.target.call(one.calls[0][0]))
    assert not evolve(one, check=ignoring).rejects_some()


def test_the_recorded_run_leaves_no_objects(recording):
    assert recording.left == []


def test_checks_that_send_many_calls_run_late(recording):
    ordered = [check.id for check in in_run_order(CHECKS.values()) if check.id in recording.calls]
    early = [id for id in ordered if not {id, f"LN-{CHECKS[id].area}-*"} & EXTENSIVE]
    assert ordered[: len(early)] == early
    # More than the 20 of the rule: ListAllTables has a page for every few tables that exist by then.
    many = {id: len(recording.calls[id]) for id in early if len(recording.calls[id]) > 60}
    assert many == {}
