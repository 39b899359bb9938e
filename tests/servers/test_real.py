from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.servers import real
from tests.servers.process import ANSWER_SECONDS

ASKED = {
    "unity": ("/api/2.1/unity-catalog/catalogs", "catalogs"),
    "polaris": ("/v1/config?warehouse=lake", "overrides"),
    "gravitino": ("/v1/namespace/%24/list?delimiter=%24", "namespaces"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.real(name)) for name in ASKED]
)
def test_every_server_responds(name: str) -> None:
    path, key = ASKED[name]
    server = real.running(name)
    headers = {}
    if "token_uri" in server.settings:
        user, secret = server.settings["credential"].split(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": user,
            "client_secret": secret,
            "scope": server.settings["scope"],
        }
        token = httpx.post(server.settings["token_uri"], data=form, timeout=ANSWER_SECONDS).json()[
            "access_token"
        ]
        headers["Authorization"] = f"Bearer {token}"
    answer = httpx.get(f"{server.uri}{path}", headers=headers, timeout=ANSWER_SECONDS)
    assert answer.status_code == 200
    assert key in answer.json()


def test_a_configured_address_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_NS_TEST_UNITY", "http://127.0.0.1:1/ token_file=/t a=b=c")
    assert real.is_there("unity")
    found = real.running.__wrapped__("unity")
    assert found.uri == "http://127.0.0.1:1"
    assert found.settings == {"token_file": "/t", "a": "b=c"}


def test_a_missing_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LANCE_NS_TEST_UNITY", raising=False)
    monkeypatch.setenv("LANCE_NS_TEST_SERVERS", str(tmp_path))
    assert not real.is_there("unity")
    with pytest.raises(real.MissingServerError, match="LANCE_NS_TEST_UNITY"):
        real.running.__wrapped__("unity")


def test_a_failed_script_reports_its_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LANCE_NS_TEST_UNITY", raising=False)
    monkeypatch.setenv("LANCE_NS_TEST_SERVERS", str(tmp_path))
    script = tmp_path / "unity" / "start.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'no Java at all' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(RuntimeError, match="status 1:\nno Java at all"):
        real.running.__wrapped__("unity")
