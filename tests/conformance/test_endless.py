"""Checks end even if the answers of a target do not: with a failure, or at the time limit."""

from __future__ import annotations

import math

import pytest
from attrs import evolve

from lance_namespace_impls.conformance import lab as bench
from lance_namespace_impls.conformance.lab import Lab
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import CHECKS, TIME_UP, Result
from lance_namespace_impls.conformance.runner import Options, Session, run
from lance_namespace_impls.conformance.scenarios import load_all

from .targets import memory
from .wrong.python import WrongTarget

load_all()
LISTINGS = ("ListNamespaces", "ListTables", "ListTableVersions")


def correct(folder):
    return PythonTarget(memory(folder, "mixed"), "endless")


@pytest.mark.parametrize("empty", [True, False])
def test_an_endless_listing_is_reported(tmp_path, monkeypatch, empty):
    """Each page has a token; after the last page, empty pages follow or the last page repeats."""
    monkeypatch.setattr(bench, "MOST_PAGES", 30)

    def act(target, step):
        if step.operation not in LISTINGS:
            return None
        given = step.request.get("page_token")
        again = {**step.request, "page_token": given.removesuffix("+")} if given else step.request
        reply = target.ask(step.operation, step.data, **{k: v for k, v in again.items() if v})
        if not reply.succeeded or reply.answer.get("page_token"):
            return reply
        answer = {**reply.answer, "page_token": f"{given or ''}+"}
        if given and given.endswith("+") and empty:
            answer |= {key: [] for key in ("tables", "namespaces", "versions") if key in answer}
        return evolve(reply, answer=answer)

    outcome = run(
        WrongTarget(correct(tmp_path), act), Options(only=("LN-PAGE-*",), max_seconds=3600)
    )
    told = [f for f in outcome.failed() if f.got.endswith(" pages")]
    assert len(told) >= 5, [(f.check.id, f.got) for f in outcome.failed()]
    assert not [f for f in outcome.findings if f.got == TIME_UP]


def test_a_check_does_not_wait_for_a_version_that_never_appears(tmp_path):
    """The target always describes version 1 of the main branch, even after inserts."""

    def act(target, step):
        if step.operation == "DescribeTableVersion" and "branch" not in step.request:
            return target.ask(step.operation, **{**step.request, "version": 1})
        return None

    session = Session(WrongTarget(correct(tmp_path), act), Options(seed=1, max_seconds=3600))
    session.start()
    finding = session.run_one(CHECKS["LN-TAG-015"])
    session.finish()
    assert finding.got != TIME_UP
    assert len(finding.script) < 30


def test_a_check_is_stopped_at_the_time_limit(tmp_path):
    def endless(lab: Lab) -> None:
        assert lab.until < math.inf
        while True:
            lab.call("ListNamespaces", id=[])
            lab.until = 0.0

    check = evolve(CHECKS["LN-PAGE-001"], id="LN-PAGE-999", run=endless)
    session = Session(correct(tmp_path), Options(seed=1, max_seconds=3600))
    session.start()
    finding = session.run_one(check)
    session.finish()
    assert (finding.result, finding.got, finding.reply) == (Result.NOT_REACHED, TIME_UP, None)
    assert len(finding.script) == 1
    assert session.outcome.failed() == []
    assert session.outcome.leftovers == []
