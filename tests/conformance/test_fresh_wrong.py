"""Wrong namespaces that name no check: a complete run catches each within its time limit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Finding, Options, run
from lance_namespace_impls.server import serving

from .targets import memory
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
from .wrong.python import WrongTarget
from .wrong.sentences import SENTENCES
from .wrong.wire import WrongTransport


class Caught(Exception):
    """A check failed, so the rest of the run is not needed."""


def stop_at_first(finding: Finding) -> None:
    if finding.result is Result.FAIL:
        raise Caught(finding.check.id)


def assert_caught(target: Target) -> None:
    with pytest.raises(Caught):
        run(target, Options(seed=3, max_seconds=120), stop_at_first)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRESH)
def test_a_wrong_namespace_is_caught(name, tmp_path):
    assert_caught(WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), FRESH[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", HABITS)
def test_a_namespace_with_a_wrong_habit_is_caught(name, tmp_path):
    assert_caught(WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), HABITS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", SENTENCES)
def test_a_namespace_that_breaks_a_documented_sentence_is_caught(name, tmp_path):
    assert_caught(WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), SENTENCES[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", MANAGED)
def test_a_wrong_namespace_with_managed_versions_is_caught(name, tmp_path):
    namespace = connect("memory", {"root": str(tmp_path), "managed": "true"})
    assert_caught(WrongTarget(PythonTarget(namespace, "wrong"), MANAGED[name]))


MADE = [(stale, *field) for field in STALE] + [(of_another_object, *field) for field in OF_OBJECTS]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "operation", "key"), MADE)
def test_a_stale_value_or_one_of_another_object_is_caught(how, operation, key, tmp_path):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "wrong"), how(operation, key))
    try:
        run(target, Options(seed=3, max_seconds=120), stop_at_first)
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
