"""An S3 stand-in for the tests of directories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.s3 import GuardedS3


@pytest.fixture(scope="session")
def running_s3() -> Iterator[GuardedS3]:
    with GuardedS3() as running:
        yield running


@pytest.fixture
def s3(running_s3: GuardedS3) -> GuardedS3:
    """The S3 stand-in, without objects."""
    running_s3.clear()
    return running_s3
