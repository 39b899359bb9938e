"""How the client translates a failed response: the code, the message and the other fields."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    ServiceUnavailableError,
    TableNotFoundError,
    ThrottlingError,
)
from tests.servers.scripted import Answer, Script

from .conftest import OpenClient

Failing = Callable[[Answer], LanceNamespaceError]


@pytest.fixture
def failure(server: Script, open_client: OpenClient) -> Failing:
    """A function that calls the client with a scripted response, and returns the error."""

    def ask(answer: Answer) -> LanceNamespaceError:
        server.play(answer)
        with pytest.raises(LanceNamespaceError) as caught:
            open_client(server.uri, max_retries=0).list_tables({"id": ["n"], "limit": 3})
        return caught.value

    return ask


NOTHING = "the server does not have this operation, or is not a Lance namespace server"
OTHER = "check that this is a Lance namespace server"
WITHOUT_CODE = {
    400: (13, OTHER), 401: (16, ""), 402: (13, OTHER), 403: (15, ""), 404: (0, NOTHING),
    405: (0, NOTHING), 406: (0, OTHER), 409: (14, OTHER),
    413: (13, "the request is too large for the server, so send smaller parts"),
    429: (21, ""), 500: (18, ""), 501: (0, NOTHING), 502: (17, ""), 503: (17, ""), 504: (17, ""),
    307: (18, OTHER),
}  # fmt: skip


@pytest.mark.parametrize("status", WITHOUT_CODE)
@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", {"message": "x"}], ids=str)
def test_a_status_without_an_error_code(
    server: Script, failure: Failing, status: int, body: Any
) -> None:
    code, hint = WITHOUT_CODE[status]
    found = failure(Answer(status, body))
    said = f"ListTables: {server.uri}/v1/namespace/n/table/list returned HTTP {status} without an error code"
    assert (found.code, found.status) == (code, status)
    assert found.text == said + (f"; {hint}" if hint else "")


def test_the_fields_of_an_error(failure: Failing) -> None:
    body = {"error": "no t", "code": 4, "detail": "looked everywhere", "instance": "call-7"}
    found = failure(Answer(404, body))
    assert isinstance(found, TableNotFoundError)
    assert (found.text, found.detail, found.instance) == ("no t", "looked everywhere", "call-7")
    assert found.status == 404
    found = failure(Answer(429, {"error": "slow", "code": 21}, ("Retry-After: 7",)))
    assert isinstance(found, ThrottlingError)
    assert (found.status, found.retry_after) == (429, 7)


@pytest.mark.parametrize(
    ("body", "text", "detail"),
    [
        ({"error": " one \n two", "code": 4}, "one", " one \n two"),
        ({"error": "one\ntwo", "detail": "own", "code": 4}, "one", "own"),
        ({"detail": "what is wrong", "code": 4}, "what is wrong", "what is wrong"),
        ({"error": "", "code": 4}, "HTTP 400", None),
        ({"error": "odd", "code": 99}, "odd", None),
    ],
)
def test_the_message_is_one_line(
    failure: Failing, body: dict[str, Any], text: str, detail: str | None
) -> None:
    found = failure(Answer(400, body))
    assert (found.text, found.detail) == (text, detail)


# --- a server that never responds


def test_the_wait_for_a_silent_server_has_a_timeout(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = socket.socket.recv

    def recv(self: socket.socket, *arguments: Any) -> bytes:
        assert self.gettimeout() is not None, "the wait has no end"
        return made(self, *arguments)

    monkeypatch.setattr(socket.socket, "recv", recv)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        uri = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(ServiceUnavailableError):
            open_client(uri, read_timeout="0.2", max_retries=0).list_tables({})
