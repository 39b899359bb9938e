"""A store that throttles, truncates responses or is unavailable, and unreadable tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.servers.s3 import Asked, Canned, GuardedS3

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": [1, 2, 3]})


def failure(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>said by the test</Message></Error>".encode()


CUT = b"<?xml version='1.0'?><ListBucketResult><IsTruncated>fal"
ANSWERS = {
    "slow down": (Canned("503 Slow Down", failure("SlowDown"), len(failure("SlowDown"))), 21),
    "throttling": (
        Canned("400 Bad Request", failure("ThrottlingException"), len(failure("ThrottlingException"))),
        21,
    ),
    "too many": (
        Canned("429 Too Many Requests", failure("TooMany"), len(failure("TooMany"))),
        21,
    ),
    "cut": (Canned("200 OK", CUT, 4000), 17),
    "cut in the middle of the text": (Canned("200 OK", CUT, len(CUT)), 17),
    "unavailable": (
        Canned("503 Service Unavailable", failure("ServiceUnavailable"), len(failure("ServiceUnavailable"))),
        17,
    ),
}  # fmt: skip


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    assert "\n" not in caught.value.message
    return int(caught.value.code)


def is_listing(asked: Asked) -> bool:
    return "list-type=2" in asked.query


def directory(s3: GuardedS3, **more: str) -> Namespace:
    storage = {f"storage.{key}": value for key, value in s3.options().items()}
    return connect("dir", {"path": f"s3://{s3.bucket}/root", **storage, **more})


@pytest.mark.parametrize("kind", ANSWERS)
def test_listing_a_directory(s3: GuardedS3, kind: str) -> None:
    canned, code = ANSWERS[kind]
    with directory(s3) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        s3.answers = lambda asked: canned if is_listing(asked) else None
        assert code_of(lambda: namespace.list_tables({})) == code
        assert code_of(lambda: namespace.list_tables({"include_declared": False})) == code
        assert code_of(lambda: namespace.drop_table({"id": ["t"]})) == code
        s3.answers = lambda asked: None
        assert namespace.count_table_rows({"id": ["t"]}).count == 3


@pytest.mark.parametrize("kind", ANSWERS)
def test_failures_while_listing_and_reading_tables_of_any_catalog(s3: GuardedS3, kind: str) -> None:
    canned, code = ANSWERS[kind]
    options = s3.options() | {"client_max_retries": "0", "client_retry_timeout": "1"}
    with Mixed(MemoryConfig(root=f"s3://{s3.bucket}/{kind}", storage=options)) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.create_table({"id": ["ns", "t"]}, ROWS)
        table = {"id": ["ns", "t"]}
        s3.answers = lambda asked: canned if is_listing(asked) else None
        with Mixed(namespace.config) as fresh:
            with_data = {"id": ["ns"], "include_declared": False}
            assert code_of(lambda: fresh.list_tables(with_data)) == code
            assert code_of(lambda: fresh.count_table_rows(table)) == code
            assert code_of(lambda: fresh.drop_table(table)) == code
            s3.answers = lambda asked: None
            assert fresh.count_table_rows(table).count == 3


@pytest.mark.parametrize("kind", ["unavailable", "cut"])
def test_requests_are_retried_again_after_an_outage(s3: GuardedS3, kind: str) -> None:
    """pyarrow's standard retry strategy has a quota for the process, which an outage exhausts."""

    def away(asked: Asked) -> Canned | None:
        # A response to HEAD has no body that could be truncated.
        return ANSWERS[kind][0] if kind == "unavailable" or is_listing(asked) else None

    with directory(s3) as namespace:
        namespace.declare_table({"id": ["t"]})
        s3.answers = away
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(code_of, lambda: namespace.list_tables({})) for _ in range(80)]
        assert {call.result() for call in calls} == {17}
        tried: list[int] = []

        def every_other(asked: Asked) -> Canned | None:
            tried.append(1)
            return away(asked) if len(tried) % 2 else None

        s3.answers = every_other
        for _ in range(20):
            assert namespace.list_tables({}).tables == ["t"]
        assert len(tried) > 40


# --- unreadable tables in a listing


def listed(root: Path, **properties: str) -> list[str]:
    with connect("dir", {"path": str(root), **properties}) as namespace:
        return list(namespace.iter_tables())


@pytest.mark.parametrize("kind", ["two directories", "no text"])
def test_unreadable_tables_are_skipped_on_request(tmp_path: Path, kind: str) -> None:
    (tmp_path / "good.lance").mkdir()
    if kind == "two directories":
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad.lance").mkdir()
    else:
        os.mkdir(os.fsencode(tmp_path) + b"/bad\xff.lance")
    assert code_of(lambda: listed(tmp_path)) == 19
    with pytest.warns(UserWarning, match=r"bad.*\(omitted\)"):
        assert listed(tmp_path, skip_unreadable="true") == ["good"]


def test_an_inaccessible_directory_is_omitted_if_requested(s3: GuardedS3) -> None:
    with directory(s3) as namespace:
        for name in ("a", "bad", "c"):
            namespace.create_table({"id": [name]}, ROWS)
        s3.refuses = lambda asked: "/bad.lance/" in asked.path
        with pytest.raises(LanceNamespaceError, match=r"table bad cannot be read") as caught:
            namespace.list_tables({})
        assert caught.value.code == 15
        with (
            directory(s3, skip_unreadable="true") as lenient,
            pytest.warns(UserWarning, match=r"table bad cannot be read.*\(omitted\)"),
        ):
            assert lenient.list_tables({}).tables == ["a", "c"]


def test_a_table_with_damaged_properties_is_omitted_if_requested(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path), "skip_unreadable": "true"}) as namespace:
        namespace.create_table({"id": ["good"]}, ROWS)
        namespace.create_table({"id": ["bad"], "properties": {"k": "v"}}, ROWS)
        (tmp_path / "bad.lance" / ".lance-properties").write_text("[")
        with pytest.warns(UserWarning, match=r"bad.*\(omitted\)"):
            assert namespace.list_tables({"include_declared": False}).tables == ["good"]


# --- a table folder that is a link


LINKED: dict[str, Callable[[Namespace], Any]] = {
    "deregister": lambda ns: ns.deregister_table({"id": ["t"]}),
    "alter": lambda ns: ns.alter_table({"id": ["t"], "set_properties": {"k": "v"}}),
    "drop": lambda ns: ns.drop_table({"id": ["t"]}),
}


@pytest.mark.parametrize("change", LINKED)
def test_markers_are_not_written_through_a_link(tmp_path: Path, change: str) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    root.mkdir()
    with connect("dir", {"path": str(elsewhere)}) as other:
        other.create_table({"id": ["t"]}, ROWS)
    (root / "t.lance").symlink_to(elsewhere / "t.lance")
    before = sorted(str(path) for path in elsewhere.rglob("*"))
    with connect("dir", {"path": str(root)}) as namespace:
        with pytest.raises(LanceNamespaceError, match="symbolic link") as caught:
            LINKED[change](namespace)
        assert caught.value.code == 19
        assert sorted(str(path) for path in elsewhere.rglob("*")) == before
        assert namespace.count_table_rows({"id": ["t"]}).count == 3


@pytest.mark.parametrize("marker", [".lance-deregistered", ".lance-reserved"])
def test_a_marker_behind_a_link_is_kept(tmp_path: Path, marker: str) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    (elsewhere / "t").mkdir(parents=True)
    (elsewhere / "t" / marker).touch()
    root.mkdir()
    (root / "t.lance").symlink_to(elsewhere / "t")
    with connect("dir", {"path": str(root)}) as namespace:
        register = {"id": ["t"], "location": "t.lance"}
        assert code_of(lambda: namespace.register_table(register)) in (5, 19)
        if marker == ".lance-deregistered":  # the name is free, but its location is not
            assert namespace.create_table({"id": ["t"]}, ROWS).location != f"{root}/t.lance"
        else:
            assert code_of(lambda: namespace.create_table({"id": ["t"]}, ROWS)) in (5, 19)
    assert [path.name for path in (elsewhere / "t").iterdir()] == [marker]
