"""Authentication of callers by token files and client certificates, and safe listen addresses."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import os
import re
import socket
import ssl
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError, ThrottlingError, UnauthenticatedError
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    Access,
    Caller,
    Credentials,
    ServerOptions,
    Tls,
    TokenFile,
    new_token,
    run,
    serve,
    serving,
)
from lance_namespace_impls.server.http.requests import Headers
from lance_namespace_impls.server.security import authentication, watched_file
from tests.servers.certificates import Authority
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client
from tests.servers.process import wait_until


@pytest.fixture
def tokens(tmp_path):
    ana, old = (
        new_token("ana", ("writers",)),
        new_token(
            "old", expires=datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
        ),
    )
    file = tmp_path / "tokens.toml"
    file.write_text(ana.entry + "\n" + old.entry)
    return file, ana.token, old.token


@contextlib.contextmanager
def client_of(namespace, token_file):
    options = ServerOptions(callers=[TokenFile(token_file)])
    with serving(namespace, options) as uri, http_client(uri, timeout=300) as client:
        yield client


@pytest.fixture
def served(tokens, tmp_path):
    file, ana, old = tokens
    with connect("dir", {"path": str(tmp_path / "tables")}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1]}))
        with client_of(namespace, file) as client:
            yield client, ana, old, file


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Yield a client without credentials of a server that requires a token."""
    file = tmp_path_factory.mktemp("strict") / "tokens.toml"
    file.write_text(new_token("ana").entry)
    with client_of(EchoNamespace(), file) as client:
        yield client


def refused(response):
    assert (response.status_code, response.json()["code"]) == (401, 16), response.text
    assert response.headers["www-authenticate"].startswith("Bearer")
    return response.json()["error"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_requires_authentication(strict, name):
    client = strict
    operation = OPERATIONS[name]
    path = operation.path.format_map(dict.fromkeys(operation.path_fields, "t"))
    sends = {"content": b"x"} if operation.body is Body.ARROW else {}
    refused(client.request(operation.http_method, path, **sends))
    refused(client.post(f"/{name}", content=b"x" if sends else b"{}"))
    assert client.get("/healthz").status_code == 200


def test_tokens_in_headers_and_bodies(served):
    client, ana, old, _ = served
    good = [
        {"headers": {"authorization": f"Bearer {ana}"}},
        {"headers": {"authorization": f"bearer  {ana}"}},
        {"headers": {"x-api-key": ana}},
        {"json": {"identity": {"auth_token": ana}}},
        {"json": {"identity": {"api_key": ana}}},
    ]
    for sent in good:
        answer = client.post("/v1/table/t/describe", **sent)
        assert answer.status_code == 200, (sent, answer.text)
    bad = [
        {"headers": {"authorization": f"Basic {ana}"}},
        {"headers": {"authorization": f"Bearer {ana}x"}},
        {"headers": {"authorization": f"Bearer {ana[:-1]}"}},
        {"headers": {"x-api-key": old}},
        {"headers": {"x-api-key": hashlib.sha256(ana.encode()).hexdigest()}},
        {"headers": {"x-api-key": "x" * 20_000}},
        {"headers": {"x-api-key": b"\xff"}},
        {"json": {"identity": {"auth_token": old}}},
        {"json": {"identity": {}}},
        {"json": {"identity": None}},
        {"json": {"identity": {"auth_token": ""}}},
        {"content": rb'{"identity": {"auth_token": "\ud800"}}'},
    ]
    for sent in bad:
        message = refused(client.post("/v1/table/t/describe", **sent))
        assert ana not in message and old not in message
    # A valid token in the body does not make up for an invalid header.
    wrong = {"authorization": "Bearer x"}
    refused(client.post("/v1/table/t/describe", json={"identity": {"api_key": ana}}, headers=wrong))


def test_credentials_for_the_server_are_not_forwarded(tokens):
    file, ana, _ = tokens
    echo = EchoNamespace()
    with serving(echo, ServerOptions(callers=[TokenFile(file)])) as uri, http_client(uri) as client:
        for sent in ({"headers": {"x-api-key": ana}}, {"json": {"identity": {"auth_token": ana}}}):
            answer = client.post("/v1/table/t/describe", **sent)
            assert ana not in answer.text and ana not in repr(vars(echo))


@pytest.fixture
def immediate_reload(monkeypatch):
    """Let the server check its files in every request."""
    monkeypatch.setattr(watched_file, "POLL_SECONDS", 0.0)


def test_a_changed_token_file_is_read_again(immediate_reload, served):
    client, ana, _, file = served
    ben = new_token("ben")

    def status(token):
        return client.post("/v1/table/t/describe", headers={"x-api-key": token}).status_code

    assert status(ana) == 200
    file.write_text(ben.entry)
    assert (status(ben.token), status(ana)) == (200, 401)
    file.write_text("[[token")  # incomplete: the previous contents remain in effect
    assert status(ben.token) == 200
    os.remove(file)
    assert status(ben.token) == 200
    file.write_text("")
    assert status(ben.token) == 401


def test_only_callers_that_guess_tokens_are_throttled(served):
    client, ana, *_ = served
    found = [
        client.post("/v1/table/t/describe", headers={"x-api-key": f"guess {i}"})
        for i in range(authentication.FAILURES + 10)
    ]
    assert {answer.status_code for answer in found[: authentication.FAILURES]} == {401}
    assert found[-1].status_code == 429 and found[-1].json()["code"] == 21
    assert int(found[-1].headers["retry-after"]) >= 1
    good = client.post("/v1/table/t/describe", headers={"x-api-key": ana})
    assert good.status_code == 200


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[token]]\nname = 'a'", "sha256"),
        ("[[token]]\nsha256 = '" + "0" * 64 + "'", "has no name"),
        ("[[token]]\nname = 'a'\nsha256 = '" + "0" * 63 + "'", "64"),
        ("[[token]]\nname = 'a'\nsha256 = '" + "0" * 64 + "'\ngroup = ['x']", "'group'"),
        ("[[token]]\nname = 'a'\nsha256 = '" + "0" * 64 + "'\ngroups = 'x'", "list"),
        ("[[token]]\nname = 'a'\nsha256 = '" + "0" * 64 + "'\nexpires = 'x'", "date"),
        ("[token]\nname = 'a'", "[[token]]"),
        ("[[tokens]]", "'tokens'"),
        ("[[", "token"),
        ("[[token]]\nname = ''", "token 1 has no name"),
        ("[[token]]\nname = 7", "token 1 has no name"),
        ("[[token]]\nname = 'a'\nsha256 = 7", "token 1 ('a') needs sha256"),
        ("[[token]]\nname = 'a'\nsha256 = '" + "0" * 64 + "'\ngroups = [7]", "a list of names"),
    ],
)
def test_an_invalid_token_file_is_rejected(tmp_path, text, says):
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(InvalidInputError) as caught:
        TokenFile(file)
    assert says in caught.value.message
    assert "\n" not in caught.value.message


def test_expiry_dates_and_times(tmp_path):
    file = tmp_path / "tokens.toml"
    digest = hashlib.sha256(b"x").hexdigest()
    given = Credentials(tokens=("x",))
    for expires, good in (
        ("2999-01-01", True), ("2000-01-01", False), ("2999-01-01T00:00:00", True),
        ("2000-01-01T00:00:00+02:00", False),
    ):  # fmt: skip
        file.write_text(f"[[token]]\nname='a'\nsha256='{digest.upper()}'\nexpires={expires}\n")
        assert TokenFile(file).find(given) == (Caller("a") if good else None)


@pytest.mark.parametrize(
    ("certificate", "caller"),
    [
        (None, None),
        ({}, None),
        ({"subject": ((("countryName", "DE"),),)}, None),
        ({"subject": ((("commonName", ""),),), "subjectAltName": (("DNS", "x"),)}, None),
        (
            {"subject": ((("commonName", "ana"),),), "subjectAltName": (("DNS", "x"),)},
            Caller("ana"),
        ),
        ({"subject": (), "subjectAltName": (("DNS", "x"), ("DNS", "y"))}, Caller("x")),
        (
            {
                "subject": (
                    (("organizationalUnitName", "writers"), ("commonName", "ana")),
                    (("organizationalUnitName", "all"),),
                )
            },
            Caller("ana", frozenset({"writers", "all"})),
        ),
    ],
)
def test_the_caller_of_a_certificate(certificate, caller):
    given = Credentials(certificate=certificate)
    assert authentication.Certificates().find(given) == caller
    assert bool(given) is bool(certificate)


def test_a_certificate_and_a_key_reach_the_sources():
    both = Credentials.of(Headers([(b"x-api-key", b" key ")]), {"subject": ()})
    assert (both.tokens, both.certificate) == (("key",), {"subject": ()})
    assert "key" not in repr(both) and "subject" not in repr(both)


def test_credentials_have_a_maximum_length():
    longest = "x" * (16 << 10)
    for token, tokens in ((longest, (longest,)), (longest + "x", ())):
        assert Credentials.of(Headers([(b"x-api-key", token.encode())])).tokens == tokens


def test_throttling_of_guesses_ends_after_a_delay(monkeypatch):
    now = 100.0
    monkeypatch.setattr(authentication, "time", SimpleNamespace(monotonic=lambda: now))
    known = authentication.Authentication([])

    def failure(address="10.0.0.1"):
        with pytest.raises((UnauthenticatedError, ThrottlingError)) as caught:
            known.find(Credentials(tokens=("x",)), address)
        return getattr(caught.value, "retry_after", None)

    assert [failure() for _ in range(20)] == [None] * 20
    assert [failure() for _ in range(3)] == [2.0] * 3
    assert failure("10.0.0.2") is None
    now += 1.0
    assert failure() == 1.0  # half an attempt has been restored, and this failure uses it up
    now += 2.0
    assert failure() is None
    now += 3600.0
    assert [failure() for _ in range(21)] == [None] * 20 + [2.0]
    with pytest.raises(UnauthenticatedError, match="authentication required"):
        known.find(Credentials(), "10.0.0.1")


@pytest.mark.parametrize(
    ("host", "options", "is_safe"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("localhost", {}, True),
        ("0.0.0.0", {"insecure": True}, True),
        ("0.0.0.0", {"callers": [authentication.Certificates()]}, True),
        ("0.0.0.0", {"tls": Tls(cert="c", key="k", client_ca="a")}, True),
        ("0.0.0.0", {"tls": Tls(cert="c", key="k")}, False),
        ("0.0.0.0", {"read_only": True}, False),
        ("lake.example", {}, False),
    ],
)
def test_public_addresses_require_authentication(host, options, is_safe):
    refused = pytest.raises(InvalidInputError, match=f"every client that reaches {re.escape(host)}")
    with contextlib.nullcontext() if is_safe else refused:
        run._check_safe(host, ServerOptions(**options))


@pytest.mark.parametrize(
    ("host", "hosts"),
    [("lake.example", {"a", "lake.example"}), ("0.0.0.0", {"a"}), ("::", {"a"}), ("", {"a"})],
)
def test_the_listen_name_is_an_allowed_host(host, hosts):
    options = ServerOptions(access=Access(allow_hosts=["a"]), read_only=True)
    named = run._named(options, host)
    assert named.access.allow_hosts == hosts and named.read_only
    own = ServerOptions(access=authentication)  # stands for any object with its own check()
    assert run._named(own, host) is own


def test_options_accept_iterables_and_path_strings():
    one = ServerOptions(
        callers=iter([authentication]), middleware=iter([]), lancedb_databases={"a": iter("bc")}
    )
    assert one.callers == (authentication,) and one.middleware == ()
    assert one.lancedb_databases == {"a": ("b", "c")}
    tls = Tls(cert="c", key="k", client_ca="a")
    assert (tls.cert, tls.key, tls.client_ca) == (Path("c"), Path("k"), Path("a"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_wildcard_addresses_without_authentication_are_rejected(host):
    with pytest.raises(InvalidInputError) as caught:
        serve(EchoNamespace(), host, 0)
    assert "--insecure" in caught.value.message


# --- TLS


@pytest.fixture
def secured(tmp_path):
    authority = Authority(tmp_path)
    issued = authority.issue("server", "localhost")
    return authority, issued, tmp_path


def serial_of(uri, authority):
    """Return the serial number of the server's certificate on a new connection."""
    from cryptography import x509

    host, _, port = uri.partition("//")[2].partition(":")
    context = ssl.create_default_context(cafile=str(authority.file))
    with (
        socket.create_connection((host, int(port)), 30) as plain,
        context.wrap_socket(plain, server_hostname=host) as found,
    ):
        return x509.load_der_x509_certificate(found.getpeercert(True)).serial_number


def test_a_renewed_certificate_is_used(secured, caplog):
    authority, issued, _ = secured
    options = ServerOptions(tls=Tls(cert=issued.cert, key=issued.key))
    with serving(EchoNamespace(), options) as uri:
        assert uri.startswith("https://")
        context = ssl.create_default_context(cafile=str(authority.file))
        with http_client(uri, verify=context) as client:
            assert client.get("/healthz").status_code == 200
        assert serial_of(uri, authority) == issued.serial
        issued.cert.write_text("half a certificate")
        wait_until(lambda: "the previous certificate remains in use" in caplog.text)
        assert serial_of(uri, authority) == issued.serial
        renewed = authority.issue("server", "localhost")
        wait_until(lambda: serial_of(uri, authority) == renewed.serial, step=0.2)


def test_client_certificates_must_be_issued_by_the_authority(secured):
    authority, issued, folder = secured
    client_cert = authority.issue("ana", "ana", "writers")
    other = Authority(folder, "another authority").issue("eve", "ana")
    seen = []

    class RecordingSource:
        waits = False

        def find(self, credentials):
            seen.append(authentication.Certificates().find(credentials))

    tls = Tls(cert=issued.cert, key=issued.key, client_ca=authority.file)
    with serving(EchoNamespace(), ServerOptions(tls=tls, callers=[RecordingSource()])) as uri:

        def call(pair):
            context = ssl.create_default_context(cafile=str(authority.file))
            if pair is not None:
                context.load_cert_chain(pair.cert, pair.key)
            with http_client(uri, verify=context) as client:
                return client.post("/v1/table/t/describe").status_code

        assert call(client_cert) == 200
        assert seen == [Caller("ana", frozenset({"writers"}))]
        for pair in (None, other):
            with pytest.raises(
                (OSError, Exception), match=r"(?i)ssl|certificate|closed|reset|read|disconnect"
            ):
                call(pair)
        assert len(seen) == 1


@pytest.mark.parametrize("broken", ["cert", "key", "client_ca"])
def test_missing_tls_files_are_rejected(secured, broken):
    authority, issued, folder = secured
    files = {"cert": issued.cert, "key": issued.key, "client_ca": authority.file}
    files[broken] = folder / "none.pem"
    with pytest.raises(InvalidInputError) as caught:
        Tls(**files).context()
    assert "none.pem" in caught.value.message


@pytest.mark.parametrize("texts", [("",), ("a\nb",), ("ana", ""), ("ana", "a", "b\x07")])
def test_token_names_cannot_contain_control_characters(texts):
    name, *groups = texts
    with pytest.raises(InvalidInputError, match="must not contain control characters"):
        new_token(name, tuple(groups))


def test_a_token_has_256_bits_and_is_not_in_its_repr():
    made = new_token("ana")
    assert made.token.startswith("lns_") and made.token not in repr(made)
    padded = made.token.removeprefix("lns_") + "="
    assert len(base64.urlsafe_b64decode(padded)) == 32
    assert new_token("ana").token != made.token


def test_an_expiry_without_a_time_zone_is_written_as_utc():
    made = new_token("ana", expires=datetime.datetime(2030, 1, 31, 12))
    assert "expires = 2030-01-31T12:00:00+00:00" in made.entry


def test_the_number_of_recorded_addresses_is_limited(monkeypatch):
    monkeypatch.setattr(authentication, "ADDRESSES", 3)
    known = authentication.Authentication([])
    for number in range(10):
        with pytest.raises(UnauthenticatedError):
            known.find(Credentials(tokens=("x",)), f"10.0.0.{number}")
    assert list(known._failures) == ["10.0.0.7", "10.0.0.8", "10.0.0.9"]
