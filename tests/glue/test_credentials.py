"""Which credentials sign the requests, and their renewal before they expire."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from moto.core.authorization import enable_iam_authentication

from lance_namespace_client.errors import (
    ForbiddenError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import REGION, GlueServer
from .conftest import KEYS, Connect, aws_client, user_keys
from .test_errors import closed_port

ROLE = "arn:aws:iam::123456789012:role/lance"
SHORTEST = 900
PROFILE = "[team]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = x\n"


@pytest.fixture
def as_role(connected: Connect, glue: GlueServer, monkeypatch: pytest.MonkeyPatch) -> Connect:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", glue.endpoint)

    def connect(**more: Any) -> GlueNamespace:
        return connected(**{"assume_role_arn": ROLE, **more})

    return connect


def callers(glue: GlueServer) -> list[str | None]:
    return [call.access_key for call in glue.calls]


# --- the four kinds of credentials


@pytest.mark.requirement("glue.config.access-key-id", "glue.auth.static")
def test_static_keys_sign(namespace: GlueNamespace, glue: GlueServer, database: str) -> None:
    namespace.namespace_exists({"id": [database]})
    assert set(callers(glue)) == {KEYS["access_key_id"]}


@pytest.mark.requirement("glue.config.region.default", "glue.auth.default-chain")
def test_the_default_chain_signs_without_keys(
    connected: Connect,
    glue: GlueServer,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    glue.calls.clear()
    namespace = connected(access_key_id=None, secret_access_key=None, region=None)
    namespace.list_namespaces({"id": []})
    assert set(callers(glue)) == {"AKIAFROMENV"}
    assert namespace._glue().meta.region_name == "eu-central-1"


def test_a_profile_signs(connected: Connect, glue: GlueServer, tmp_path: Path) -> None:
    (tmp_path / "aws-credentials").write_text(PROFILE)
    namespace = connected(profile_name="team", access_key_id=None, secret_access_key=None)
    namespace.list_namespaces({"id": []})
    assert set(callers(glue)) == {"AKIAPROFILE"}


@pytest.mark.requirement("glue.config.session-token", "glue.auth.session")
def test_a_session_token_is_sent(connected: Connect) -> None:
    made = connected(session_token="the-token")._glue()
    sent: dict[str, Any] = {}
    made.meta.events.register("before-send.glue", lambda request, **_: sent.update(request.headers))
    made.get_databases()
    assert sent["X-Amz-Security-Token"] in ("the-token", b"the-token")


@pytest.mark.requirement(
    "glue.config.assume-role-arn",
    "glue.config.assume-role-region",
    "glue.config.assume-role-external-id",
    "glue.config.assume-role-session-name",
    "glue.auth.role",
)
def test_a_role_is_assumed_with_all_settings(
    as_role: Connect, glue: GlueServer, database: str
) -> None:
    namespace = as_role(
        assume_role_region="eu-west-1",
        assume_role_external_id="their-id",
        assume_role_session_name="nightly",
        assume_role_timeout_sec=1800,
    )
    glue.calls.clear()
    namespace.namespace_exists({"id": [database]})
    assert glue.assumed == [
        {
            "RoleArn": ROLE,
            "RoleSessionName": "nightly",
            "ExternalId": "their-id",
            "DurationSeconds": 1800,
            "region": "eu-west-1",
            "access_key": KEYS["access_key_id"],
        }
    ]
    assert KEYS["access_key_id"] not in callers(glue)


@pytest.mark.requirement("glue.config.region", "glue.config.assume-role-timeout")
def test_default_duration_and_region_of_a_role(
    as_role: Connect, glue: GlueServer, database: str
) -> None:
    as_role().namespace_exists({"id": [database]})
    (assumed,) = glue.assumed
    assert assumed["DurationSeconds"] == 3600
    assert assumed["region"] == REGION
    assert assumed["ExternalId"] is None


def test_a_profile_can_assume_a_role(as_role: Connect, glue: GlueServer, tmp_path: Path) -> None:
    (tmp_path / "aws-credentials").write_text(PROFILE)
    (tmp_path / "aws-config").write_text("[profile team]\nregion = eu-north-1\n")
    namespace = as_role(
        profile_name="team", access_key_id=None, secret_access_key=None, region=None
    )
    namespace.list_namespaces({"id": []})
    assert [assumed["access_key"] for assumed in glue.assumed] == ["AKIAPROFILE"]
    assert "AKIAPROFILE" not in callers(glue)
    assert namespace._glue().meta.region_name == "eu-north-1"


def test_the_default_chain_can_assume_a_role(
    as_role: Connect, glue: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    as_role(access_key_id=None, secret_access_key=None).list_namespaces({"id": []})
    assert [assumed["access_key"] for assumed in glue.assumed] == ["AKIAFROMENV"]
    assert "AKIAFROMENV" not in callers(glue)


# --- credentials that expire


@pytest.mark.requirement("glue.config.assume-role-renewal")
def test_a_job_outlives_the_credentials_of_its_role(
    as_role: Connect, glue: GlueServer, database: str
) -> None:
    namespace = as_role(assume_role_timeout_sec=SHORTEST)
    start = datetime.now(UTC)
    with time_machine.travel(start, tick=True) as clock:
        for minute in range(0, 61, 2):
            clock.move_to(start + timedelta(minutes=minute))
            namespace.namespace_exists({"id": [database]})
    # New credentials after ten of the fifteen minutes, not at every call.
    assert len(glue.assumed) == 6


def test_expired_credentials_are_rejected(
    connected: Connect, glue: GlueServer, database: str
) -> None:
    """The double rejects expired credentials; the test above relies on it."""
    given = aws_client(glue, "sts").assume_role(
        RoleArn=ROLE, RoleSessionName="test", DurationSeconds=SHORTEST
    )
    keys = given["Credentials"]
    namespace = connected(
        access_key_id=keys["AccessKeyId"],
        secret_access_key=keys["SecretAccessKey"],
        session_token=keys["SessionToken"],
    )
    namespace.namespace_exists({"id": [database]})
    with (
        time_machine.travel(datetime.now(UTC) + timedelta(seconds=SHORTEST + 1)),
        pytest.raises(UnauthenticatedError) as caught,
    ):
        namespace.namespace_exists({"id": [database]})
    assert caught.value.code == 16


def test_a_pickled_namespace_renews_credentials(
    as_role: Connect, glue: GlueServer, database: str
) -> None:
    first = as_role(assume_role_timeout_sec=SHORTEST)
    first.namespace_exists({"id": [database]})
    pickled = pickle.dumps(first)
    later = datetime.now(UTC) + timedelta(hours=2)
    with time_machine.travel(later, tick=True) as clock, pickle.loads(pickled) as namespace:
        namespace.namespace_exists({"id": [database]})
        clock.shift(timedelta(hours=2))
        namespace.namespace_exists({"id": [database]})
    assert len(glue.assumed) == 3


def test_a_denied_role_is_code_16(as_role: Connect, glue: GlueServer) -> None:
    with (
        user_keys(glue) as keys,
        enable_iam_authentication(),
        pytest.raises(ForbiddenError, match="AssumeRole"),
    ):
        as_role(**keys).list_namespaces({"id": []})


def test_an_unavailable_sts_is_code_17(as_role: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(ServiceUnavailableError):
        as_role().list_namespaces({"id": []})
