"""Translation of the failures of HTTP catalogs: one row per failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from lance_namespace_client.errors import ServiceUnavailableError, ThrottlingError
from lance_namespace_impls.core.json_api import FailureTable, HttpFailure
from lance_namespace_impls.iceberg_rest import errors as iceberg
from lance_namespace_impls.unity import errors as unity

# The catalog's name of a failure -> the protocol's error code.
UNITY = {
    "ABORTED": 14,
    "BAD_REQUEST": 13,
    "DEADLINE_EXCEEDED": 17,
    "INVALID_ARGUMENT": 13,
    "INVALID_PARAMETER_VALUE": 13,
    "MALFORMED_REQUEST": 13,
    "OUT_OF_RANGE": 13,
    "PERMISSION_DENIED": 15,
    "REQUEST_LIMIT_EXCEEDED": 21,
    "RESOURCE_CONFLICT": 14,
    "RESOURCE_EXHAUSTED": 21,
    "TEMPORARILY_UNAVAILABLE": 17,
    "UNAUTHENTICATED": 16,
    "UNAVAILABLE": 17,
    "UNIMPLEMENTED": 0,
    "SOMETHING_NEW": 18,
}
ICEBERG = {
    "AccessDeniedException": 15,
    "AuthenticationTimeoutException": 16,
    "BadRequestException": 13,
    "CommitFailedException": 14,
    "ForbiddenException": 15,
    "IllegalArgumentException": 13,
    "NotAuthorizedException": 16,
    "SdkClientException": 17,
    "ServiceUnavailableException": 17,
    "SlowDownException": 21,
    "UnprocessableEntityException": 13,
    "UnsupportedOperationException": 0,
    "ValidationException": 13,
    "invalid_client": 16,
    "unauthorized_client": 16,
    "SomethingNewException": 18,
}
STATUSES = {
    400: 13, 401: 16, 403: 15, 405: 0, 406: 0, 409: 14, 414: 13, 418: 18, 419: 16, 422: 13, 429: 21,
    500: 18, 501: 0, 502: 17, 503: 17, 504: 17,
}  # fmt: skip


def failure(status: int, kind: str = "", message: str = "the reason") -> HttpFailure:
    return HttpFailure("GET /t", status, kind, message, 7.0)


@pytest.mark.parametrize(
    ("table", "kind", "status", "code"),
    [
        *((unity.FAILURES, kind, 500, code) for kind, code in UNITY.items()),
        *((iceberg.FAILURES, kind, 500, code) for kind, code in ICEBERG.items()),
        *((unity.FAILURES, "", status, code) for status, code in STATUSES.items()),
    ],
    ids=lambda value: "" if isinstance(value, FailureTable) else str(value),
)
def test_the_code_of_a_failure(table: FailureTable, kind: str, status: int, code: int) -> None:
    found = table.error(failure(status, kind), "DescribeTable a$t")
    named = f"{kind}: the reason" if kind else "the reason"
    assert found.code == code
    assert found.message == f"DescribeTable a$t: GET /t returned HTTP {status} ({named})"
    if isinstance(found, ServiceUnavailableError | ThrottlingError):
        assert found.retry_after == 7.0


@pytest.mark.parametrize(
    ("table", "rows"),
    [(unity.FAILURES, UNITY), (iceberg.FAILURES, ICEBERG)],
    ids=["unity", "iceberg"],
)
def test_every_kind_has_a_row(table: FailureTable, rows: Mapping[str, int]) -> None:
    assert set(table.kinds) <= set(rows)


CHANGED = "Row was updated or deleted by another transaction"
TAKEN = "it conflicts with existing table or namespace a"
NAMED: list[tuple[Callable[[HttpFailure], bool], tuple[int, str, str], bool]] = [
    (unity.is_conflict, (400, "TABLE_ALREADY_EXISTS", ""), True),
    (unity.is_conflict, (409, "", ""), True),
    (unity.is_conflict, (409, "ABORTED", ""), False),
    (unity.is_conflict, (409, "RESOURCE_CONFLICT", ""), False),
    (unity.is_conflict, (400, "", ""), False),
    (unity.is_missing, (404, "TABLE_NOT_FOUND", ""), True),
    (unity.is_missing, (400, "SCHEMA_DOES_NOT_EXIST", ""), True),
    (unity.is_missing, (404, "UNKNOWN", ""), True),
    (unity.is_missing, (404, "", ""), False),
    (unity.is_missing, (400, "UNKNOWN", ""), False),
    (unity.is_not_empty, (400, "FAILED_PRECONDITION", ""), True),
    (unity.is_not_empty, (400, "SCHEMA_NOT_EMPTY", ""), True),
    (unity.is_not_empty, (400, "INVALID_STATE", ""), True),
    (unity.is_not_empty, (409, "", ""), True),
    (unity.is_not_empty, (409, "SCHEMA_NOT_FOUND", ""), False),
    (unity.is_not_empty, (400, "", ""), False),
    (unity.is_too_long, (500, "", "Value too long for column x"), True),
    (unity.is_too_long, (500, "", "ERROR: data too long for type varchar"), True),
    (unity.is_too_long, (400, "", "Value too long for column x"), False),
    (unity.is_too_long, (500, "", "it took too long"), False),
    (unity.is_duplicate, (500, "", "query did not return a unique result: 2"), True),
    (unity.is_duplicate, (400, "", "query did not return a unique result: 2"), False),
    (unity.is_duplicate, (500, "", ""), False),
    (unity.is_changed_meanwhile, (500, "", CHANGED), True),
    (unity.is_changed_meanwhile, (400, "", CHANGED), False),
    (unity.is_changed_meanwhile, (500, "", ""), False),
    (iceberg.is_missing, (404, "NoSuchTableException", ""), True),
    (iceberg.is_missing, (404, "NotFoundException", ""), False),  # a file of the table
    (iceberg.is_missing, (404, "", ""), False),
    (iceberg.is_missing, (404, "X", "No route for request"), False),
    (iceberg.is_missing, (400, "NoSuchTableException", ""), False),
    (iceberg.is_no_route, (400, "X", "No route for request"), True),
    (iceberg.is_no_route, (404, "X", "No route for request"), True),
    (iceberg.is_no_route, (500, "X", "No route for request"), False),
    (iceberg.is_no_route, (404, "X", "gone"), False),
    (iceberg.is_missing_warehouse, (404, "NotFoundException", ""), True),
    (iceberg.is_missing_warehouse, (404, "NoSuchWarehouseException", ""), True),
    (iceberg.is_missing_warehouse, (400, "NotFoundException", ""), False),
    (iceberg.is_missing_warehouse, (404, "", ""), False),
    (iceberg.is_conflict, (409, "AlreadyExistsException", ""), True),
    (iceberg.is_conflict, (400, "AlreadyExistsException", ""), True),
    (iceberg.is_conflict, (409, "", ""), True),
    (iceberg.is_conflict, (409, "CommitFailedException", ""), False),
    (iceberg.is_conflict, (400, "", ""), False),
    (iceberg.is_not_empty, (400, "NamespaceNotEmptyException", ""), True),
    (iceberg.is_not_empty, (409, "", ""), True),
    (iceberg.is_not_empty, (400, "", ""), False),
    (iceberg.is_bucket_missing, (500, "NoSuchBucketException", ""), True),
    (iceberg.is_store_denied, (500, "AccessDeniedException", ""), True),
    (iceberg.is_store_denied, (403, "ForbiddenException", ""), False),
    (iceberg.is_bucket_missing, (500, "AccessDeniedException", ""), False),
    (iceberg.is_location_in_use, (403, "", TAKEN), True),
    (iceberg.is_location_in_use, (409, "", TAKEN), False),
    (iceberg.is_location_in_use, (403, "", "no"), False),
]


@pytest.mark.parametrize(("question", "given", "answer"), NAMED)
def test_failures_are_classified(
    question: Callable[[HttpFailure], bool], given: tuple[int, str, str], answer: bool
) -> None:
    assert question(failure(*given)) is answer


@pytest.mark.parametrize(
    ("read", "body", "found"),
    [
        (unity.read_failure, {"error_code": "A", "message": "m"}, ("A", "m")),
        (unity.read_failure, {"errorCode": "A"}, ("A", "")),
        (unity.read_failure, {"message": None}, ("UNKNOWN", "")),
        (iceberg.read_failure, {"error": {"type": "A", "message": "m"}}, ("A", "m")),
        (iceberg.read_failure, {"error": {"code": 500}}, ("", "")),
        (
            iceberg.read_failure,
            {"error": "a", "error_description": "d", "message": "m"},
            ("a", "d"),
        ),
        (iceberg.read_failure, {"message": "m"}, ("", "m")),
        (iceberg.read_failure, {}, ("", "")),
    ],
)
def test_the_kind_and_message_are_read_from_the_body(
    read: Callable[[Mapping[str, Any]], tuple[str, str]],
    body: dict[str, Any],
    found: tuple[str, str],
) -> None:
    assert read(body) == found
