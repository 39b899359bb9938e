"""Servers that require tokens, signatures or computed headers, checked for a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.conformance import check_url
from lance_namespace_impls.conformance.redact import RECENT_VALUES, Redactor
from lance_namespace_impls.conformance.runner import CannotRunError, Options
from lance_namespace_impls.core import oauth
from lance_namespace_impls.server import serving
from tests.core.test_request_auth import SECRETS, is_signed
from tests.servers.tokens import CLIENT, SECRET, Issuer, ProtectedProxy
from tests.servers.web import Answer, Asked, WebServer

from .targets import memory

CHECKS = ("LN-TABLE-DECLARE-*", "LN-WIRE-AUTH-001", "LN-WIRE-BODY-063")
pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that requires no authentication."""
    with serving(memory(tmp_path_factory.mktemp("served"), "mixed")) as address:
        yield address


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Issuer:
    """An issuer whose clock advances by half a second with each request for something else."""
    issuer = Issuer()
    monkeypatch.setattr(oauth, "time", issuer.clock)
    return issuer


@pytest.fixture
def token_server(issuer: Issuer) -> Iterator[WebServer]:
    with WebServer(issuer.issue) as running:
        yield running


def requiring_tokens(uri: str, issuer: Issuer) -> ProtectedProxy:
    def refusal(asked: Asked) -> Answer | None:
        refused = issuer.refusal(asked)
        issuer.clock.now += 0.5
        return refused

    return ProtectedProxy(uri, refusal)


def login(token_server: WebServer, **more: str) -> dict[str, str]:
    uri = f"{token_server.uri}/token"
    return {"credential": f"{CLIENT}:{SECRET}", "oauth2-server-uri": uri, **more}


def checked(uri: str, properties: Mapping[str, Any], *only: str, **more: Any) -> dict[str, Any]:
    return check_url(uri, Options(only=only or CHECKS), properties=properties, **more)


def results(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the results of the selected checks."""
    found = {each["id"]: each["result"] for each in report["checks"]}
    return {id: result for id, result in found.items() if result != "disabled"}


def test_a_run_renews_its_tokens(uri: str, issuer: Issuer, token_server: WebServer) -> None:
    with requiring_tokens(uri, issuer) as server:
        report = checked(server.uri, login(token_server))
    found = results(report)
    assert len(found) > 6
    assert set(found.values()) <= {"pass", "skip"}
    assert found["LN-TABLE-DECLARE-001"] == "pass"
    assert issuer.expired == 0
    assert issuer.issued > 10  # each lives for four requests
    assert found["LN-WIRE-BODY-063"] == "pass"
    assert found["LN-WIRE-AUTH-001"] == "pass"  # an invalid token is sent unchanged
    assert any(each.headers["authorization"].endswith("server") for each in server.asked)
    text = json.dumps(report)
    assert SECRET not in text and "issued-token" not in text


def test_failures_show_placeholders(uri: str, issuer: Issuer, token_server: WebServer) -> None:
    """The server repeats the token in an error message and in a header."""

    def refusal(asked: Asked) -> Answer | None:
        refused = issuer.refusal(asked)
        issuer.clock.now += 0.5
        if refused is not None or not asked.path.endswith("/declare"):
            return refused
        token = asked.headers["authorization"].removeprefix("Bearer ")
        body = {"error": f"it failed with {token}", "code": 18}
        return Answer(status=500, body=body, headers={"X-Token": token})

    with ProtectedProxy(uri, refusal) as server:
        report = checked(server.uri, login(token_server), "LN-TABLE-DECLARE-001")
    (entry,) = (each for each in report["checks"] if each["id"] == "LN-TABLE-DECLARE-001")
    assert entry["result"] == "fail"
    text = json.dumps(report)
    assert "it failed with ***" in text
    assert "issued-token" not in text and SECRET not in text
    assert "# Replace *** with the credentials.\n" in entry["script"]["curl"]
    assert "-H 'authorization: ***'" in entry["script"]["curl"]
    assert "\"credential\": '***'" in entry["script"]["python"]
    assert "authorization: ***" in entry["request"]


def test_a_run_signs_its_requests(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRETS["AKIA1"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-token-of-mine")

    def refusal(asked: Asked) -> Answer | None:
        if asked.headers.get("authorization", "").startswith("AWS4") and is_signed(
            asked, server.uri, "execute-api", "us-west-2"
        ):
            return None
        return Answer(status=401, body={"error": "no signature", "code": 16})

    with ProtectedProxy(uri, refusal) as server:
        properties = {"sigv4": "true", "sigv4_region": "us-west-2"}
        report = checked(server.uri, properties)
    found = results(report)
    assert found["LN-WIRE-BODY-063"] == "skip"  # it cannot be signed without https
    assert found["LN-TABLE-DECLARE-001"] == "pass"
    assert set(found.values()) <= {"pass", "skip"}
    text = json.dumps(report)
    assert SECRETS["AKIA1"] not in text and "session-token-of-mine" not in text
    assert "Signature=" not in text


class Keys:
    """A provider of a new key for each request."""

    calls: ClassVar[list[Mapping[str, str]]] = []

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        self.calls.append(info)
        return {"headers.X-Key": f"{self.prefix}-{len(self.calls)}"}


def test_a_run_calls_a_header_class(uri: str) -> None:
    Keys.calls.clear()

    def refusal(asked: Asked) -> Answer | None:
        if asked.headers.get("x-key", "").startswith("provided-key-"):
            return None
        return Answer(status=401, body={"error": "no key", "code": 16})

    properties = {
        "dynamic_context_provider.impl": f"{__name__}.Keys",
        "dynamic_context_provider.prefix": "provided-key",
    }
    with ProtectedProxy(uri, refusal) as server:
        report = checked(server.uri, properties)
    assert results(report)["LN-TABLE-DECLARE-001"] == "pass"
    assert set(results(report).values()) <= {"pass", "skip"}
    assert "provided-key" not in json.dumps(report)
    assert "declare_table" in {each["operation"] for each in Keys.calls}


def test_a_wrong_secret_ends_the_run(issuer: Issuer, token_server: WebServer) -> None:
    with (
        requiring_tokens("http://127.0.0.1:9", issuer) as server,
        pytest.raises(CannotRunError, match="issued no token for this client") as caught,
    ):
        checked(server.uri, login(token_server, credential="me:wrong-secret"))
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("properties", "more", "message"),
    [
        ({"credential": "a:b"}, {}, "'oauth2-server-uri' is required"),
        ({"max_retries": "2"}, {}, "no request is repeated"),
        ({"sigv4": "true"}, {"token": "t"}, "not both"),
        ({"unknown": "x"}, {}, "is unknown"),
    ],
)
def test_invalid_properties_are_rejected(
    properties: dict[str, str], more: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked("http://127.0.0.1:9", properties, **more)


def arguments(properties: Mapping[str, str], option: str) -> list[str]:
    return [word for key, value in properties.items() for word in (option, f"{key}={value}")]


def test_the_command_logs_in(uri: str, issuer: Issuer, token_server: WebServer) -> None:
    with requiring_tokens(uri, issuer) as server:
        words = ["--uri", server.uri, "--only", CHECKS[0], "--jobs", "4"]
        words += arguments(login(token_server), "-p")
        found = CliRunner().invoke(app, ["conformance", *words])
    assert found.exit_code == 0, found.output
    assert " 0 fail" in found.output
    assert issuer.issued > 1


def test_the_command_reports_a_wrong_secret(issuer: Issuer, token_server: WebServer) -> None:
    words = ["--uri", "http://127.0.0.1:9", "--only", CHECKS[0]]
    words += arguments(login(token_server, credential="me:wrong-secret"), "-p")
    found = CliRunner().invoke(app, ["conformance", *words])
    assert found.exit_code == 2
    assert "issued no token for this client" in found.output
    assert "wrong-secret" not in found.output


def test_the_pytest_plugin_logs_in(pytester: pytest.Pytester, uri: str) -> None:
    """The run obtains a token; tokens expire after 60 seconds of real time."""
    issuer = Issuer(life=60.0)
    with WebServer(issuer.issue) as token_server, ProtectedProxy(uri, issuer.refusal) as server:
        words = arguments(login(token_server), "--lance-namespace-property")
        found = pytester.runpytest_subprocess(
            "-p", "lance_namespace_pytest", "--lance-namespace", server.uri, *words,
            "-k", "LN-TABLE-DECLARE-001",
        )  # fmt: skip
        words = arguments(
            login(token_server, credential="me:wrong-secret"), "--lance-namespace-property"
        )
        wrong = pytester.runpytest_subprocess(
            "-p", "lance_namespace_pytest", "--lance-namespace", server.uri, *words,
            "-k", "LN-TABLE-DECLARE-001",
        )  # fmt: skip
    assert found.ret == 0
    assert issuer.issued == 1
    assert wrong.ret == 2
    output = wrong.stdout.str() + wrong.stderr.str()
    assert "issued no token for this client" in output
    assert "wrong-secret" not in output


def test_only_recent_computed_values_are_remembered() -> None:
    redactor = Redactor()
    for number in range(RECENT_VALUES + 1):
        redactor.learn_computed({"x-key": f"value {number:05}"})
    assert redactor.text("value 00000, value 00001") == "value 00000, ***"
    assert redactor.header_map({"X-Key": "value 00000"}) == {"X-Key": "***"}
