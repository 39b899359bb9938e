"""Translation of system and library failures, and truncation of their messages."""

from __future__ import annotations

import pickle

import pytest

from lance_namespace_impls.core.errors import excerpt, first_line, from_system_failure, scrub
from lance_namespace_impls.core.json_api import HttpFailure


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "ValueError"),
        (" \n\t ", "ValueError"),
        ("one\n  two\tthree ", "one two three"),
        ("n" * 300, "n" * 300),
        ("n" * 301, "n" * 297 + "..."),
        ("a " * 3000, ("a " * 150)[:297] + "..."),
        ("a" + " " * 5998 + "b", "a b"),
        ("a" + " " * 6000 + "b", "a ... b"),
    ],
    ids=range(8),
)
def test_a_message_is_one_line_of_bounded_length(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert excerpt("a" * 1000 + "b" * 1000) == "a" * 1000 + "b" * 1000
    assert excerpt("a" * 1000 + "c" + "b" * 1000) == "a" * 1000 + " ... " + "b" * 1000
    assert excerpt("abcd", 2) == "abcd"
    assert excerpt("abcde", 2) == "ab ... de"


def test_a_secret_that_contains_another_is_masked_completely() -> None:
    assert scrub("of abcdef and abc", {"abc", "abcdef", "bc"}) == "of *** and ***"
    assert scrub("of abcdef", ()) == "of abcdef"


@pytest.mark.parametrize(
    ("failure", "code", "text"),
    [
        (PermissionError(13, "no", "/x"), 15, "[Errno 13] no: '/x'"),
        (ConnectionResetError("cut"), 17, "cut"),
        (TimeoutError("late"), 17, "late"),
        (FileNotFoundError(2, "gone", "/x"), 18, "[Errno 2] gone: '/x'"),
        (OSError("disk\nfull"), 18, "disk full"),
        (KeyError("x"), 18, "KeyError: 'x'"),
        (ValueError(), 18, "ValueError: ValueError"),
    ],
    ids=repr,
)
def test_a_system_failure_has_an_error_code(failure: BaseException, code: int, text: str) -> None:
    found = from_system_failure(failure, "DropTable t")
    assert (found.code, found.text, found.subject) == (code, text, "DropTable t")


@pytest.mark.parametrize(
    ("kind", "message", "text"),
    [
        ("Gone", "no t", "GET /t returned HTTP 404 (Gone: no t)"),
        ("", "no t", "GET /t returned HTTP 404 (no t)"),
        ("Gone", "", "GET /t returned HTTP 404 (Gone)"),
        ("", "", "GET /t returned HTTP 404"),
    ],
)
def test_an_http_failure_states_the_request_and_pickles(kind: str, message: str, text: str) -> None:
    failure = HttpFailure(request="GET /t", status=404, kind=kind, message=message, retry_after=7.0)
    for each in (failure, pickle.loads(pickle.dumps(failure))):
        assert str(each) == text
        assert (each.status, each.kind, each.message) == (404, kind, message)
        assert (each.request, each.retry_after) == ("GET /t", 7.0)
