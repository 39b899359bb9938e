"""A test double of S3 that records requests with their access keys and can deny them.

It is moto's server behind a WSGI gate. Signatures are not checked: the gate only reads the access
key of a request.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any, NamedTuple, Self
from uuid import uuid4

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from . import quick_moto as quick_moto

__all__ = ["Asked", "Canned", "GuardedS3"]

_KEY = re.compile(r"Credential=([^/]+)/")
CONDITIONS = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"}
"""WSGI names of the headers of conditional requests."""
_REFUSAL = b"<Error><Code>AccessDenied</Code><Message>refused by the test</Message></Error>"


class Asked(NamedTuple):
    method: str
    path: str
    access_key: str | None
    at: float
    """Time of arrival, in seconds since 1970."""
    query: str


class Canned(NamedTuple):
    """A response that replaces that of the store."""

    status: str
    body: bytes
    length: int
    """The content length in the header; if it exceeds the body, the response is truncated."""


class GuardedS3:
    """A server with its own bucket on a free loopback port, in this process.

    All moto servers in a process share their buckets.
    """

    def __init__(self) -> None:
        self.bucket = f"guarded-{uuid4().hex[:8]}"
        self.asked: list[Asked] = []
        self.refuses: Callable[[Asked], bool] = lambda asked: False
        """Returns whether to deny a request with status 403."""
        self.answers: Callable[[Asked], Canned | None] = lambda asked: None
        """Returns the response to a request; for None, the store responds."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._one_at_a_time = threading.Lock()
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._gate, threaded=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def options(self, access_key: str = "testing") -> dict[str, str]:
        return {
            "aws_endpoint": self.uri,
            "allow_http": "true",
            "aws_access_key_id": access_key,
            "aws_secret_access_key": "testing",
            "aws_region": "us-east-1",
        }

    def objects(self) -> set[str]:
        """Return the keys of the bucket's objects without recording the requests."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        found = {entry["Key"] for page in pages for entry in page.get("Contents", ())}
        self.asked = [each for each in self.asked if each.access_key != "test-itself"]
        return found

    def clear(self) -> None:
        """Delete all objects, recorded requests and rules."""
        self.refuses = lambda asked: False
        self.answers = lambda asked: None
        client = self.client()
        for key in self.objects():
            client.delete_object(Bucket=self.bucket, Key=key)
        self.asked.clear()

    def _gate(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        found = _KEY.search(environ.get("HTTP_AUTHORIZATION", ""))
        asked = Asked(
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"],
            found and found[1],
            time.time(),
            environ.get("QUERY_STRING", ""),
        )
        self.asked.append(asked)
        if self.refuses(asked):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [_REFUSAL]
        canned = self.answers(asked)
        if canned is not None:
            headers = [("Content-Type", "application/xml"), ("Content-Length", str(canned.length))]
            start_response(canned.status, headers)
            return [canned.body]
        if not CONDITIONS.isdisjoint(environ):
            return self._conditional(environ, start_response)
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer

    def _conditional(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Run conditional requests one at a time: moto checks and writes in separate steps."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        with self._one_at_a_time:
            return list(self._moto(environ, start_response))

    def client(self) -> Any:
        """Return a boto3 client with an access key that is reserved for test code."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.uri,
            aws_access_key_id="test-itself",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        )

    def __enter__(self) -> Self:
        self._thread.start()
        self.client().create_bucket(Bucket=self.bucket)
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
