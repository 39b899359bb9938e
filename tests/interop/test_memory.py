"""The server does not buffer whole streams; a small run of `benchmarks/memory_stream.py`."""

from __future__ import annotations

import sys

import pytest

from benchmarks.memory_stream import LIMIT_MIB, measure


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_use_of_a_stream():
    taken, given = measure(0.25)
    assert taken.grown_mib < LIMIT_MIB
    assert given.grown_mib < LIMIT_MIB
