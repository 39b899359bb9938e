"""Random sequences: correct targets pass with many seeds, and failures have short scripts."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from lance_namespace_impls.conformance.exchange import Reply
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.oracle import Call, Rows, value_of
from lance_namespace_impls.conformance.player import step_of
from lance_namespace_impls.conformance.pools import COLUMNS
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.server import serving

from .targets import correct, memory
from .wrong import tables  # noqa: F401 - registers its faults
from .wrong.python import WRONG, WrongTarget
from .wrong.values import VALUES, body_id_with_another_delimiter
from .wrong.wire import WrongTransport

ONLY = ("LN-SEQUENCE-*",)


@pytest.mark.parametrize("name", ["dir", "mixed", "three-levels"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_a_correct_target_passes_every_sequence(name, seed, tmp_path):
    with correct(name, tmp_path) as target:
        outcome = run(target, Options(only=ONLY, seed=seed, max_seconds=600))
    assert [(f.expected, f.got, f.script) for f in outcome.failed()] == []


@pytest.mark.parametrize(
    "name",
    [
        "append overwrites",
        "overwrite appends",
        "RestoreTable does nothing",
        "the count ignores the version",
        "ListTables leaves the first out",
    ],
)
def test_a_wrong_target_is_caught_and_its_script_is_short(name, tmp_path):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), WRONG[name].act)
    outcome = run(target, Options(only=ONLY, seed=1, max_seconds=600))
    (found,) = [f for f in outcome.failed() if f.check.id == "LN-SEQUENCE-001"]
    assert len(found.script) <= 12


@pytest.mark.parametrize("name", VALUES)
def test_a_fault_with_specific_values_is_caught(name, tmp_path):
    """Such a fault shows only with a specific name, length, letter case or timing."""
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), VALUES[name])
    outcome = run(target, Options(only=ONLY, seed=2, max_seconds=600))
    (found,) = outcome.failed()
    assert found.check.id == "LN-SEQUENCE-001"
    assert found.script


def test_a_server_that_ignores_the_delimiter_for_body_identifiers_is_caught(tmp_path):
    with serving(memory(tmp_path, "mixed")) as uri:
        target = HttpTarget(uri, transport=WrongTransport(body_id_with_another_delimiter))
        outcome = run(target, Options(only=ONLY, seed=1, max_seconds=600))
        target.close()
    (found,) = outcome.failed()
    assert "differs from that of the route" in found.got


@pytest.mark.parametrize("columns", COLUMNS, ids=",".join)
def test_truncated_rows_end_within_a_message(columns):
    """A stream that ends between two messages is complete for some readers."""
    for count, batch_rows in itertools.product((0, 1, 2, 5, 13), (None, 1, 2)):
        values = {name: tuple(value_of(name, n) for n in range(count)) for name in columns}
        rows = Rows(values, "truncated", batch_rows=batch_rows)
        step = step_of(Call("CreateTable", {"id": ["t"]}, rows))
        with pytest.raises((pa.ArrowInvalid, OSError)):
            pa.ipc.open_stream(step.data).read_all()


def test_a_script_creates_the_table_that_checks_share(tmp_path):
    """A replay of one check's failure cannot use objects created by earlier checks."""

    def act(target, step):
        if "filter" in step.request:
            return Reply(step=step, code=18, message="no filters today")
        return None

    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), act)
    only = ("LN-QUERY-002", "LN-QUERY-003")
    failed = run(target, Options(only=only, max_seconds=600)).failed()
    assert [finding.check.id for finding in failed] == list(only)
    for finding in failed:
        made = [step for step in finding.script if step.operation == "CreateTable"]
        asked = [step for step in finding.script if step.operation == "QueryTable"]
        assert [step.request["id"] for step in made] == [asked[0].request["id"]]
        assert finding.script.index(made[0]) < finding.script.index(asked[0])
