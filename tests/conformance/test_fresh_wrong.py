"""Wrong namespaces that name no check: a complete run catches each within its time limit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.requirement import CHECKS, Result
from lance_namespace_impls.conformance.runner import Finding, Options, run
from lance_namespace_impls.server import serving

from .targets import memory
from .trace import SEED, Trace, affected, caught, target_of
from .wrong import (  # noqa: F401 - each registers its faults
    batch_1,
    batch_2,
    batch_3,
    batch_4,
    batch_5,
    batch_6,
    batch_7,
    batch_8,
    batch_9,
    fresh_answers,
)
from .wrong.fresh import FRESH, FRESH_WIRE
from .wrong.generated import OF_OBJECTS, STALE, of_another_object, stale
from .wrong.habits import HABITS
from .wrong.managed import MANAGED
from .wrong.python import Act, WrongTarget
from .wrong.sentences import SENTENCES
from .wrong.wire import WrongTransport


class Caught(Exception):
    """A check failed, so the rest of the run is not needed."""


def stop_at_first(finding: Finding) -> None:
    if finding.result is Result.FAIL:
        raise Caught(finding.check.id)


def assert_caught(target: Target) -> None:
    with pytest.raises(Caught):
        run(target, Options(seed=SEED, max_seconds=120), stop_at_first)


FIRST = 40
"""The number of affected checks that run before a complete run."""


def caught_first(act: Act, kind: str, folder: Path, recording: Trace) -> bool:
    """Return whether one of the fastest checks that an act affects fails.

    A complete run then fails, too, since it runs the same checks.
    """
    folder.mkdir()
    checks = islice(affected(act, recording), FIRST)
    found = caught(WrongTarget(target_of(kind, folder), act), checks)
    return found is not None and found in CHECKS


def assert_act_caught(act: Act, kind: str, folder: Path, recording: Trace) -> None:
    if not caught_first(act, kind, folder / "first", recording):
        (folder / "all").mkdir()
        assert_caught(WrongTarget(target_of(kind, folder / "all"), act))


@pytest.mark.slow
@pytest.mark.parametrize("name", FRESH)
def test_a_wrong_namespace_is_caught(name, tmp_path, recording):
    assert_act_caught(FRESH[name], "mixed", tmp_path, recording)


@pytest.mark.slow
@pytest.mark.parametrize("name", HABITS)
def test_a_namespace_with_a_wrong_habit_is_caught(name, tmp_path, recording):
    assert_act_caught(HABITS[name], "mixed", tmp_path, recording)


@pytest.mark.slow
@pytest.mark.parametrize("name", SENTENCES)
def test_a_namespace_that_breaks_a_documented_sentence_is_caught(name, tmp_path, recording):
    assert_act_caught(SENTENCES[name], "mixed", tmp_path, recording)


# One check commits directly to storage; a catalog that manages versions warns about this.
@pytest.mark.filterwarnings("ignore:.*committed without the catalog")
@pytest.mark.slow
@pytest.mark.parametrize("name", MANAGED)
def test_a_wrong_namespace_with_managed_versions_is_caught(name, tmp_path, managed_recording):
    assert_act_caught(MANAGED[name], "managed", tmp_path, managed_recording)


MADE = [(stale, *field) for field in STALE] + [(of_another_object, *field) for field in OF_OBJECTS]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "operation", "key"), MADE)
def test_a_stale_value_or_one_of_another_object_is_caught(how, operation, key, tmp_path, recording):
    act = how(operation, key)
    if caught_first(act, "mixed", tmp_path / "first", recording):
        return
    (tmp_path / "all").mkdir()
    target = WrongTarget(target_of("mixed", tmp_path / "all"), act)
    try:
        run(target, Options(seed=SEED, max_seconds=120), stop_at_first)
    except Caught:
        return
    assert not target.memory.get("wrong"), "a wrong answer was taken for a right one"


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(memory(tmp_path_factory.mktemp("served"), "mixed")) as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("name", FRESH_WIRE)
def test_a_wrong_server_is_caught(name, uri):
    target = HttpTarget(uri, transport=WrongTransport(FRESH_WIRE[name]))
    try:
        assert_caught(target)
    finally:
        target.close()
