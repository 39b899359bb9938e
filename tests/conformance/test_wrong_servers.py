"""Every wrong server is caught by the check of the rule that it breaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.requirement import CHECKS, Result, chosen
from lance_namespace_impls.conformance.runner import Options, Session, run
from lance_namespace_impls.server import serving

from .targets import memory
from .wrong.wire import STATUSES, WIRE, Change, WrongTransport, other_status

SOME = ("LN-TABLE-DECLARE-*", "LN-TABLE-DESCRIBE-*", "LN-NAMESPACE-DESCRIBE-*", "LN-QUERY-001")
CODES = (
    "LN-ERROR-*",
    "LN-NAMESPACE-CREATE-*",
    "LN-TABLE-*",
    "LN-TAG-*",
    "LN-COLUMN-*",
    "LN-VERSION-*",
)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(memory(tmp_path_factory.mktemp("served"), "mixed")) as address:
        yield address


def caught(uri: str, change: Change, *only: str) -> list[str]:
    target = HttpTarget(uri, transport=WrongTransport(change))
    try:
        outcome = run(target, Options(only=only, max_seconds=100))
    finally:
        target.close()
    return [finding.check.id for finding in outcome.failed()]


@pytest.mark.parametrize("name", WIRE)
def test_a_wrong_server_is_caught_by_the_check_of_its_rule(name, uri):
    wrong = WIRE[name]
    more = SOME if wrong.caught_by.startswith(("LN-ERROR", "LN-ANSWER")) else ()
    assert wrong.caught_by in caught(uri, wrong.change, wrong.caught_by, *more)


@pytest.mark.parametrize("code", STATUSES)
def test_a_wrong_status_is_caught(code, uri):
    rule = CHECKS["LN-ERROR-002"]
    target = HttpTarget(uri, transport=WrongTransport(other_status(code)))
    session = Session(target)
    session.start()
    try:
        for check in CHECKS.values():
            if check.run is not None and chosen(check, CODES, ()):
                session.run_one(check)
                if session.run_one(rule).result is Result.FAIL:
                    return
        pytest.fail(f"{rule.id} fails after none of {CODES}")
    finally:
        session.finish()
        target.close()


def test_a_transport_without_a_fault_changes_nothing(uri):
    assert caught(uri, lambda request, send: send(request), *SOME, *CODES, "LN-WIRE-*") == []
