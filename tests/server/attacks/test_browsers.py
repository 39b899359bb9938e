"""Cross-site requests that a web page can send from a browser do not reach the namespace."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import Access, ServerOptions, serving
from tests.server.attacks.hostile_arrow import good, stream_of

STREAM = "application/vnd.apache.arrow.stream"


@contextlib.contextmanager
def serving_a_table(root):
    with connect("dir", {"path": str(root)}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.Table.from_batches([good()]))
        with serving(namespace) as uri:
            yield namespace, uri


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Yield a namespace and its server for tests that change nothing."""
    with serving_a_table(tmp_path_factory.mktemp("tables")) as found:
        yield found


@pytest.fixture
def changed(tmp_path):
    """Yield a namespace and its server for a test that changes tables."""
    with serving_a_table(tmp_path) as found:
        yield found


def ask(uri, path, headers, body=None, method="POST"):
    """Send a request with exactly these headers, plus the default ``Host`` if it is missing."""
    connection = http.client.HTTPConnection(uri.removeprefix("http://"), timeout=120)
    connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None or method == "POST":
        connection.putheader("Content-Length", str(len(body or b"")))
    connection.endheaders(body)
    with connection.getresponse() as response:
        return response.status, httpx.Response(200, content=response.read()).json()


def refused(served, headers, body=None, *, code, path="/v1/table/t/drop"):
    namespace, uri = served
    status, answer = ask(uri, path, headers, body)
    assert (status, answer["code"]) == ({13: 400, 15: 403}[code], code), answer
    assert list(namespace.iter_tables()) == ["t"]
    return answer["error"]


FORMS = {
    "application/x-www-form-urlencoded": b"a=b",
    "application/x-www-form-urlencoded; charset=UTF-8": b"a=b",
    "multipart/form-data; boundary=x": b"--x--\r\n",
    "text/plain": b'{"id": ["t"]}',
    "TEXT/PLAIN;charset=UTF-8": b'{"id": ["t"]}',
}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *[("/v1/table/t/drop", kind) for kind in FORMS],
        ("/DropTable?x=1", "text/plain"),
        ("/v1/table/u/create", "text/plain"),
    ],
)
@pytest.mark.parametrize("empty", [True, False])
def test_html_forms_change_nothing(served, kind, empty, path):
    body = b"" if empty else FORMS[kind]
    assert "Content-Type" in refused(served, {"Content-Type": kind}, body, code=13, path=path)


@pytest.mark.parametrize("path", ["/v1/table/t/drop", "/DropTable", "/v1/table/u/create"])
@pytest.mark.parametrize("kind", [None, "", "application/octet-stream", "image/png"])
def test_a_body_says_what_it_is(served, path, kind):
    body = stream_of(good()) if path.endswith("create") else b'{"id": ["t"]}'
    # Rows without a content type are accepted only from clients other than browsers.
    headers = {"Sec-Fetch-Site": "none"} if kind is None else {"Content-Type": kind}
    assert "Content-Type" in refused(served, headers, body, code=13, path=path)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:8000"},
        {"Origin": "http://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example", "Content-Type": "application/json"},
        {"Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"},
    ],
)
@pytest.mark.parametrize("body", [None, b"{}"])
def test_requests_of_other_sites_are_denied(served, headers, body):
    assert "other sites" in refused(served, headers, body, code=15)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:2333",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost@evil.example",
        "evil.example@localhost",
        "[::1",
        "",
    ],
)
def test_unknown_host_names_are_denied(served, host):
    """DNS rebinding: an attacker's host name resolves to this machine."""
    assert "--allow-host" in refused(served, {"Host": host}, code=15)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "127.8.8.8:2", "a.localhost"]
)
def test_host_names_of_this_machine_are_accepted(served, host):
    _, uri = served
    assert ask(uri, "/v1/table", {"Host": host}, method="GET")[0] == 200


def test_configured_host_names_are_accepted(tmp_path):
    named = ("LAKE.example.com", "lake.example.com.:443", "dot.example", "10.0.0.1:1", "localhost")
    options = ServerOptions(
        access=Access(allow_hosts=["Lake.example.com", "dot.example.", "10.0.0.1"])
    )
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace, options) as uri:
        for host in named:
            assert ask(uri, "/v1/table", {"Host": host}, method="GET")[0] == 200
        assert ask(uri, "/v1/table", {"Host": "x.lake.example.com"}, method="GET")[0] == 403
    options = ServerOptions(access=Access(allow_hosts=["*"]))
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace, options) as uri:
        assert ask(uri, "/v1/table", {"Host": "any.example"}, method="GET")[0] == 200


def test_a_page_of_the_server_itself_may_call(served):
    _, uri = served
    host = uri.removeprefix("http://")
    for origin in (uri, f"https://{host}"):
        headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        assert ask(uri, "/v1/table/t/describe", headers)[0] == 200
    assert ask(uri, "/v1/table", {"Sec-Fetch-Site": "none"}, method="GET")[0] == 200


def test_no_cors_headers_are_sent(served):
    _, uri = served
    answer = httpx.options(
        f"{uri}/v1/table/t/drop",
        headers={
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        },
    )
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_posts_without_body_and_content_type_are_accepted(changed):
    namespace, uri = changed
    assert ask(uri, "/v1/table/t/tags/list", {})[0] == 200
    assert ask(uri, "/v1/table/t/version/list", {})[0] == 200
    assert ask(uri, "/v1/table/t/drop", {})[0] == 200
    assert list(namespace.iter_tables()) == []


def test_posts_with_a_valid_content_type_are_accepted(changed):
    namespace, uri = changed
    body = io.BytesIO(stream_of(good())).getvalue()
    assert ask(uri, "/v1/table/u/create", {"Content-Type": STREAM}, body)[0] == 200
    assert ask(uri, "/v1/table/u/drop", {"Content-Type": "application/json"}, b"{}")[0] == 200
    assert list(namespace.iter_tables()) == ["t"]


def send_raw(uri, head):
    """Send a request head unchanged, and return the whole response."""
    address, _, port = uri.removeprefix("http://").partition(":")
    with socket.create_connection((address, int(port)), timeout=120) as connection:
        connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()


@pytest.mark.parametrize("hosts", [["evil.example", "localhost"], ["localhost", "evil.example"]])
@pytest.mark.parametrize("target", ["/v1/table/t/drop", "/ui", "/metrics", "http://localhost/ui"])
def test_repeated_host_headers_are_rejected(served, hosts, target):
    _, uri = served
    method = "POST" if target.endswith("drop") else "GET"
    lines = [f"Host: {host}" for host in hosts]
    answer = send_raw(
        uri, "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "Content-Length: 0"])
    )
    assert answer.startswith("HTTP/1.1 400"), answer[:300]
    assert "host" in answer and "more than once" in answer
    assert list(served[0].iter_tables()) == ["t"]


@pytest.mark.parametrize(
    "authority",
    [
        "http://evil.example",
        "HTTP://EVIL.EXAMPLE:80",
        "https://evil.example",
        "http://localhost@evil.example",
        "http://evil.example@localhost",
        "http://localhost:80@evil.example",
        "http://[2001:db8::1]:80",
        "http://localhost.evil.example",
    ],
)
def test_a_host_in_the_request_line_replaces_the_header(served, authority):
    """RFC 9112 requires a server to use this host and to ignore the header."""
    namespace, uri = served
    for host in ("Host: localhost\r\n", ""):
        for line in ("POST {}/v1/table/t/drop", "GET {}/ui", "GET {}/metrics"):
            answer = send_raw(uri, f"{line.format(authority)} HTTP/1.1\r\n{host}Content-Length: 0")
            assert answer.startswith("HTTP/1.1 403"), (line, answer[:300])
            assert "--allow-host" in answer
    assert list(namespace.iter_tables()) == ["t"]


@pytest.mark.parametrize("host", ["Host: localhost\r\n", "Host: evil.example\r\n", ""])
def test_a_host_of_this_machine_in_the_request_line_is_accepted(served, host):
    _, uri = served
    for authority in ("http://localhost", "HTTP://LOCALHOST:1", "http://[::1]:80"):
        answer = send_raw(uri, f"GET {authority}/v1/table HTTP/1.1\r\n{host}Accept: */*")
        assert answer.startswith("HTTP/1.1 200"), (authority, answer[:300])


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT evil.example:80",
        "CONNECT localhost:80",
        "GET evil.example:80",
        "OPTIONS *",
        "GET *",
        "GET http://",
        "GET http:///v1/table",
        "GET //evil.example/v1/table",
    ],
)
def test_a_request_line_without_a_path_of_the_server_is_rejected(served, line):
    _, uri = served
    answer = send_raw(uri, f"{line} HTTP/1.1\r\nHost: localhost")
    assert answer[:12] in ("HTTP/1.1 400", "HTTP/1.1 404"), answer[:300]
    assert '"tables"' not in answer
