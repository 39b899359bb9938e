"""The S3 double executes concurrent conditional writes atomically, like the service."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.s3.models import S3Backend

from .s3 import GuardedS3


@pytest.mark.s3
def test_one_of_two_conditional_writes_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    put = S3Backend.put_object

    def slow(self: Any, *positional: Any, **named: Any) -> Any:
        time.sleep(0.2)  # long enough for both writers to check whether the object exists
        return put(self, *positional, **named)

    with GuardedS3() as s3:
        monkeypatch.setattr(S3Backend, "put_object", slow)

        def write(content: bytes) -> int:
            try:
                answer = s3.client().put_object(
                    Bucket=s3.bucket, Key="one", Body=content, IfNoneMatch="*"
                )
            except ClientError as error:
                answer = error.response
            return int(answer["ResponseMetadata"]["HTTPStatusCode"])

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(write, (b"one", b"two"))) == [200, 412]
