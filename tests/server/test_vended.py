"""Requests of `AssumeRole` to the token service, and how long its credentials are cached."""

from __future__ import annotations

import datetime
import json
import pickle
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from lance_namespace_client.errors import InternalError, InvalidInputError, ServiceUnavailableError
from lance_namespace_impls.server import AssumeRole
from lance_namespace_impls.server.security import vending

ROLE = "arn:aws:iam::123456789012:role/tables"
PLACE = "s3://bucket/tables/t.lance"
OPTIONS = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "aws_region": "eu-west-1"}
HOUR = 3600


class TokenService:
    """A token service whose credentials are valid for an hour from `now`, or that fails."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.asked: list[dict[str, Any]] = []
        self.made: list[dict[str, Any]] = []
        self.failure: Exception | None = None

    def create_client(self, service: str, **given: Any) -> TokenService:
        self.made.append({"service": service, **given})
        return self

    def assume_role(self, **given: Any) -> dict[str, Any]:
        self.asked.append(given)
        if self.failure is not None:
            raise self.failure
        number = len(self.asked)
        return {
            "Credentials": {
                "AccessKeyId": f"id{number}",
                "SecretAccessKey": f"key{number}",
                "SessionToken": f"token{number}",
                "Expiration": datetime.datetime.fromtimestamp(self.now + HOUR, datetime.UTC),
            }
        }


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> TokenService:
    found = TokenService()
    monkeypatch.setattr(botocore.session, "get_session", lambda: found)
    monkeypatch.setattr(vending, "time", SimpleNamespace(time=lambda: found.now))
    return found


def test_a_role_is_assumed_for_one_table_and_one_caller(service: TokenService) -> None:
    role = AssumeRole(ROLE, seconds=1200)
    options = role.vend(
        "s3a://bucket/my%20tables/t.lance/", OPTIONS, "write", "ana@example.com äö/x"
    )
    [asked] = service.asked
    assert json.loads(asked.pop("Policy")) == json.loads(
        role.policy("bucket", "my tables/t.lance", "write")
    )
    assert asked == {
        "RoleArn": ROLE,
        "RoleSessionName": "lance-ns-ana@example.com----x",
        "DurationSeconds": 1200,
    }
    assert options == {
        "aws_region": "eu-west-1",
        "aws_access_key_id": "id1",
        "aws_secret_access_key": "key1",
        "aws_session_token": "token1",
        "expires_at_millis": str(int((service.now + HOUR) * 1000)),
    }
    role.vend(PLACE, OPTIONS, "read", "x" * 100)
    assert service.asked[-1]["RoleSessionName"] == "lance-ns-" + "x" * 55


def test_a_policy_is_compact_and_allows_only_required_actions() -> None:
    """AWS accepts at most 2,048 characters."""
    text = AssumeRole(ROLE).policy("bucket", "t", "write")
    assert " " not in text
    objects, listing = json.loads(text)["Statement"]
    assert objects == {
        "Effect": "Allow",
        "Action": [
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
            "s3:ListMultipartUploadParts",
        ],
        "Resource": "arn:aws:s3:::bucket/t/*",
    }
    assert listing == {
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": "arn:aws:s3:::bucket",
        "Condition": {"StringLike": {"s3:prefix": ["t/*"]}},
    }


def test_credentials_are_cached_per_caller_table_and_action(service: TokenService) -> None:
    role = AssumeRole(ROLE)
    first = role.vend(PLACE, OPTIONS, "read", "ana")
    assert role.vend(PLACE, OPTIONS, "read", "ana") == first
    others = [
        role.vend(PLACE, OPTIONS, "write", "ana"),
        role.vend(PLACE, OPTIONS, "read", "ben"),
        role.vend(f"{PLACE}2", OPTIONS, "read", "ana"),
        role.vend(PLACE, {**OPTIONS, "aws_access_key_id": "other"}, "read", "ana"),
    ]
    assert len({each["aws_session_token"] for each in (first, *others)}) == 5
    assert len(service.asked) == 5


@pytest.mark.parametrize(("later", "is_kept"), [(0.74 * HOUR, True), (0.75 * HOUR, False)])
def test_credentials_are_reused_until_a_quarter_of_their_lifetime_is_left(
    service: TokenService, later: float, is_kept: bool
) -> None:
    role = AssumeRole(ROLE, seconds=HOUR)
    first = role.vend(PLACE, OPTIONS, "read", "ana")
    service.now += later
    assert (role.vend(PLACE, OPTIONS, "read", "ana") == first) is is_kept


def test_the_oldest_cached_credentials_are_evicted_first(
    service: TokenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vending, "MOST_KEPT", 2)
    role = AssumeRole(ROLE)
    for caller, asked in (("a", 1), ("b", 2), ("c", 3), ("c", 3), ("b", 3), ("a", 4)):
        role.vend(PLACE, OPTIONS, "read", caller)
        assert len(service.asked) == asked, caller
    service.now += HOUR
    for caller, asked in (("c", 5), ("a", 6), ("b", 7), ("a", 7)):
        role.vend(PLACE, OPTIONS, "read", caller)
        assert len(service.asked) == asked, caller


@pytest.mark.parametrize(
    "place", ["/data/t.lance", "file:///data/t", "gs://bucket/t", "s3://bucket", "s3://bucket/"]
)
def test_other_locations_than_s3_folders_get_no_credentials(
    service: TokenService, place: str
) -> None:
    options = {**OPTIONS, "expires_at_millis": "1"}
    assert AssumeRole(ROLE).vend(place, options, "write", "ana") == {"aws_region": "eu-west-1"}
    assert not service.asked


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (OPTIONS, {"region_name": "eu-west-1", "aws_access_key_id": "id",
                   "aws_secret_access_key": "key", "aws_session_token": None}),
        ({"region": "eu-north-1"}, {"region_name": "eu-north-1"}),
        ({}, {"region_name": None}),
    ],
)  # fmt: skip
def test_the_token_service_of_the_tables_region_is_used(
    service: TokenService, options: dict[str, str], given: dict[str, Any]
) -> None:
    role = AssumeRole(ROLE, endpoint="http://127.0.0.1:9")
    for caller in ("ana", "ben"):
        role.vend(PLACE, options, "read", caller)
    assert service.made == [{"service": "sts", "endpoint_url": "http://127.0.0.1:9", **given}]


@pytest.mark.parametrize(
    ("failure", "raised", "said"),
    [
        (
            "AccessDenied",
            InternalError,
            "the server is not allowed to obtain credentials for the table .AccessDenied.; ask",
        ),
        ("Throttling", ServiceUnavailableError, "are currently unavailable"),
        ("ServiceUnavailable", ServiceUnavailableError, "are currently unavailable"),
        (
            NoCredentialsError(),
            ServiceUnavailableError,
            "are currently unavailable; try again later: Unable to locate",
        ),
    ],
)
def test_a_denial_differs_from_an_outage(
    service: TokenService, failure: Any, raised: type[Exception], said: str
) -> None:
    if isinstance(failure, str):
        failure = ClientError({"Error": {"Code": failure, "Message": "no"}}, "AssumeRole")
    service.failure = failure
    with pytest.raises(raised, match=said):
        AssumeRole(ROLE).vend(PLACE, OPTIONS, "read", "ana")


@pytest.mark.parametrize(
    ("seconds", "good"), [(899, False), (900, True), (43_200, True), (43_201, False)]
)
def test_the_lifetime_of_credentials_is_limited(seconds: int, good: bool) -> None:
    if good:
        AssumeRole(ROLE, seconds=seconds)
    else:
        with pytest.raises(InvalidInputError, match=f"900 to 43200 seconds, not {seconds}"):
            AssumeRole(ROLE, seconds=seconds)


def test_a_role_can_be_pickled(service: TokenService) -> None:
    role = pickle.loads(pickle.dumps(AssumeRole(ROLE, seconds=1200, endpoint="http://127.0.0.1:9")))
    role.vend(PLACE, OPTIONS, "read", "ana")
    assert (service.asked[0]["RoleArn"], service.asked[0]["DurationSeconds"]) == (ROLE, 1200)
    assert service.made[0]["endpoint_url"] == "http://127.0.0.1:9"
