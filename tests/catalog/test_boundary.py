"""The boundary of operations: their error codes, cached responses, listing pages and log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError, error_for
from lance_namespace_impls import connect
from lance_namespace_impls.catalog import operation
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.operation_cache import (
    RESPONSES,
    cached_response,
    record_response,
)
from lance_namespace_impls.core.identifiers import (
    SHOWN_DELIMITER,
    Identifier,
)
from tests.behaviour.memory import MemoryConfig, Mixed

from .memory import ROWS, connected

T = {"id": ["n", "t"]}
PanicException = type("PanicException", (BaseException,), {})


class FailingLookup(Mixed):
    """A catalog whose table lookup raises an exception that the test sets."""

    failure: BaseException = RuntimeError()

    def load_table(self, identifier: Identifier) -> TableEntry:
        raise self.failure


@pytest.fixture
def failing_lookup(tmp_path: Path) -> Iterator[FailingLookup]:
    with connected(FailingLookup, tmp_path) as found:
        assert isinstance(found, FailingLookup)
        yield found


CALLS: dict[str, Callable[[Any], Any]] = {
    "describe_table": lambda ns: ns.describe_table(T),
    "count_table_rows": lambda ns: ns.count_table_rows(T),
    "table_exists": lambda ns: ns.table_exists(T),
    "insert_into_table": lambda ns: ns.insert_into_table(T, ROWS),
    "get_table_tag_version": lambda ns: ns.get_table_tag_version({**T, "tag": "x"}),
    "delete_table_branch": lambda ns: ns.delete_table_branch({**T, "name": "x"}),
}
TAG, VERSION, COLUMN, SCHEMA, BRANCH = (
    ErrorCode.TABLE_TAG_NOT_FOUND, ErrorCode.TABLE_VERSION_NOT_FOUND,
    ErrorCode.TABLE_COLUMN_NOT_FOUND, ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR,
    ErrorCode.TABLE_BRANCH_NOT_FOUND,
)  # fmt: skip
MISSING, WRONG = ErrorCode.TABLE_NOT_FOUND, ErrorCode.INVALID_INPUT


@pytest.mark.parametrize(
    ("name", "failed", "said"),
    [
        ("describe_table", TAG, VERSION),
        ("describe_table", BRANCH, VERSION),
        ("describe_table", VERSION, VERSION),
        ("describe_table", COLUMN, WRONG),
        ("describe_table", SCHEMA, WRONG),
        ("count_table_rows", COLUMN, COLUMN),
        ("count_table_rows", SCHEMA, WRONG),
        ("table_exists", TAG, MISSING),
        ("table_exists", BRANCH, MISSING),
        ("table_exists", VERSION, MISSING),
        ("insert_into_table", COLUMN, SCHEMA),
        ("insert_into_table", SCHEMA, SCHEMA),
        ("get_table_tag_version", TAG, TAG),
        ("get_table_tag_version", VERSION, MISSING),
        ("delete_table_branch", BRANCH, BRANCH),
        *((name, code, code) for name in CALLS for code in (MISSING, WRONG, ErrorCode.THROTTLING)),
    ],
)
def test_an_operation_fails_with_a_code_that_it_defines(
    failing_lookup: FailingLookup,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    failed: ErrorCode,
    said: ErrorCode,
) -> None:
    failure = error_for(
        int(failed), "what it is", subject="whose it is", detail="more of it", instance="this time"
    )
    monkeypatch.setattr(FailingLookup, "failure", failure)
    with pytest.raises(LanceNamespaceError) as caught:
        CALLS[name](failing_lookup)
    found = caught.value
    assert found.code == said
    assert (found.text, found.subject) == ("what it is", "whose it is")
    assert (found.detail, found.instance) == ("more of it", "this time")
    assert found is failure or found.__cause__ is failure


@pytest.mark.parametrize("name", CALLS)
def test_a_panic_is_translated_and_exit_exceptions_are_not(
    failing_lookup: FailingLookup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(FailingLookup, "failure", PanicException("index out\nof bounds"))
    with pytest.raises(LanceNamespaceError, match=r"n\$t: pylance failed: index out of") as caught:
        CALLS[name](failing_lookup)
    assert caught.value.code == ErrorCode.INTERNAL
    for end in (KeyboardInterrupt(), SystemExit(3)):
        monkeypatch.setattr(FailingLookup, "failure", end)
        with pytest.raises(type(end)) as ended:
            CALLS[name](failing_lookup)
        assert ended.value is end


class Dotted(Mixed):
    """A catalog that joins names with dots in messages."""

    capabilities = Capabilities(
        namespace_depth=None, cascade=True, rename_across=True, shown_delimiter="."
    )


def test_messages_use_the_delimiter_of_the_catalog(tmp_path: Path) -> None:
    with connected(Dotted, tmp_path) as dotted, connected(Mixed, tmp_path / "m") as mixed:
        for namespace, said in ((dotted, r"table n\.t"), (mixed, r"table n\$t")):
            with pytest.raises(LanceNamespaceError, match=said):
                namespace.describe_table(T)
            assert SHOWN_DELIMITER.get() == "$"


# --- cached responses


class ParentLookups(Mixed):
    """Looks up a table's parent several times, and records the lookups that are not cached."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.asked: list[Identifier] = []
        self.fails = 0
        self.told: object = None

    def _parent(self, identifier: Identifier) -> object:
        self.asked.append(identifier)
        if self.fails:
            self.fails -= 1
            raise RuntimeError("no answer")
        return len(self.asked)

    def load_table(self, identifier: Identifier) -> TableEntry:
        parent = identifier[:-1]
        if self.told is not None:
            self.record_response(parent, self.told)
        with suppress(RuntimeError):
            self.cached_response(self._parent, parent)
        found = [self.cached_response(self._parent, parent) for _ in range(3)]
        assert self.told in (None, found[0])
        assert len(set(found)) == 1
        return super().load_table(identifier)


def test_a_response_is_requested_once_per_operation(tmp_path: Path) -> None:
    with connected(ParentLookups, tmp_path) as namespace:
        assert isinstance(namespace, ParentLookups)
        namespace.create_namespace({"id": ["n"]})
        namespace.declare_table(T)
        namespace.asked.clear()
        for times in (1, 2):
            namespace.describe_table(T)
            assert namespace.asked == [("n",)] * times
        namespace.fails = 1  # a failure is not cached
        namespace.describe_table(T)
        assert len(namespace.asked) == 4
        namespace.told = "what came with something else"
        namespace.describe_table(T)
        assert len(namespace.asked) == 4
        assert RESPONSES.get() is None


def test_nothing_is_cached_outside_operations() -> None:
    answers = iter(range(3))
    record_response("key", "told")
    assert [cached_response("key", lambda: next(answers)) for _ in range(3)] == [0, 1, 2]


# --- listings and the log


@pytest.mark.parametrize("change", ["declare_table", "drop_table", "fails"])
def test_a_change_shows_on_the_next_page(tmp_path: Path, change: str) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for name in ("a", "c"):
            namespace.declare_table({"id": [name]})
        page = namespace.list_tables({"limit": 1})
        assert page.tables == ["a"]
        if change == "fails":
            (tmp_path / "b.lance").mkdir()
            with pytest.raises(LanceNamespaceError):
                namespace.drop_table({"id": ["none"]})
        else:
            changed = "b" if change == "declare_table" else "c"
            getattr(namespace, change)({"id": [changed]})
        following = namespace.list_tables({"page_token": page.page_token}).tables
        assert following == ([] if change == "drop_table" else ["b", "c"])


@pytest.mark.parametrize("fails", [False, True])
def test_the_log_contains_the_duration_of_an_operation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fails: bool,
) -> None:
    with connected(Mixed, tmp_path) as namespace:
        namespace.create_namespace({"id": ["n"]})
        if not fails:
            namespace.create_table(T, ROWS)
        for level, said in (
            (logging.WARNING, []),
            (logging.INFO, ["DescribeTable n$t took 7250 ms"]),
        ):
            clock = iter((100.0, 107.25))
            monkeypatch.setattr(operation, "time", SimpleNamespace(monotonic=lambda: next(clock)))  # noqa: B023
            caplog.clear()
            with (
                caplog.at_level(level, operation.logger.name),
                pytest.raises(LanceNamespaceError) if fails else nullcontext(),
            ):
                namespace.describe_table(T)
            assert [each.getMessage() for each in caplog.records] == said


def test_a_nested_operation_leaves_no_state_behind(tmp_path: Path) -> None:
    with connected(Dotted, tmp_path) as namespace:
        namespace.create_namespace({"id": ["n"]})

        def rows() -> Iterator[pa.RecordBatch]:
            assert namespace.list_tables({"id": ["n"]}).tables is not None
            yield from ROWS.to_batches()

        reader = pa.RecordBatchReader.from_batches(ROWS.schema, rows())
        namespace.create_table(T, reader)
        assert namespace.count_table_rows(T).count == 3
        assert (RESPONSES.get(), SHOWN_DELIMITER.get()) == (None, "$")
