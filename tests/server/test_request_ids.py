"""The log and error responses contain a request's id; unsafe ids are replaced."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest

from lance_namespace_client.errors import InternalError
from lance_namespace_impls.server import serving
from lance_namespace_impls.server.execution.context import MAX_REQUEST_ID_LENGTH
from tests.servers.echo import EchoNamespace


def fail(uri: str, headers: dict[str, str | bytes]) -> str:
    """Return the id of a request that fails in the server."""
    sent = [(name.encode(), v.encode() if isinstance(v, str) else v) for name, v in headers.items()]
    answer = httpx.post(f"{uri}/v1/table/broken/exists", headers=sent)
    assert answer.status_code == 500
    return str(answer.json()["instance"])


def test_a_valid_request_id_is_used(uri: str, caplog: pytest.LogCaptureFixture) -> None:
    longest = "r" * MAX_REQUEST_ID_LENGTH
    assert fail(uri, {"x-request-id": longest}) == longest
    assert f"request {longest}" in caplog.text


@pytest.mark.parametrize(
    "given",
    ["", "r" * (MAX_REQUEST_ID_LENGTH + 1), b"r\x85line", b"r\x9b31mred", b"r\ttab"],
    ids=["empty", "too long", "a line", "a terminal's command", "a tab"],
)
def test_an_invalid_request_id_is_replaced(
    uri: str, given: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    found = fail(uri, {"x-request-id": given})
    assert len(found) == 32 and found.isalnum()
    text = given.decode("latin-1") if isinstance(given, bytes) else given
    assert not text or text not in caplog.text


class FailingWithCause(EchoNamespace):
    """A namespace that raises a protocol error with a cause."""

    def table_exists(self, request: Any) -> Any:
        raise InternalError("the catalog is out of order") from OSError("its disk is full")


def test_the_cause_of_a_protocol_error_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(FailingWithCause()) as uri:
        sent = {"x-request-id": "r-1"}
        answer = httpx.post(f"{uri}/v1/table/t/exists", headers=sent)
    told = {"error": "the catalog is out of order", "code": 18, "instance": "r-1"}
    assert (answer.status_code, answer.json()) == (500, told)
    (record,) = (each for each in caplog.records if "request r-1" in each.getMessage())
    assert record.levelno == logging.ERROR
    assert "TableExists failed" in record.getMessage()
    assert "its disk is full" in record.getMessage()
