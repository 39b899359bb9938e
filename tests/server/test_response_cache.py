"""The very same request again: its answer is not made twice, and is never an old one."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import socket
import time
from itertools import pairwise
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from starlette.middleware import Middleware

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    Access,
    Limits,
    PolicyFile,
    ServerOptions,
    TokenFile,
    new_token,
    serving,
)
from lance_namespace_impls.server.http.response_cache import MAX_SEEN, Repeats
from lance_namespace_impls.server.observability.observer import REQUESTS
from lance_namespace_impls.server.security import watched_file
from tests.examples import examples

pytestmark = [
    pytest.mark.usefixtures("at_once"),
    pytest.mark.skipif(
        not os.path.exists("/proc/self/mounts"), reason="only Linux tells where a file system is"
    ),
]
DESCRIBE, COUNT, EXISTS, QUERY = (
    f"/v1/table/t/{name}" for name in ("describe", "count_rows", "exists", "query")
)
ROWS = b'{"k": 9, "vector": {}, "filter": "id in (1, 2, 4) and (id < 9)"}'


@pytest.fixture
def namespace(tmp_path):
    with connect("dir", {"path": str(tmp_path / "root")}) as made:
        made.create_table({"id": ["t"]}, pa.table({"id": [1, 2, 3]}))
        yield made


class Client:
    """A connection that sends each request in one piece."""

    def __init__(self, uri):
        self.connection = http.client.HTTPConnection(urlsplit(uri).netloc, timeout=300)

    def post(self, path, body=b"{}", **headers):
        given = {"content-type": "application/json", **headers}
        self.connection.request("POST", path, body, given)
        answer = self.connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


@contextlib.contextmanager
def served(namespace, **options):
    with serving(namespace, ServerOptions(**options)) as uri:
        client = Client(uri)
        yield client
        client.connection.close()


@pytest.fixture
def calls(namespace, monkeypatch):
    """The operations that reach the namespace."""
    found = []

    def watch(name):
        method = getattr(namespace, name)
        monkeypatch.setattr(
            namespace, name, lambda request: (found.append(name), method(request))[1]
        )

    for name in ("describe_table", "count_table_rows", "table_exists", "query_table"):
        watch(name)
    return found


@pytest.mark.parametrize(
    ("path", "body"), [(DESCRIBE, b"{}"), (COUNT, b"{}"), (EXISTS, b"{}"), (QUERY, ROWS)]
)
def test_the_same_answer_is_not_made_again(namespace, calls, path, body):
    with served(namespace) as client:
        answers = [client.post(path, body) for _ in range(20)]
    assert len(calls) == 2, "the first shows that it may come again, the second is kept"
    for status, headers, body in answers:
        assert (status, body) == (200, answers[0][2])
        assert headers.keys() == answers[0][1].keys()
        assert {**headers, "date": ""} == {**answers[0][1], "date": ""}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (DESCRIBE, b'{"version": 1}'),
        (COUNT, b'{"predicate": "id > 1"}'),
        (COUNT, b'{"version": 1}'),
        (EXISTS, b'{"version": 1}'),
        (QUERY, b'{"k": 9, "vector": {}, "version": 1}'),
        (QUERY, b'{"k": 9, "vector": {}, "filter": "now () > date \'2020-01-01\'"}'),
        (QUERY, b'{"k": 9, "vector": {}, "filter": "current_date > date \'2020-01-01\'"}'),
        (QUERY, b'{"k": 9, "vector": {}, "columns": {"column_aliases": {"r": "random()"}}}'),
        ("/v1/table/missing/describe", b"{}"),
    ],
)
def test_what_depends_on_more_is_asked_again(namespace, calls, path, body):
    with served(namespace) as client:
        for _ in range(4):
            client.post(path, body)
    assert len(calls) == 4


def test_what_is_like_another_but_never_comes_again_is_not_kept(namespace, monkeypatch):
    kept = []
    monkeypatch.setattr(Repeats, "put", lambda self, request, repeat: kept.append(request))
    with served(namespace) as client:
        for number in range(10, 30):
            body = b'{"k": 9, "vector": {}, "filter": "id < %d"}' % number
            assert client.post(QUERY, body)[0] == 200
    assert not kept


def rows(namespace, number):
    return pa.table({"id": list(range(number))})


CHANGES = {
    "insert": lambda n, root: n.insert_into_table({"id": ["t"]}, pa.table({"id": [4]})),
    "drop": lambda n, root: n.drop_table({"id": ["t"]}),
    "deregister": lambda n, root: n.deregister_table({"id": ["t"]}),
    "register": lambda n, root: n.register_table({"id": ["t"], "location": f"{root}/t.lance"}),
    "create": lambda n, root: n.create_table(
        {"id": ["t"], "mode": "overwrite"}, pa.table({"id": [1, 2]})
    ),
    "rename": lambda n, root: n.rename_table({"id": ["t"], "new_table_name": "other"}),
    "rename back": lambda n, root: n.rename_table({"id": ["other"], "new_table_name": "t"}),
    "properties": lambda n, root: n.alter_table(
        {"id": ["t"], "set_properties": {"n": str(random.random())}}
    ),
    "a property in its place": lambda n, root: (root / "t.lance/.lance-properties").write_text(
        json.dumps({"n": str(random.random())})
    ),
    "a second folder": lambda n, root: (root / "t").mkdir(),
    "no second folder": lambda n, root: (root / "t").rmdir(),
    "declared": lambda n, root: n.declare_table({"id": ["t"]}),
}


def ids(reader):
    return sorted(reader.read_all()["id"].to_pylist())


def test_no_answer_is_an_old_one(namespace, tmp_path):
    """Whatever changes, in another process or by hand, shows in the very next answer."""
    random.seed(7)
    root = tmp_path / "root"
    rounds, again = examples(300), 0
    with served(namespace) as client, connect("dir", {"path": str(root)}) as other:
        for number in range(rounds):
            # One that has nothing open yet.
            fresh = connect("dir", {"path": str(root)})
            for turn in range(3):
                new = b'{"k": 9, "vector": {}, "filter": "id < %d"}' % (1000 + 3 * number + turn)
                for path, method, body in (
                    (DESCRIBE, fresh.describe_table, b"{}"),
                    (DESCRIBE, fresh.describe_table, b'{"load_detailed_metadata": true}'),
                    (DESCRIBE, fresh.describe_table, b'{"check_declared": true}'),
                    (COUNT, fresh.count_table_rows, b"{}"),
                    (EXISTS, fresh.table_exists, b"{}"),
                    (QUERY, fresh.query_table, ROWS),
                    (QUERY, fresh.query_table, new),
                ):
                    try:
                        answer = method({"id": ["t"], **json.loads(body)})
                        wanted = ids(answer) if path == QUERY else answer.to_dict()
                    except LanceNamespaceError as error:
                        wanted = error.to_dict()["code"]
                    status, _, text = client.post(path, body)
                    if path == QUERY and status == 200:
                        found = ids(pa.ipc.open_file(text))
                    else:
                        found = json.loads(text or b"{}")
                    if status != 200:
                        found = found["code"]
                    elif path == COUNT:
                        found = {"count": found}
                    assert found == wanted, (path, body)
                    again += status == 200
            change = random.choice([*CHANGES.values()])
            with contextlib.suppress(LanceNamespaceError, OSError):
                change(other, root)
    assert again > 1.5 * rounds


def test_a_manifest_that_comes_is_followed(namespace, tmp_path):
    with served(namespace) as client:
        before = [client.post(DESCRIBE)[2] for _ in range(3)][-1]
        with connect("dir", {"path": str(tmp_path / "root")}) as other:
            other.migrate("manifest")
            other.drop_table({"id": ["t"]})
        assert client.post(DESCRIBE)[0] == 404, before


def test_a_caller_that_is_known_no_more_gets_nothing(namespace, calls, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_file, "POLL_SECONDS", 0.0)
    ana, ben = new_token("ana"), new_token("ben")
    tokens, policy = tmp_path / "tokens.toml", tmp_path / "policy.toml"
    tokens.write_text(ana.entry + ben.entry)
    grant = '[[grant]]\nto = ["ana"]\nactions = ["read"]\non = [["%s"]]\n'
    policy.write_text(grant % "t")
    given = {"authorization": f"Bearer {ana.token}"}
    with served(namespace, callers=[TokenFile(tokens)], policy=PolicyFile(policy)) as client:
        assert [client.post(DESCRIBE, **given)[0] for _ in range(5)] == [200] * 5
        assert len(calls) == 2
        assert client.post(DESCRIBE)[0] == 401
        assert client.post(DESCRIBE, authorization=f"Bearer {ben.token}")[0] == 403
        policy.write_text(grant % "another")
        assert client.post(DESCRIBE, **given)[0] == 403
        policy.write_text(grant % "t")
        assert [client.post(DESCRIBE, **given)[0] for _ in range(3)] == [200] * 3
        tokens.write_text(ben.entry)
        assert client.post(DESCRIBE, **given)[0] == 401
        body = json.dumps({"identity": {"auth_token": ben.token}}).encode()
        assert client.post(DESCRIBE, body)[0] == 403


class Failing:
    """Lets everybody do everything, as long as it works."""

    works = True

    def allows(self, caller, action, identifier):
        if not self.works:
            raise RuntimeError("the service of grants does not answer")
        return True

    allows_some = allows_all = allows


def test_a_policy_that_fails_is_an_answer_too(namespace):
    policy = Failing()
    with served(namespace, policy=policy) as client:
        first = [client.post(DESCRIBE)[0] for _ in range(3)]
        policy.works = False
        failed = [client.post(DESCRIBE)[0] for _ in range(2)]
        policy.works = True
        assert [*first, *failed, client.post(DESCRIBE)[0]] == [200, 200, 200, 500, 500, 200]


class Seen:
    """ASGI middleware that counts requests."""

    def __init__(self, app, found):
        self.app, self.found = app, found

    async def __call__(self, scope, receive, send):
        self.found.append(scope["type"])
        await self.app(scope, receive, send)


def test_middleware_sees_each_request(namespace):
    found = []
    with served(namespace, middleware=[Middleware(Seen, found=found)]) as client:
        for _ in range(5):
            assert client.post(DESCRIBE)[0] == 200
    assert found.count("http") == 5


def test_an_access_class_sees_each_request(namespace):
    class Counted(Access):
        def check(self, headers):
            found.append(headers)
            super().check(headers)

    found = []
    with served(namespace, access=Counted()) as client:
        for _ in range(5):
            assert client.post(DESCRIBE)[0] == 200
    assert len(found) == 5


def test_a_page_for_people_is_a_page_each_time(namespace):
    with served(namespace) as client:
        pages = []
        for _ in range(4):
            client.connection.request("GET", "/ui/table?id=t", headers={"accept": "text/html"})
            answer = client.connection.getresponse()
            pages.append((answer.getheader("content-type"), answer.read()[:20]))
    assert len(set(pages)) == 1


HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
REQUEST = HEAD % DESCRIBE.encode() + b"Content-Length: 2\r\n\r\n{}"


class Raw:
    """A connection that sends bytes as they are, and reads answers."""

    def __init__(self, client):
        host, port = client.connection.host, client.connection.port
        self.socket = socket.create_connection((host, port), timeout=300)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        answer = http.client.HTTPResponse(self)
        answer.begin()
        return answer.status, answer.read()

    def makefile(self, mode):
        return _Open(self.file)


class _Open:
    """A file that its reader does not close."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def close(self):
        """Leave it open for the next answer."""


def test_bytes_within_a_request_are_no_request(namespace):
    with served(namespace) as client:
        raw = Raw(client)
        for _ in range(3):
            raw.send(REQUEST)
            known = raw.answer()
        assert known[0] == 200
        # A body that looks like it, which comes in a piece of its own.
        raw.send(HEAD % COUNT.encode() + b"Content-Length: %d\r\n\r\n" % len(REQUEST))
        raw.send(REQUEST)
        assert raw.answer()[0] == 400
        # Two at once, and one in two pieces, with another behind it.
        raw.send(REQUEST * 2)
        assert [raw.answer(), raw.answer()] == [known, known]
        raw.send(REQUEST[:30])
        raw.send(REQUEST[30:] + REQUEST[:50])
        assert raw.answer() == known
        raw.send(REQUEST[50:])
        assert raw.answer() == known
        raw.send(REQUEST)
        assert raw.answer() == known
        # Head and body by themselves, and the body a byte at a time.
        for pieces in (
            [REQUEST[:-2], b"{}"],
            [REQUEST[:-2], b"{", b"}"],
            [REQUEST[:-2], b"{}" + REQUEST],
        ):
            for piece in pieces:
                raw.send(piece)
                time.sleep(0.05)
            assert raw.answer() == known
        assert raw.answer() == known
        raw.send(REQUEST[:-2])
        time.sleep(0.05)
        raw.send(b"]]")
        assert raw.answer()[0] == 400


def test_however_requests_are_cut_each_has_its_answer(namespace):
    random.seed(11)
    body = HEAD % COUNT.encode() + b"Content-Length: %d\r\n\r\n%s"
    chunked = HEAD % COUNT.encode() + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    kinds = (
        *[(REQUEST, 200)] * 4,
        *[(body % (2, b"{}"), 200)] * 4,
        (chunked, 200),
        (body % (len(REQUEST), REQUEST), 400),
        (body % (len(REQUEST) + 4, b"\r\n\r\n" + REQUEST), 400),
        (REQUEST.replace(b"/t/", b"/missing/"), 404),
    )
    with served(namespace) as client:
        raw = Raw(client)
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(60):
            chosen = random.choices(kinds, k=random.randint(1, 6))
            text = b"".join(request for request, _ in chosen)
            cuts = sorted(random.sample(range(1, len(text)), random.randint(0, 4)))
            if random.random() < 0.3:
                cuts = [at for at in range(len(text)) if text[:at].endswith(b"\r\n\r\n")]
            for start, end in pairwise([0, *cuts, len(text)]):
                raw.send(text[start:end])
                time.sleep(random.choice((0, 0.002)))
            answers = [raw.answer() for _ in chosen]
            assert [status for status, _ in answers] == [status for _, status in chosen], chosen
            for (request, status), (_, answer) in zip(chosen, answers, strict=True):
                assert status != 200 or (b"location" in answer) == (request == REQUEST)


def test_a_head_without_a_body_is_not_waited_for_for_long(namespace):
    with served(namespace, limits=Limits(header_seconds=3)) as client:
        raw = Raw(client)
        for _ in range(3):
            raw.send(REQUEST)
            assert raw.answer()[0] == 200
        raw.send(REQUEST[:-2])
        assert raw.answer()[0] == 408
        assert raw.file.read() == b""
        raw = Raw(client)
        raw.send(REQUEST[:-2])
        assert raw.answer()[0] == 408


def test_a_whole_request_is_not_waited_on_for_the_line_ends_of_another(namespace):
    """Some clients send a line end behind a request, where the protocol has the server skip it."""
    bare = HEAD % COUNT.encode() + b"Content-Length: 0\r\n\r\n"
    with served(namespace, limits=Limits(header_seconds=3)) as client:
        for ends in (b"\r\n", b"\r\n\r\n"):
            raw = Raw(client)
            for _ in range(3):
                raw.send(bare + ends)
                assert raw.answer() == (200, b"3")
            raw = Raw(client)
            for _ in range(3):
                raw.send(bare)
                assert raw.answer() == (200, b"3")


def test_a_request_that_closes_its_connection_closes_it(namespace):
    closing = HEAD % DESCRIBE.encode() + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    old = REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0")
    with served(namespace) as client:
        for request in (closing, closing, closing, old, old, old):
            raw = Raw(client)
            raw.send(request)
            assert raw.answer()[0] == 200
            assert raw.file.read() == b""


def test_each_is_counted_and_logged(namespace, calls, caplog):
    caplog.set_level("INFO", logger=REQUESTS)
    with served(namespace) as client:
        for _ in range(6):
            client.post(DESCRIBE)
        client.connection.request("GET", "/metrics")
        text = client.connection.getresponse().read().decode()
    assert len(calls) == 2
    assert 'lance_ns_requests_total{code="ok",operation="DescribeTable"} 6.0' in text
    assert 'lance_ns_request_seconds_count{operation="DescribeTable"} 6.0' in text
    lines = [json.loads(record.message) for record in caplog.records if record.name == REQUESTS][:6]
    assert len({line.pop("request_id") for line in lines}) == 6
    for line in lines:
        del line["ms"], line["time"]
    assert lines == [lines[0]] * 6


@pytest.mark.parametrize(
    ("request_bytes", "answer_bytes", "is_kept"),
    [(8 << 10, 64 << 10, True), ((8 << 10) + 1, 1, False), (100, (64 << 10) + 1, False)],
)
def test_no_large_request_or_answer_is_kept(request_bytes, answer_bytes, is_kept):
    class Kept:
        raw = bytes(answer_bytes)

    repeats = Repeats()
    request = b"GET /".ljust(request_bytes - 4, b"x") + b"\r\n\r\n"
    repeats.put(request, Kept())
    assert (repeats.find(request) is not None) == repeats.is_head(request) == is_kept


def test_what_is_kept_is_bounded():
    class Kept:
        raw = bytes(60_000)

    repeats = Repeats()
    for number in range(MAX_SEEN + 5):
        assert not repeats.seen.before(b"%d" % number)
    assert not repeats.seen.before(b"0"), "it was forgotten"
    assert repeats.seen.before(b"%d" % MAX_SEEN)
    requests = [b"GET /%d\r\n\r\n" % number for number in range(600)]
    for request in requests:
        repeats.put(request, Kept())
        repeats.put(request, Kept())
    kept = [request for request in requests if repeats.find(request) is not None]
    assert kept == requests[-len(kept) :]
    # As many as there is room for in 16 MiB, with 4 KiB for what is around each.
    assert len(kept) == (16 << 20) // (60_000 + len(requests[-1]) + (4 << 10))
    assert [repeats.is_head(request) for request in requests] == [r in kept for r in requests]
    Kept.raw = b""
    small = [b"GET /%d\r\n\r\n" % number for number in range(10_000)]
    for request in small:
        repeats.put(request, Kept())
    assert sum(repeats.find(request) is not None for request in small) <= 4096
    repeats.put(requests[0] + bytes(1 << 20), Kept())
    assert repeats.find(requests[0] + bytes(1 << 20)) is None
