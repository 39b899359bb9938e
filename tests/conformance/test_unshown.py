"""Every fault that no call triggers is reported with the right reason."""

from __future__ import annotations

import pytest

from lance_namespace_impls.conformance.exchange import Reply, Step

from .trace import Trace
from .unshown import Seen, unshown
from .wrong.sets import FAULTS

CALLS = [
    (count := Step("CountTableRows", {"id": ["t"], "version": "no"}), Reply(step=count, code=13)),
    (drop := Step("DropTable", {"id": ["t"]}), Reply(step=drop, answer={"id": ["t"]})),
]
REASONS = {
    "CountTableRows answer count: zero": "no namespace here carries the operation out",
    "CreateTableTag request tag: ignored": "no check calls the operation",
    "DropTable answer location: empty": "no answer here has the field",
    "DropTable answer id: reversed": "every value there is the same: reversed",
}


@pytest.mark.parametrize("name", REASONS)
def test_a_fault_that_no_call_triggers_has_its_reason(name):
    calls = {"LN-TEST-001": CALLS}
    trace = Trace(calls, {"LN-TEST-001": 0.0}, {"LN-TEST-001": {"CountTableRows", "DropTable"}})
    assert trace.touched(FAULTS[name]) == []
    assert unshown(FAULTS[name], Seen.of([trace])) == REASONS[name]


def test_a_value_of_another_type_is_unchanged():
    assert not FAULTS["CountTableRows request version: one more"].touches(*CALLS[0])
