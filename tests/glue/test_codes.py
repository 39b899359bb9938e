"""The translation of AWS failures, and the renewal of a role's keys; no server is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from botocore import exceptions as boto
from botocore.exceptions import ClientError

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    ForbiddenError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)
from lance_namespace_impls.glue import GlueConfig
from lance_namespace_impls.glue.errors import (
    code_of,
    from_aws,
    is_denied,
    translating,
    was_repeated,
)
from lance_namespace_impls.glue.places import child_catalog_id, is_account
from lance_namespace_impls.glue.session import _Role

ACCOUNT = "111122223333"


def answered(code: str, status: int = 400, **about: Any) -> ClientError:
    """Return an error response as boto3 raises it."""
    metadata = {"HTTPStatusCode": status, **about}
    given = {"Error": {"Code": code, "Message": "the reason"}, "ResponseMetadata": metadata}
    return ClientError(given, "GetTable")


CODES: dict[type[LanceNamespaceError], str] = {
    ForbiddenError: "AccessDeniedException AccessDenied UnauthorizedOperation NotAuthorized 403",
    UnauthenticatedError: (
        "ExpiredToken ExpiredTokenException IncompleteSignature IncompleteSignatureException "
        "InvalidAccessKeyId InvalidClientTokenId InvalidSignatureException MissingAuthenticationToken "
        "MissingAuthenticationTokenException OptInRequired RequestExpired SignatureDoesNotMatch "
        "TokenRefreshRequired UnrecognizedClientException 401"
    ),
    ThrottlingError: (
        "PriorRequestNotComplete ProvisionedThroughputExceededException RequestLimitExceeded "
        "RequestThrottled RequestThrottledException SlowDown ThrottledException Throttling "
        "ThrottlingException TooManyRequestsException 429"
    ),
    ServiceUnavailableError: (
        "FederationSourceRetryableException OperationTimeoutException RequestTimeout "
        "RequestTimeoutException ResourceNotReadyException ServiceUnavailable "
        "ServiceUnavailableException 502 503 504"
    ),
    InvalidInputError: (
        "InvalidInputException InvalidParameterValue SerializationException ValidationError "
        "ValidationException"
    ),
    InternalError: (
        "FederationSourceException GlueEncryptionException InternalServiceException SomethingNew"
    ),
    ConcurrentModificationError: (
        "ConcurrentModificationException ConditionCheckFailureException VersionMismatchException"
    ),
    NamespaceNotFoundError: "EntityNotFoundException",
}


@pytest.mark.parametrize(
    ("code", "kind"), [(code, kind) for kind, codes in CODES.items() for code in codes.split()]
)
def test_glue_error_codes_are_translated(code: str, kind: type[LanceNamespaceError]) -> None:
    found = from_aws(answered(code), "DescribeTable a$t")
    assert type(found) is kind
    assert found.message == (
        f"DescribeTable a$t: An error occurred ({code}) when calling the GetTable operation: the reason"
    )
    assert code_of(answered(code)) == code
    assert is_denied(answered(code)) is (kind is ForbiddenError)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, UnauthenticatedError), (403, ForbiddenError), (429, ThrottlingError),
     (502, ServiceUnavailableError), (503, ServiceUnavailableError), (504, ServiceUnavailableError),
     (400, InternalError), (500, InternalError)],
)  # fmt: skip
def test_an_unknown_code_is_translated_by_its_status(
    status: int, kind: type[LanceNamespaceError]
) -> None:
    assert type(from_aws(answered("SomethingNew", status), "x")) is kind
    assert type(from_aws(answered("InvalidInputException", status), "x")) is InvalidInputError


SIGN_IN, KEYS = "sign in again", "set 'access_key_id' and 'secret_access_key', 'profile_name', or"
BY_ITSELF: list[tuple[Exception, type[LanceNamespaceError], str]] = [
    (boto.NoRegionError(), InvalidInputError, "; set 'region', or AWS_DEFAULT_REGION"),
    (boto.NoCredentialsError(), UnauthenticatedError, f"; {KEYS}"),
    (boto.PartialCredentialsError(provider="p", cred_var="k"), UnauthenticatedError, f"; {KEYS}"),
    (
        boto.CredentialRetrievalError(provider="p", error_msg="e"),
        UnauthenticatedError,
        f"; {SIGN_IN}",
    ),
    (boto.NoAuthTokenError(), UnauthenticatedError, f"; {SIGN_IN}"),
    (boto.RefreshWithMFAUnsupportedError(), UnauthenticatedError, f"; {SIGN_IN}"),
    (boto.SSOTokenLoadError(error_msg="e"), UnauthenticatedError, f"; {SIGN_IN}"),
    (
        boto.TokenRetrievalError(provider="p", error_msg="e"),
        UnauthenticatedError,
        f"; {SIGN_IN}",
    ),
    (boto.UnauthorizedSSOTokenError(), UnauthenticatedError, f"; {SIGN_IN}"),
    (boto.ProfileNotFound(profile="p"), InvalidInputError, "; set another 'profile_name'"),
    (boto.ReadTimeoutError(endpoint_url="u"), ServiceUnavailableError, '"u"'),
    (boto.EndpointConnectionError(endpoint_url="u"), ServiceUnavailableError, '"u"'),
    (boto.ConnectionClosedError(endpoint_url="u"), ServiceUnavailableError, '"u"'),
    (boto.ConfigNotFound(path="f"), InvalidInputError, "f"),
    (boto.ConfigParseError(path="f"), InvalidInputError, "f"),
    (boto.InvalidConfigError(error_msg="bad one"), InvalidInputError, "bad one"),
    (boto.ParamValidationError(report="bad one"), InvalidInputError, "Parameter validation failed"),
    (boto.UnknownEndpointError(service_name="glue", region_name="r"), InvalidInputError, "r"),
    (ValueError("Invalid endpoint: x"), InvalidInputError, "x; set another 'endpoint'"),
    (boto.DataNotFoundError(data_path="d"), InternalError, "x: DataNotFoundError: Unable to load"),
]


@pytest.mark.parametrize(
    ("error", "kind", "said"), BY_ITSELF, ids=[type(row[0]).__name__ for row in BY_ITSELF]
)
def test_local_botocore_errors_are_translated(
    error: Exception, kind: type[LanceNamespaceError], said: str
) -> None:
    found = from_aws(error, "x")
    assert type(found) is kind
    assert found.message.startswith("x: ")
    assert said in found.message
    assert ".;" not in found.message
    assert not is_denied(error)
    assert code_of(error) == ""


@pytest.mark.parametrize("error", [ValueError("another"), KeyError("k"), OSError("disk")])
def test_other_errors_are_not_translated(error: Exception) -> None:
    assert from_aws(error, "x") is None


@pytest.mark.parametrize(
    ("about", "wait"),
    [
        ({}, 1),
        ({"RetryAttempts": 0}, 1),
        ({"RetryAttempts": 3}, 8),
        ({"RetryAttempts": 5}, 20),
        ({"RetryAttempts": 3, "HTTPHeaders": {"retry-after": "0"}}, 0),
        ({"RetryAttempts": 3, "HTTPHeaders": {"retry-after": "7"}}, 7),
        ({"RetryAttempts": 3, "HTTPHeaders": {"retry-after": "soon"}}, 8),
    ],
)
def test_retry_after_of_throttling_errors(about: dict[str, Any], wait: float) -> None:
    found = from_aws(answered("ThrottlingException", **about), "x")
    assert isinstance(found, ThrottlingError)
    assert found.retry_after == wait


@pytest.mark.parametrize(
    ("about", "repeated"),
    [({}, False), ({"RetryAttempts": 0}, False), ({"RetryAttempts": 1}, True)],
)
def test_retried_calls_are_detected(about: dict[str, Any], repeated: bool) -> None:
    assert was_repeated(answered("EntityNotFoundException", **about)) is repeated


MISSING, EXISTS = NamespaceNotFoundError("missing"), NamespaceAlreadyExistsError("there")


@pytest.mark.parametrize(
    ("code", "exists", "raised"),
    [
        ("EntityNotFoundException", EXISTS, MISSING),
        ("EntityNotFoundException", None, MISSING),
        ("AlreadyExistsException", EXISTS, EXISTS),
        ("FederatedResourceAlreadyExistsException", EXISTS, EXISTS),
        ("AlreadyExistsException", None, None),
        ("AccessDeniedException", EXISTS, None),
        ("AccessDeniedException", None, None),
    ],
)
def test_only_missing_and_existing_objects_are_translated(
    code: str, exists: LanceNamespaceError | None, raised: LanceNamespaceError | None
) -> None:
    error = answered(code)
    with pytest.raises(Exception) as caught, translating(missing=MISSING, exists=exists):
        raise error
    assert caught.value is (raised or error)


# --- catalog names


@pytest.mark.parametrize(
    ("parent", "name", "found"),
    [
        (None, "c", "c"),
        (None, "c" * 64, "c" * 64),
        (None, "c" * 65, None),
        (None, ACCOUNT, None),
        (None, ACCOUNT[1:], ACCOUNT[1:]),
        (None, "a/b", None),
        (None, "a\\b", None),
        (None, "a.b", None),
        (None, "a:b", None),
        ("a", "b", "a/b"),
        (f"{ACCOUNT}:a", "b", f"{ACCOUNT}:a/b"),
        (ACCOUNT, "b", f"{ACCOUNT}:b"),
    ],
)
def test_id_of_a_child_catalog(parent: str | None, name: str, found: str | None) -> None:
    assert child_catalog_id(parent, name) == found


@pytest.mark.parametrize(
    ("text", "is_one"), [(ACCOUNT, True), (f"{ACCOUNT}4", False), ("a" * 12, False), ("", False)]
)
def test_an_account_is_twelve_digits(text: str, is_one: bool) -> None:
    assert is_account(text) is is_one


# --- limits of numeric properties


@pytest.mark.parametrize(
    ("key", "least", "most", "step"),
    [
        ("assume_role_timeout_sec", 900, 43200, 1),
        ("max_retries", 0, 100, 1),
        ("connect_timeout", 0.001, 3600, 0.001),
        ("read_timeout", 0.001, 3600, 0.001),
    ],
)
def test_numbers_are_limited(key: str, least: float, most: float, step: float) -> None:
    for fits in (least, most):
        assert getattr(GlueConfig.from_properties({key: fits}), key) == fits
    for beyond in (least - step, most + step):
        with pytest.raises(InvalidInputError, match=f"{key!r} must be between {least} and {most}"):
            GlueConfig.from_properties({key: beyond})


# --- role credentials


class Sts:
    """Issues a role's keys, unless it is unavailable."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.asked: list[dict[str, Any]] = []
        self.is_away = False

    def assume_role(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        if self.is_away:
            raise boto.EndpointConnectionError(endpoint_url="sts")
        end = datetime.now(UTC) + timedelta(seconds=self.seconds)
        number = len(self.asked)
        keys = {"AccessKeyId": f"key-{number}", "SecretAccessKey": "s", "SessionToken": "t"}
        return {"Credentials": {**keys, "Expiration": end}}


@pytest.mark.parametrize(
    ("life", "may", "must"), [(900, 600, 750), (3600, 2700, 3000), (43200, 42300, 42600)]
)
def test_renewal_times_of_role_keys(life: int, may: int, must: int) -> None:
    arn = "arn:aws:iam::1:role/r"
    config = GlueConfig(assume_role_arn=arn, assume_role_timeout_sec=life)
    sts, start = Sts(life), datetime(2030, 1, 1, tzinfo=UTC)
    with time_machine.travel(start, tick=False) as clock:

        def key_after(seconds: int) -> str:
            clock.move_to(start + timedelta(seconds=seconds))
            return str(keys.get_frozen_credentials().access_key)

        keys = _Role(config, sts).load()
        assert key_after(may - 5) == "key-1"
        assert len(sts.asked) == 1
        sts.is_away = True
        # The keys are still valid, so calls keep using them until they must be renewed.
        for seconds in (may + 5, must - 5):
            assert key_after(seconds) == "key-1"
        assert len(sts.asked) == 3
        with pytest.raises(boto.EndpointConnectionError):
            key_after(must + 5)
        sts.is_away = False
        assert key_after(must + 6) == "key-5"
    asked = {"RoleArn": arn, "RoleSessionName": "lance-namespace", "DurationSeconds": life}
    assert sts.asked == [asked] * 5
