"""Components of the kit: reading answers, unusable targets, the ledger, and redaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls.conformance.api import class_target, impl_target, url_target
from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.ledger import Ledger
from lance_namespace_impls.conformance.redact import Redactor, tells_secret
from lance_namespace_impls.conformance.runner import CannotRunError, Options, run
from tests.server.attacks.hostile_arrow import file_of

MARK = "not-a-real-secret"
ROWS = pa.record_batch({"a": [1, 2]})
SUPPOSED = {  # operation, status and body: the fields of the reply that differ from USUAL
    ("ListTables", 200, b'{"tables": ["t"]}'): {"answer": {"tables": ["t"]}},
    ("CountTableRows", 200, b"7"): {"answer": {"count": 7}},
    ("TableExists", 200, b"anything"): {"answer": {}},
    ("ListTables", 201, b"{}"): {"answer": {}},
    ("ListTables", 200, b"[1]"): {"broken": "the body is not a JSON object: [1]"},
    ("ListTables", 200, b"<html>"): {"broken": "the body is not JSON: '<html>'"},
    ("DescribeTable", 404, b'{"code": 4, "error": "none"}'): {"code": 4, "message": "none"},
    ("DescribeTable", 400, b'{"code": 23, "message": "there"}'): {"code": 23, "message": "there"},
    ("DescribeTable", 404, b"<html>"): {"code": 0, "no_route": True, "message": "HTTP 404: <html>"},
    ("DescribeTable", 405, b'{"error": "no"}'): {"code": 0, "no_route": True, "message": "no"},
    ("DescribeTable", 501, b""): {"code": 0, "no_route": True, "message": "HTTP 501: "},
    ("DescribeTable", 400, b'{"code": 24}'): {"code": 13, "message": 'HTTP 400: {"code": 24}'},
    ("DescribeTable", 409, b'{"code": true}'): {"code": 14, "message": 'HTTP 409: {"code": true}'},
    ("DescribeTable", 401, b"{}"): {"code": 16, "message": "HTTP 401: {}"},
    ("DescribeTable", 403, b"{}"): {"code": 15, "message": "HTTP 403: {}"},
    ("DescribeTable", 406, b"{}"): {"code": 0, "message": "HTTP 406: {}"},
    ("DescribeTable", 429, b"{}"): {"code": 21, "message": "HTTP 429: {}"},
    ("DescribeTable", 503, b"{}"): {"code": 17, "message": "HTTP 503: {}"},
    ("DescribeTable", 302, b"{}"): {"code": 18, "message": "HTTP 302: {}"},
    ("DescribeTable", 500, b'{"code": "4"}'): {"code": 18, "message": 'HTTP 500: {"code": "4"}'},
}  # fmt: skip
USUAL: dict[str, Any] = {
    "answer": None, "rows": None, "code": None, "message": "", "no_route": False, "broken": None,
}  # fmt: skip


def reply_to(status: int, body: bytes, operation: str) -> Reply:
    transport = httpx.MockTransport(lambda request: httpx.Response(status, content=body))
    target = HttpTarget("http://server", transport=transport)
    try:
        return target.call(Step(operation, {"id": ["t"]}))
    finally:
        target.close()


@pytest.mark.parametrize(("operation", "status", "body"), SUPPOSED)
def test_an_http_answer_is_interpreted(operation: str, status: int, body: bytes) -> None:
    reply = reply_to(status, body, operation)
    assert {key: getattr(reply, key) for key in USUAL} == {
        **USUAL,
        **SUPPOSED[operation, status, body],
    }
    assert reply.exchange is not None
    assert (reply.exchange.status, reply.exchange.body) == (status, body)


def test_rows_over_http_are_read_as_a_table() -> None:
    assert reply_to(200, file_of(ROWS), "QueryTable").rows == pa.table(ROWS)
    broken = reply_to(200, file_of(ROWS)[:-20], "QueryTable")
    assert str(broken.broken).startswith("the body is not an Arrow IPC file: ")
    assert not broken.succeeded


def refuse(status: int, body: Mapping[str, Any]) -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(status, json=body))


def lost(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        (httpx.MockTransport(lost), "http://server cannot be reached: ConnectError: refused"),
        (refuse(404, {}), "is not a Lance namespace: it has no ListNamespaces or ListTables"),
        (refuse(401, {"code": 16, "error": "who?"}), "permits no reads: code 16: who[?]"),
        (refuse(403, {"code": 15, "error": "no"}), "permits no reads: code 15: no"),
        (refuse(406, {"code": 0, "error": "no"}), "permits no changes: CreateNamespace in the root"),
    ],
)  # fmt: skip
def test_a_target_that_cannot_be_checked_is_reported_immediately(
    transport: httpx.MockTransport, said: str
) -> None:
    target = HttpTarget("http://server", transport=transport)
    with pytest.raises(CannotRunError, match=said):
        run(target, Options())
    target.close()


def test_the_ledger_records_objects_on_disk_until_they_are_removed(tmp_path: Path) -> None:
    ledger = Ledger("target", folder=tmp_path)
    name, other = ledger.fresh(), ledger.fresh()
    assert name != other
    assert ledger.path is not None
    for kind, identifier in (
        ("namespace", (name,)),
        ("table", (name, "t")),
        ("namespace", (name, "n")),
        ("table", ("elsewhere", other)),
        ("table", ("of", "others")),
    ):
        ledger.made(kind, identifier)
        ledger.made(kind, identifier)
    assert len(ledger.path.read_text().splitlines()) == 4
    ledger.keep("namespace", (name,))
    order = [
        ("table", ("elsewhere", other)),
        ("table", (name, "t")),
        ("namespace", (name, "n")),
    ]
    assert ledger.to_remove(everything=False) == order
    assert ledger.to_remove(everything=True) == [*order, ("namespace", (name,))]
    for entry in order:
        ledger.gone(*entry)
    ledger.close()
    with ledger.path.open("a") as file:
        file.write('["table", ["cut')
    (found,) = Ledger.unfinished("target", tmp_path)
    assert list(found.entries) == [("namespace", (name,))]
    assert list(Ledger.unfinished("another", tmp_path)) == []
    found.gone("namespace", (name,))
    found.close()
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_without_a_folder_writes_no_file(tmp_path: Path) -> None:
    ledger = Ledger("target")
    ledger.made("table", (ledger.fresh(),))
    ledger.close()
    assert (ledger.path, len(ledger.entries)) == (None, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda known: url_target("http://127.0.0.1:1", {"Cookie": MARK}, None, known),
        lambda known: url_target("http://127.0.0.1:1", {}, MARK, known),
        lambda known: impl_target("rest", {"uri": "http://127.0.0.1:1", "auth_token": MARK}, known),
        lambda known: class_target("types:SimpleNamespace", {"auth_token": MARK}, None, known),
    ],
    ids=["header", "token", "property", "property-of-a-class"],
)
def test_the_secrets_passed_to_a_target_are_redacted(
    make: Callable[[Redactor], tuple[Target, str]],
) -> None:
    redactor = Redactor()
    target, connection = make(redactor)
    target.close()
    assert redactor.text(f"refused: {MARK}") == "refused: ***"
    assert MARK not in connection


def test_secrets_are_redacted_by_value_by_header_and_by_key() -> None:
    redactor = Redactor(headers={"X-Own"})
    redactor.learn(["hunter2", "hunter2-and-more", "abc"])
    assert redactor.text("hunter2-and-more hunter2 abc") == "*** *** abc"
    headers = {"Authorization": "a", "x-own": "b", "X-Trace": "of hunter2", "Cookie": "c"}
    assert redactor.header_map(headers) == {
        "Authorization": "***", "x-own": "***", "X-Trace": "of ***", "Cookie": "***",
    }  # fmt: skip
    value = {
        "page_token": "t",
        "aws_secret_access_key": ["s", ""],
        "a": [{"sas_url": 5}, "hunter2"],
    }
    assert redactor.value(value) == {
        "page_token": "t", "aws_secret_access_key": ["***", ""], "a": [{"sas_url": 5}, "***"],
    }  # fmt: skip
    keys = ("auth_token", "ACCOUNT_KEY", "my-credential", "page_token", "key", "name")
    assert [tells_secret(key) for key in keys] == [True, True, True, False, False, False]
