"""Which requests are sent again, and which never are."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

from lance_namespace_client.errors import ServiceUnavailableError, ThrottlingError
from lance_namespace_impls import connect
from lance_namespace_impls.core import http
from tests.servers.scripted import CUT, SILENT, Answer

GOOD = Answer(200, {"tables": ["t"]})


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.001)


@pytest.fixture
def namespace(server, open_client):
    return open_client(server.uri, max_retry_wait="1.5", read_timeout="2")


@pytest.mark.parametrize("trouble", [SILENT, CUT, *map(Answer, (429, 502, 503, 504))], ids=str)
def test_a_read_is_sent_again(server, namespace, trouble):
    server.play(trouble, trouble, trouble, GOOD)
    assert namespace.list_tables({}).tables == ["t"]
    assert len(server.asked) == 4
    assert len({asked.line for asked in server.asked}) == 1


@pytest.mark.parametrize("trouble", [SILENT, CUT, *map(Answer, (500, 502, 503, 504))], ids=str)
def test_a_change_is_not_sent_again(server, namespace, trouble):
    server.play(trouble, GOOD)
    with pytest.raises(Exception, match=r".") as caught:
        namespace.drop_table({"id": ["t"]})
    assert caught.value.code == (18 if trouble == Answer(500) else 17)
    assert len(server.asked) == 1


def test_a_throttled_change_is_sent_again(server, namespace):
    server.play(Answer(429), Answer(200, {"id": ["t"]}))
    assert namespace.drop_table({"id": ["t"]}).id == ["t"]
    assert len(server.asked) == 2


def test_a_permanent_failure_is_not_retried(server, namespace):
    server.play(Answer(404, {"error": "gone", "code": 4}), GOOD)
    with pytest.raises(Exception, match="gone"):
        namespace.describe_table({"id": ["t"]})
    server.play(Answer(500, {"error": "bug", "code": 18}), GOOD)
    with pytest.raises(Exception, match="bug"):
        namespace.list_tables({})
    assert len(server.asked) == 1


def test_the_number_of_tries_is_limited(server, namespace):
    server.play(*[Answer(503, {"error": "down", "code": 17})] * 9)
    with pytest.raises(ServiceUnavailableError, match="down"):
        namespace.list_tables({})
    assert len(server.asked) == 4
    server.play(*[Answer(429, b"", ("Retry-After: 0",))] * 9)
    with pytest.raises(ThrottlingError) as caught:
        namespace.list_tables({})
    assert caught.value.retry_after == 0
    assert len(server.asked) == 4


def test_retries_can_be_turned_off(server, open_client):
    server.play(Answer(503), GOOD)
    with pytest.raises(ServiceUnavailableError):
        open_client(server.uri, max_retries="0").list_tables({})
    assert len(server.asked) == 1


@pytest.fixture
def pauses(monkeypatch):
    """A list of the seconds of every pause between tries; no pause is actually waited for."""
    seconds = []
    # Only the `time` of this module is replaced, because other code in this process sleeps too.
    monkeypatch.setattr(
        "httpx_retries.retry.time", SimpleNamespace(**vars(time) | {"sleep": seconds.append})
    )
    return seconds


def test_a_wait_that_is_too_long_is_left_to_the_caller(pauses, server, namespace):
    server.play(Answer(429, {"error": "slow", "code": 21}, ("Retry-After: 60",)), GOOD)
    with pytest.raises(ThrottlingError, match="slow") as caught:
        namespace.list_tables({})
    assert caught.value.retry_after == 60
    assert pauses == []
    assert len(server.asked) == 1
    server.play(Answer(503, b"", ("Retry-After: Fri, 01 Jan 2100 00:00:00 GMT",)), GOOD)
    with pytest.raises(ServiceUnavailableError) as late:
        namespace.query_table({"id": ["t"], "k": 1, "vector": None})
    assert late.value.retry_after > 1e9


def test_pauses_grow_and_vary(monkeypatch, pauses, server):
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.25)
    with connect("rest", {"uri": server.uri}) as other:
        for _ in range(20):
            server.play(*[Answer(503)] * 3, GOOD)
            other.list_tables({})
    by_try = [pauses[number::3] for number in range(3)]
    for number, seen in enumerate(by_try):
        assert max(seen) <= 0.5 * 2**number
        assert len(set(seen)) > 10
    assert sum(by_try[0]) < sum(by_try[2])


def test_rows_are_sent_once(server, namespace):
    for trouble in (Answer(429), Answer(503), SILENT):
        server.play(trouble, GOOD)
        with pytest.raises(Exception, match=r".") as caught:
            namespace.insert_into_table({"id": ["t"]}, pa.table({"a": [1]}))
        assert caught.value.code in (17, 21)
        assert len(server.asked) == 1


def test_rows_are_not_consumed_before_a_connection_exists(monkeypatch):
    """No row is read from the source while there is no connection."""
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    produced = 0

    def produce():
        nonlocal produced
        produced += 1
        yield pa.record_batch({"a": [1]})

    schema = pa.schema([("a", pa.int64())])
    rows = pa.RecordBatchReader.from_batches(schema, produce())
    properties = {"uri": f"http://127.0.0.1:{port}", "max_retries": "2"}
    with connect("rest", properties) as namespace, pytest.raises(ServiceUnavailableError):
        namespace.insert_into_table({"id": ["t"]}, rows)
    assert produced == 0


def test_a_query_is_sent_again_until_its_response_begins(server, namespace):
    import lance_namespace_client.arrow as arrow

    whole = b"".join(arrow.file_chunks(pa.table({"a": [1, 2]}).to_reader()))
    server.play(Answer(503), SILENT, Answer(200, whole))
    reader = namespace.query_table({"id": ["t"], "k": 1, "vector": None})
    assert reader.read_all()["a"].to_pylist() == [1, 2]
    assert len(server.asked) == 3


def test_a_truncated_response_with_rows_is_a_failure(server, namespace):
    import lance_namespace_client.arrow as arrow

    whole = b"".join(arrow.file_chunks(pa.table({"a": list(range(1000))}).to_reader()))
    for cut in (3, 8, 100, 4000, len(whole) - 5):
        server.play(Answer(200, whole, cut=cut), Answer(200, whole))
        with pytest.raises(Exception, match=r".") as caught:
            namespace.query_table({"id": ["t"], "k": 1, "vector": None}).read_all()
        assert caught.value.code in (17, 18)
        assert len(server.asked) == 1


def test_the_connection_is_reused_after_rows(server, namespace):
    import lance_namespace_client.arrow as arrow

    whole = b"".join(arrow.file_chunks(pa.table({"a": [1, 2]}).to_reader()))
    server.play(*[Answer(200, whole)] * 3)
    for _ in range(3):
        namespace.query_table({"id": ["t"], "k": 1, "vector": None}).read_all()
    assert len({asked.connection for asked in server.asked}) == 1
