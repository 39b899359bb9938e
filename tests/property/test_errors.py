"""Errors keep their code, class and message through pickle, JSON and HTTP."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_namespace_client import errors
from lance_namespace_client.errors import (
    ErrorCode,
    ForbiddenError,
    InternalError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    error_for,
)

CLASSES = [
    cls
    for name in errors.__all__
    if isinstance(cls := getattr(errors, name), type)
    and issubclass(cls, LanceNamespaceError)
    and cls is not LanceNamespaceError
]
# The protocol's table of errors: code, class name without "Error", HTTP status.
TABLE = [
    (0, "Unsupported", 406), (1, "NamespaceNotFound", 404), (2, "NamespaceAlreadyExists", 409),
    (3, "NamespaceNotEmpty", 409), (4, "TableNotFound", 404), (5, "TableAlreadyExists", 409),
    (6, "TableIndexNotFound", 404), (7, "TableIndexAlreadyExists", 409),
    (8, "TableTagNotFound", 404), (9, "TableTagAlreadyExists", 409),
    (10, "TransactionNotFound", 404), (11, "TableVersionNotFound", 404),
    (12, "TableColumnNotFound", 404), (13, "InvalidInput", 400),
    (14, "ConcurrentModification", 409), (15, "PermissionDenied", 403),
    (16, "Unauthenticated", 401), (17, "ServiceUnavailable", 503), (18, "Internal", 500),
    (19, "InvalidTableState", 409), (20, "TableSchemaValidation", 400), (21, "Throttling", 429),
    (22, "TableBranchNotFound", 404), (23, "TableBranchAlreadyExists", 409),
]  # fmt: skip

messages = st.text(max_size=30)
details = st.none() | st.text(max_size=10)
made = st.builds(
    lambda cls, message, more: cls(message, **more),
    st.sampled_from(CLASSES),
    messages,
    st.fixed_dictionaries({"detail": details, "instance": details}),
)


@pytest.mark.parametrize(("code", "name", "status"), TABLE)
def test_every_code_has_a_class_and_a_status(code: int, name: str, status: int) -> None:
    cls = getattr(errors, f"{name}Error")
    assert (cls.code, cls.http_status) == (code, status)
    assert type(error_for(code, "what happened")) is cls
    assert error_for(code, "what happened").status == status


def test_the_table_is_complete() -> None:
    assert [row[0] for row in TABLE] == [int(code) for code in ErrorCode]
    assert {cls.code for cls in CLASSES} == set(ErrorCode)


@given(error=made)
def test_an_error_pickles(error: LanceNamespaceError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


@given(error=made)
def test_an_error_survives_its_json_form(error: LanceNamespaceError) -> None:
    body = error.to_dict()
    again = error_for(
        body["code"],
        body["error"],
        status=error.status,
        detail=body.get("detail"),
        instance=body.get("instance"),
    )
    assert type(again) is type(error)
    assert again.to_dict() == body
    assert str(again) == error.message == body["error"]


@pytest.mark.parametrize("cls", [ThrottlingError, ServiceUnavailableError])
@given(seconds=st.floats(0, 3600))
def test_the_retry_delay_survives(cls: type[Any], seconds: float) -> None:
    error = cls("slow down", retry_after=seconds)
    assert pickle.loads(pickle.dumps(error)).retry_after == seconds
    assert error_for(int(cls.code), "slow down", retry_after=seconds).__dict__ == error.__dict__


@given(code=st.integers().filter(lambda code: code not in range(24)), message=messages)
def test_an_unknown_code_is_an_internal_error_with_the_code(code: int, message: str) -> None:
    error = error_for(code, message)
    assert type(error) is InternalError
    assert str(code) in str(error)


def test_the_status_distinguishes_forbidden_from_unauthenticated() -> None:
    assert issubclass(ForbiddenError, PermissionDeniedError)
    assert type(error_for(16, "no", status=403)) is ForbiddenError
    assert type(error_for(16, "who?", status=401)) is errors.UnauthenticatedError
    assert type(error_for(15, "no", status=403)) is PermissionDeniedError
