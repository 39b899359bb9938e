"""The choice of a metastore for new connections, and their reuse; no server is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pymetastore.hive_metastore.ttypes import InvalidObjectException, NoSuchObjectException
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_impls.hive import pool
from lance_namespace_impls.hive.access import Access
from lance_namespace_impls.hive.client import settable
from lance_namespace_impls.hive.config import Host
from lance_namespace_impls.hive.folders import PrecreatedFolder, is_local
from lance_namespace_impls.hive.pool import Pool, UnreachableError

FIRST, SECOND = Host("first", 1), Host("second", 2)
CUT = TTransportException(TTransportException.END_OF_FILE, "hung up")
LATE = TTransportException(TTransportException.TIMED_OUT, "too late")


class Line:
    """A fake connection for the pool."""

    opened: ClassVar[list[Line]] = []
    away: ClassVar[set[Host]] = set()

    def __init__(
        self, host: Host, connect_timeout: float, read_timeout: float, access: Access
    ) -> None:
        if host in self.away:
            raise ConnectionRefusedError("connection refused")
        self.host, self.timeouts = host, (connect_timeout, read_timeout)
        self.is_closed = self.has_answered = False
        self.opened.append(self)

    def is_open(self) -> bool:
        return not self.is_closed

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "Connection", Line)
    Line.opened, Line.away = [], set()


def pool_of(greet: Callable[[Any], None] = lambda line: None, size: int = 2) -> Pool:
    return Pool([FIRST, SECOND], size, connect_timeout=1.0, read_timeout=2.5, greet=greet)


def host_of(line: Any) -> Host:
    return line.host  # type: ignore[no-any-return]


def raising(*errors: BaseException) -> Callable[[Any], Host]:
    """Return work that raises these errors, one per call, and then succeeds."""
    left = list(errors)

    def work(line: Any) -> Host:
        if left:
            raise left.pop(0)
        return host_of(line)

    return work


def test_a_connection_uses_the_first_host_that_responds() -> None:
    def greet(line: Line) -> None:
        if line.host == FIRST:
            raise CUT

    found = pool_of(greet)
    assert found.run(host_of, repeatable=True) == SECOND
    assert [(line.host, line.is_closed) for line in Line.opened] == [(FIRST, True), (SECOND, False)]
    assert Line.opened[0].timeouts == (1.0, 2.5)


def test_a_new_connection_prefers_the_last_host() -> None:
    Line.away = {FIRST}
    found = pool_of()
    assert found.run(host_of, repeatable=True) == SECOND
    Line.away = set()
    Line.opened[-1].close()
    assert found.run(host_of, repeatable=True) == SECOND
    assert len(Line.opened) == 2


def test_all_failed_hosts_are_named() -> None:
    Line.away = {FIRST}

    def greet(line: Line) -> None:
        raise CUT

    said = r"first:1: connection refused; thrift://second:2: hung up; check that"
    with pytest.raises(UnreachableError, match=said) as raised:
        pool_of(greet).run(host_of, repeatable=False)
    assert not raised.value.under_way
    assert [line.is_closed for line in Line.opened] == [True]


def test_an_unsuitable_metastore_is_an_error() -> None:
    def greet(line: Line) -> None:
        raise UnsupportedError("no catalogs")

    with pytest.raises(UnsupportedError):
        pool_of(greet).run(host_of, repeatable=True)
    assert [(line.host, line.is_closed) for line in Line.opened] == [(FIRST, True)]


UNKNOWN = TApplicationException.UNKNOWN_METHOD
KEPT: list[tuple[BaseException, bool]] = [
    (NoSuchObjectException("t"), True),
    (TApplicationException(UNKNOWN), True),
    (TApplicationException(TApplicationException.MISSING_RESULT), True),
    (TApplicationException(TApplicationException.INTERNAL_ERROR), True),
    (TApplicationException(TApplicationException.BAD_SEQUENCE_ID), False),
    (TApplicationException(TApplicationException.INVALID_MESSAGE_TYPE), False),
    (ValueError("ours"), False),
    (KeyboardInterrupt(), False),
]


@pytest.mark.parametrize(("error", "is_kept"), KEPT, ids=repr)
def test_a_connection_is_reused_only_after_a_response(error: BaseException, is_kept: bool) -> None:
    """After other failures, a late response to the abandoned call may still arrive on it."""
    found = pool_of()
    with pytest.raises(type(error)):
        found.run(raising(error), repeatable=True)
    assert found.run(host_of, repeatable=True) == FIRST
    assert len(Line.opened) == (1 if is_kept else 2)
    assert Line.opened[0].is_closed is not is_kept


BROKEN = [
    CUT,
    TProtocolException(TProtocolException.BAD_VERSION),
    ConnectionResetError(),
    EOFError(),
]


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_a_repeatable_call_is_retried_on_a_new_connection(error: Exception) -> None:
    found = pool_of()
    assert found.run(raising(error), repeatable=True) == FIRST
    assert [line.is_closed for line in Line.opened] == [True, False]
    with pytest.raises(
        UnreachableError, match=r"thrift://first:1 closed the connection during the call \("
    ) as raised:
        found.run(raising(error, error), repeatable=True)
    assert not raised.value.under_way
    assert "look before" not in str(raised.value)


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_a_change_is_never_retried(error: Exception) -> None:
    with pytest.raises(UnreachableError, match="the change may have been applied: check") as raised:
        pool_of().run(raising(error), repeatable=False)
    assert raised.value.under_way
    assert len(Line.opened) == 1


@pytest.mark.parametrize("error", [LATE, TimeoutError("too late")])
@pytest.mark.parametrize("repeatable", [True, False])
def test_a_timed_out_call_is_not_retried(error: Exception, repeatable: bool) -> None:
    with pytest.raises(UnreachableError, match=r"first:1 did not respond for 2\.5 s") as raised:
        pool_of().run(raising(error), repeatable=repeatable)
    assert raised.value.under_way is not repeatable
    assert len(Line.opened) == 1


def test_a_connection_is_returned_after_any_failure() -> None:
    found = pool_of(size=1)
    for error in (CUT, LATE, ValueError("ours"), NoSuchObjectException("t")):
        with pytest.raises(Exception):  # noqa: B017
            found.run(raising(error, error), repeatable=True)
    Line.away = {FIRST, SECOND}
    for line in Line.opened:
        line.close()
    for _ in range(2):
        with pytest.raises(UnreachableError, match="can be reached"):
            found.run(host_of, repeatable=True)
    Line.away = set()
    assert found.run(host_of, repeatable=True) == FIRST


def test_a_connection_in_use_closes_after_its_call() -> None:
    found = pool_of()
    found.run(lambda line: found.close(), repeatable=True)
    assert [line.is_closed for line in Line.opened] == [True]


def test_the_last_used_connection_is_used_next() -> None:
    found = pool_of()
    found.run(lambda line: found.run(host_of, repeatable=True), repeatable=True)
    outer: Any = Line.opened[0]
    assert found.run(lambda line: line is outer, repeatable=True)


# --- folders that are created before their records


def refuse(is_right: bool) -> None:
    """Check a condition, and then fail as if the metastore rejected the record."""
    assert is_right
    raise settable(InvalidObjectException("refused"))


def test_the_folder_of_a_rejected_record_is_deleted(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    made = PrecreatedFolder(f"file:{place}")
    with pytest.raises(InvalidObjectException), made:
        refuse(place.is_dir())
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(InvalidObjectException), PrecreatedFolder(f"file:{tmp_path}/a/b"):
        refuse(True)
    assert [each.name for each in tmp_path.rglob("*")] == ["a"]
    with pytest.raises(InvalidObjectException), PrecreatedFolder(f"file:{tmp_path}/a/b/c"):
        refuse((tmp_path / "a" / "b" / "used").write_text("x") == 1)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a", "b", "used"]


@pytest.mark.parametrize("error", [None, settable(NoSuchObjectException("d")), ValueError("x")])
def test_a_folder_is_kept_unless_its_record_is_rejected(
    tmp_path: Path, error: Exception | None
) -> None:
    try:
        with PrecreatedFolder(f"{tmp_path}/a"):
            if error is not None:
                raise error
    except (NoSuchObjectException, ValueError) as raised:
        assert raised is error
    assert (tmp_path / "a").is_dir()


def test_no_folder_is_created_for_other_locations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for location in ("s3://bucket/t", "s3a://bucket/t", "hdfs:/t", f"file:{tmp_path}/file/t"):
        with PrecreatedFolder(location):
            pass
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert [is_local(each) for each in ("/a", "file:/a", "file:///a", "s3://a", "")] == [
        True, True, True, False, False,
    ]  # fmt: skip
