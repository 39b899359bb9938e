"""Every fault generated from the operation table is caught by a check that exercises it."""

from __future__ import annotations

import pytest

from .trace import Trace, touched, verdict
from .wrong.sets import FAULTS, OPEN, left_open

pytestmark = [
    # One check commits directly to storage; a catalog that manages versions warns about this.
    pytest.mark.filterwarnings("ignore:.*committed without the catalog"),
    # Recording all calls of the kit takes half a minute.
    pytest.mark.xdist_group("conformance recording"),
]

RUN = [name for name in FAULTS if not left_open(name)]
SAMPLE = [name for name in RUN if " answer " in name or " request " in name][::70]


@pytest.fixture(scope="module")
def traces(recording, managed_recording) -> dict[str, Trace]:
    return {"mixed": recording, "managed": managed_recording}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_fault_of_a_sample_is_caught(name, recording):
    assert verdict(FAULTS[name], touched(FAULTS[name], {"mixed": recording}))[0] != "missed"


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_fault_is_caught(name, traces):
    assert verdict(FAULTS[name], touched(FAULTS[name], traces))[0] != "missed"


def test_every_excluded_fault_exists_and_has_a_reason():
    for pattern, reason in OPEN:
        assert reason
        assert any(left_open(name) == reason for name in FAULTS), pattern
