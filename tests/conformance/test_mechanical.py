"""Every fault that the operation table allows is caught by a check that asks for it."""

from __future__ import annotations

import pytest

from .trace import Trace, record, touched, verdict
from .wrong.sets import FAULTS, OPEN, left_open

pytestmark = [
    # A check commits past a catalog that keeps versions, which warns of it.
    pytest.mark.filterwarnings("ignore:.*committed without the catalog"),
    # The recording of all calls of the kit takes half a minute.
    pytest.mark.xdist_group("conformance recording"),
]

RUN = [name for name in FAULTS if not left_open(name)]
SAMPLE = [name for name in RUN if " answer " in name or " request " in name][::70]


@pytest.fixture(scope="module")
def traces(recording) -> dict[str, Trace]:
    return {"mixed": recording, "managed": record("managed")}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_fault_of_a_sample_is_caught(name, recording):
    assert verdict(FAULTS[name], touched(FAULTS[name], {"mixed": recording}))[0] != "missed"


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_fault_is_caught(name, traces):
    assert verdict(FAULTS[name], touched(FAULTS[name], traces))[0] != "missed"


def test_what_is_left_open_has_a_reason_and_is_there():
    for pattern, reason in OPEN:
        assert reason
        assert any(left_open(name) == reason for name in FAULTS), pattern
