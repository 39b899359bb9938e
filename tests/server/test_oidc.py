"""Callers authenticate with tokens of an OpenID Connect issuer, whose keys change at run time."""

from __future__ import annotations

import base64
import contextlib
import functools
import gzip
import hmac
import json
import pickle
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_impls.server import (
    Caller,
    Credentials,
    Limits,
    OidcIssuer,
    ServerOptions,
    serving,
)
from lance_namespace_impls.server.security import authentication, oidc
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client


@functools.cache
def first_key() -> RSAKey:
    """Return the first key of every issuer; it takes long to generate one."""
    return RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)


class Issuer:
    """An OpenID Connect issuer on a free local port."""

    def __init__(self) -> None:
        self.keys = [first_key()]
        self.asked = 0
        self.down = False
        self.hangs = threading.Event()
        """Set while requests hang."""
        self.free = threading.Event()
        """Set to let hanging requests continue."""
        self.arrived = threading.Semaphore(0)
        """Released once for each hanging request."""
        self.answer = None
        """A function that sends a different response to requests for the keys, or None."""
        self.named = ""
        """The issuer name in its document, if it differs from the address."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if issuer.hangs.is_set():
                    issuer.arrived.release()
                    issuer.free.wait(300)
                if self.path == "/keys" and issuer.answer is not None:
                    issuer.answer(self)
                    return
                named = issuer.named or issuer.uri
                document = {"issuer": named, "jwks_uri": f"{issuer.uri}/keys"}
                if self.path == "/keys":
                    issuer.asked += 1
                    document = KeySet(issuer.keys).as_dict(private=False)
                    document["keys"].append({"kty": "unheard-of", "kid": "x"})
                body = json.dumps(document).encode()
                self.send_response(500 if issuer.down else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def uri(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def claims(self, **changed):
        claims = {
            "iss": self.uri, "aud": "lance", "sub": "ana", "exp": int(time.time()) + 600,
            "groups": ["writers"], **changed,
        }  # fmt: skip
        return {key: value for key, value in claims.items() if value is not None}

    def token(self, key=None, alg="RS256", header=None, **changed):
        key = key or self.keys[-1]
        head = {"alg": alg, "kid": key.kid, **(header or {})}
        return jwt.encode(head, self.claims(**changed), key, algorithms=[alg])

    def stop(self):
        self.free.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def issuer(monkeypatch):
    monkeypatch.setattr(oidc, "MIN_SECONDS", 0.0)
    found = Issuer()
    yield found
    found.stop()


def find(source, *tokens):
    credentials = Credentials(tokens=tokens)
    begun = source.prepare(credentials)
    if begun is not None:
        begun.result(300)
    return source.find(credentials)


def refreshed(source):
    """Wait for the running fetch of keys, if any."""
    begun = source._fetching
    if begun is not None:
        begun.result(300)


ANA = Caller("ana", frozenset({"writers"}))


def test_valid_tokens(issuer):
    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, issuer.token()) == ANA
    assert find(source, issuer.token(aud=["other", "lance"])) == ANA
    assert find(source, issuer.token(groups=None)) == Caller("ana")
    assert find(source, issuer.token(exp=int(time.time()) - 10)) == ANA  # clocks differ
    assert find(source, issuer.token(alg="PS256")) == ANA
    assert issuer.asked == 1
    by_mail = OidcIssuer(issuer.uri, "lance", name_claim="email")
    assert find(by_mail, issuer.token(email="a@example.com")).name == "a@example.com"
    assert find(by_mail, issuer.token()) is None


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unsigned(claims, alg):
    header = json.dumps({"alg": alg, "kid": "one"}).encode()
    return f"{part(header)}.{part(json.dumps(claims).encode())}."


def with_secret(claims, secret):
    text = unsigned(claims, "HS256")[:-1]
    return f"{text}.{part(hmac.digest(secret, text.encode(), 'sha256'))}"


def test_invalid_tokens(issuer):
    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, issuer.token()) == ANA
    now = int(time.time())
    stranger = RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
    public = issuer.keys[0].as_pem(private=False)
    good = issuer.token()
    head, _, signature = good.split(".")
    other = issuer.token(sub="eve").split(".")[1]
    bad = {
        "expired": issuer.token(exp=now - 120),
        "no expiry": issuer.token(exp=None),
        "expiry that is no number": issuer.token(exp="tomorrow"),
        "not yet": issuer.token(nbf=now + 600),
        "wrong audience": issuer.token(aud="other"),
        "audience that only begins so": issuer.token(aud="lance2"),
        "no audience": issuer.token(aud=None),
        "wrong issuer": issuer.token(iss="https://elsewhere"),
        "no name": issuer.token(sub=None),
        "name that is no text": issuer.token(sub=7),
        "groups that are no list": issuer.token(groups="admins"),
        "none": unsigned(issuer.claims(), "none"),
        "None": unsigned(issuer.claims(), "None"),
        "no signature": unsigned(issuer.claims(), "RS256"),
        "another's key under the same name": issuer.token(stranger),
        "the public key as a secret": with_secret(issuer.claims(), public),
        "a key in the token": issuer.token(
            stranger, header={"jwk": stranger.as_dict(private=False), "kid": "zero"}
        ),
        "another payload": f"{head}.{other}.{signature}",
        "cut": good[:-10],
        "dots": "..",
        "text": "a.b.c",
    }
    for what, token in bad.items():
        assert find(source, token) is None, what


def test_keys_are_rotated_while_the_server_runs(issuer, monkeypatch):
    source = OidcIssuer(issuer.uri, "lance")
    options = ServerOptions(callers=[source])
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:

        def status(token):
            sent = {"authorization": f"Bearer {token}"}
            return client.post("/v1/table/t/describe", headers=sent).status_code

        old = issuer.token()
        assert status(old) == 200
        issuer.keys.append(ECKey.generate_key("P-256", {"kid": "two"}, auto_kid=False))
        new = issuer.token(alg="ES256")
        assert status(new) == 200
        assert status(old) == 200
        del issuer.keys[0]
        monkeypatch.setattr(oidc, "KEEP_SECONDS", 0.0)
        assert status(new) == 200  # calls do not wait while expired keys are replaced
        refreshed(source)
        assert (status(new), status(old)) == (200, 401)
        refreshed(source)
        issuer.down = True
        assert status(new) == 200
        assert status("x.y.z") == 401


def test_an_unavailable_issuer_is_an_error_until_it_recovers(issuer):
    issuer.down = True
    options = ServerOptions(callers=[OidcIssuer(issuer.uri, "lance")])
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:
        sent = {"authorization": f"Bearer {issuer.token()}"}
        answer = client.post("/v1/table/t/describe", headers=sent)
        assert (answer.status_code, answer.json()["code"]) == (503, 17)
        issuer.down = False
        assert client.post("/v1/table/t/describe", headers=sent).status_code == 200


def test_unknown_keys_do_not_cause_a_fetch_per_call(issuer, monkeypatch):
    monkeypatch.setattr(oidc, "MIN_SECONDS", 3600.0)
    source = OidcIssuer(issuer.uri, "lance")
    monkeypatch.setattr(source, "_tried", -1e9)
    assert find(source, issuer.token()) == ANA
    stranger = RSAKey.generate_key(2048, {"kid": "nine"}, auto_kid=False)
    for _ in range(5):
        assert find(source, issuer.token(stranger)) is None
    assert issuer.asked == 1


def away(source, token):
    with pytest.raises(ServiceUnavailableError, match="keys of the issuer http"):
        find(source, token)


def test_the_document_of_another_issuer_is_rejected(issuer, caplog):
    issuer.named = "https://elsewhere.example"
    away(OidcIssuer(issuer.uri, "lance"), issuer.token())
    assert "its discovery document is for 'https://elsewhere.example'" in caplog.text
    assert issuer.asked == 0


def test_a_response_that_is_too_large_is_rejected(issuer, monkeypatch, caplog):
    source = OidcIssuer(issuer.uri, "lance")
    monkeypatch.setattr(oidc, "MAX_BYTES", 100)
    away(source, issuer.token())
    assert "/keys is larger than 100 bytes" in caplog.text
    monkeypatch.setattr(oidc, "MAX_BYTES", 1 << 20)
    assert find(source, issuer.token()) == ANA


def test_only_signing_keys_are_used(issuer):
    other = RSAKey.generate_key(2048, {"kid": "two", "use": "enc"}, auto_kid=False)
    issuer.keys.append(other)
    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, issuer.token(issuer.keys[0])) == ANA
    assert list(source._keys) == ["one"]


def test_a_token_without_a_key_id_is_verified_with_the_only_key(issuer):
    def token():
        return jwt.encode({"alg": "RS256"}, issuer.claims(), issuer.keys[0], algorithms=["RS256"])

    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, token()) == ANA
    issuer.keys.append(ECKey.generate_key("P-256", {"kid": "two"}, auto_kid=False))
    assert find(OidcIssuer(issuer.uri, "lance"), token()) is None


def test_the_first_valid_token_is_used_and_other_texts_are_skipped(issuer):
    source = OidcIssuer(issuer.uri, "lance")
    good, other = issuer.token(), issuer.token(sub="ben")
    for tokens in (("key", good), ("a.b", "a.b.c.d", good), ("a.b.c", good, other)):
        assert find(source, *tokens) == ANA
    assert source.find(Credentials()) is None
    assert issuer.asked == 1


def test_custom_claims_and_pickled_issuers(issuer):
    made = OidcIssuer(issuer.uri, "lance", name_claim="email", groups_claim="roles")
    for source in (made, pickle.loads(pickle.dumps(made))):
        found = find(source, issuer.token(email="a@b", roles=["x", 7, "y"]))
        assert found == Caller("a@b", frozenset({"x", "y"}))
        assert find(source, issuer.token(email="")) is None


def test_keys_are_refreshed_every_five_minutes_with_a_retry_delay(issuer, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(oidc, "MIN_SECONDS", 5.0)
    monkeypatch.setattr(oidc, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    source = OidcIssuer(issuer.uri, "lance")
    asked = []
    for seconds, down in (
        (0, False), (299, False), (300, False), (600, True), (604, False), (605, False),
    ):  # fmt: skip
        clock[0], issuer.down = 1000.0 + seconds, down
        assert find(source, issuer.token()) == ANA
        refreshed(source)
        asked.append(issuer.asked)
    assert asked == [1, 1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("issuer", "audience"),
    [("http://example.com", "a"), ("ftp://x", "a"), ("x", "a"), ("https://x", "")],
)
def test_an_untrusted_issuer_is_rejected(issuer, audience):
    with pytest.raises(InvalidInputError):
        OidcIssuer(issuer, audience)


def unknown(issuer, number):
    """Return a token with the id of a key that the issuer does not have."""
    return issuer.token(issuer.keys[0], header={"kid": f"unknown-{number}"})


def described(client, token, **more):
    sent = {} if token is None else {"authorization": f"Bearer {token}"}
    return client.post("/v1/table/t/describe", headers=sent, **more).status_code


@pytest.mark.parametrize("place", ["header", "body"])
def test_unknown_keys_do_not_delay_others_while_the_issuer_hangs(issuer, monkeypatch, place):
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 300.0)
    source = OidcIssuer(issuer.uri, "lance")
    options = ServerOptions(callers=[source], limits=Limits(metadata_calls=4))
    with (
        serving(EchoNamespace(), options) as uri,
        http_client(uri, timeout=300) as client,
        ThreadPoolExecutor(40) as threads,
    ):
        assert described(client, issuer.token()) == 200
        issuer.hangs.set()

        def guess(number):
            with http_client(uri, timeout=300) as own:
                token = unknown(issuer, number)
                if place == "header":
                    return described(own, token)
                return described(own, None, json={"identity": {"auth_token": token}})

        guesses = [threads.submit(guess, number) for number in range(40)]
        assert issuer.arrived.acquire(timeout=300)
        for _ in range(20):
            assert described(client, issuer.token()) == 200
        assert not any(each.done() for each in guesses)  # they wait, but the other calls did not
        assert not issuer.arrived.acquire(blocking=False)  # all of them wait for the same fetch
        issuer.hangs.clear()
        issuer.free.set()
        assert {each.result() for each in guesses} <= {401, 429}


def test_an_issuer_that_hangs_has_a_deadline(issuer, monkeypatch, caplog):
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 0.2)
    source = OidcIssuer(issuer.uri, "lance")
    issuer.hangs.set()
    away(source, issuer.token())
    assert "no response within 0.2 s" in caplog.text
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 300.0)
    issuer.hangs.clear()
    assert find(source, issuer.token()) == ANA


def test_too_many_waiting_calls_with_unknown_keys_are_throttled(issuer, monkeypatch):
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 300.0)
    monkeypatch.setattr(authentication, "MAX_PREPARING", 2)
    issuer.hangs.set()
    options = ServerOptions(callers=[OidcIssuer(issuer.uri, "lance")])
    with serving(EchoNamespace(), options) as uri, ThreadPoolExecutor(3) as threads:

        def guess(number):
            with http_client(uri, timeout=300) as own:
                return described(own, unknown(issuer, number))

        guesses = [threads.submit(guess, number) for number in range(3)]
        done, _ = wait(guesses, return_when=FIRST_COMPLETED)
        assert [each.result() for each in done] == [429]
        issuer.hangs.clear()
        issuer.free.set()
        assert sorted(each.result() for each in guesses) == [401, 401, 429]


def test_absent_keys_are_cached(issuer, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(oidc, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(oidc, "MAX_ABSENT", 3)
    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, issuer.token()) == ANA
    for _ in range(5):
        assert find(source, unknown(issuer, 0)) is None
    assert issuer.asked == 2
    clock[0] += oidc.ABSENT_SECONDS
    assert find(source, unknown(issuer, 0)) is None
    assert issuer.asked == 3
    for number in range(20):
        assert find(source, unknown(issuer, number)) is None
    assert len(source._absent) == 3
    issuer.keys.append(ECKey.generate_key("P-256", {"kid": "unknown-19"}, auto_kid=False))
    assert find(source, unknown(issuer, 21)) is None
    assert find(source, issuer.token(alg="ES256")) == ANA  # the key was absent before


def answers(status=200, body=b"", **headers):
    def answer(handler):
        handler.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def send_slowly(handler):
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.01)


def grows(handler):
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" " * 65536)


HOSTILE = {
    "garbage": answers(body=b"\x00\xff"),
    "text": answers(body=b'"keys"'),
    "list": answers(body=b"[]"),
    "no keys": answers(body=b'{"keys": []}'),
    "keys that are no list": answers(body=b'{"keys": 7}'),
    "keys that are no objects": answers(body=b'{"keys": ["a"]}'),
    "deep": answers(body=b"[" * 200_000),
    "elsewhere": answers(302, location="https://elsewhere.example/keys"),
    "compressed": answers(body=gzip.compress(b" " * 10_000_000), content_encoding="gzip"),
    "without end": grows,
    "slow": send_slowly,
    "gone": lambda handler: handler.connection.close(),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_invalid_response_of_the_issuer_has_no_effect(issuer, monkeypatch, what):
    if what == "slow":
        monkeypatch.setattr(oidc, "FETCH_SECONDS", 0.5)
    source = OidcIssuer(issuer.uri, "lance")
    issuer.answer = HOSTILE[what]
    away(source, issuer.token())
    issuer.answer = None
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 300.0)
    assert find(source, issuer.token()) == ANA
    monkeypatch.setattr(oidc, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 0.5 if what == "slow" else 300.0)
    issuer.answer = HOSTILE[what]
    assert find(source, issuer.token()) == ANA
    refreshed(source)
    assert find(source, issuer.token()) == ANA


def test_an_invalid_key_is_skipped(issuer, caplog):
    broken = {"kty": "RSA", "kid": "broken"}
    document = KeySet(issuer.keys).as_dict(private=False)
    document["keys"].insert(0, broken)
    issuer.answer = answers(body=json.dumps(document).encode())
    assert find(OidcIssuer(issuer.uri, "lance"), issuer.token()) == ANA
    assert "a key of http" in caplog.text


def test_keys_are_not_fetched_without_tls(issuer, monkeypatch, caplog):
    async def get(client, uri):
        return {"issuer": issuer.uri, "jwks_uri": "http://elsewhere.example/keys"}

    monkeypatch.setattr(oidc, "_get", get)
    away(OidcIssuer(issuer.uri, "lance"), issuer.token())
    assert "its jwks_uri must be an https URL" in caplog.text


@pytest.mark.parametrize(
    "header",
    [b"[" * 6000, b'{"alg": "RS256", "kid": ["a"]}', b'{"alg": "RS256", "kid": {}}', b"7", b"\xff"],
)
def test_an_invalid_token_header_causes_no_fetch(issuer, header):
    source = OidcIssuer(issuer.uri, "lance")
    assert find(source, issuer.token()) == ANA
    token = f"{part(header)}.{part(b'{}')}.{part(b'x')}"
    assert find(source, token) is None
    assert issuer.asked == 1
