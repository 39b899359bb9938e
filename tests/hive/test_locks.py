"""Locks, on a fake lock service with a fake clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field
from pymetastore.hive_metastore.ttypes import LockState, NoSuchLockException
from thrift.Thrift import TApplicationException, TException

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    UnsupportedError,
)
from lance_namespace_impls.hive import HiveConfig, locks
from lance_namespace_impls.hive.client import settable
from lance_namespace_impls.hive.locks import Lock, Locks, of_catalog, of_database, of_table
from lance_namespace_impls.hive.pool import UnreachableError

PLACE = ("d", "t")
OWN = 7


@define
class Service:
    """A lock service that keeps a lock for 100 seconds."""

    lasts: float = 100.0
    now: float = 1000.0
    states: list[int] = field(factory=list)
    """The lock states it returns, in order; after the last one the lock is acquired."""
    others: list[Any] = field(factory=list)
    """Other clients that hold the lock or wait for it."""
    refusal: Exception | None = None
    asked: list[Any] = field(factory=list)
    gone: bool = False
    asked_how_long: int = 0
    own: Any = None

    def lock(self, place: Any, holder: tuple[str, str], mark: str) -> Any:
        self.asked.append(("lock", place, holder[0]))
        self.own = element(OWN, mark, self.now)
        if self.refusal is not None:
            raise self.refusal
        return SimpleNamespace(lockid=OWN, state=self._state())

    def check_lock(self, number: int) -> Any:
        self.asked.append(("check", number))
        assert len(self.asked) < 2000, "it waits for ever"
        if self.gone:
            raise settable(NoSuchLockException("none"))
        self.own.lastheartbeat = round(self.now * 1000)
        return SimpleNamespace(state=self._state())

    def heartbeat(self, number: int) -> None:
        self.asked.append(("heartbeat", number))
        if self.gone:
            raise settable(NoSuchLockException("none"))

    def unlock(self, number: int) -> None:
        self.asked.append(("unlock", number))

    def locks(self, place: Any) -> list[Any]:
        assert place == PLACE
        return [*self.others, self.own]

    def lock_seconds(self) -> float:
        self.asked_how_long += 1
        return self.lasts

    def _state(self) -> int:
        return self.states.pop(0) if self.states else int(LockState.ACQUIRED)

    def unlocked(self) -> list[int]:
        return [each[1] for each in self.asked if each[0] == "unlock"]


def element(number: int, agent: str | None, heard: float) -> Any:
    return SimpleNamespace(
        lockid=number,
        agentInfo=agent,
        lastheartbeat=round(heard * 1000),
        user="ann",
        hostname=f"host-{number}",
    )


WAITING = int(LockState.WAITING)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    found = Service()

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= locks.MAX_WAIT
        found.now += seconds

    clock = SimpleNamespace(monotonic=lambda: found.now, sleep=sleep)
    monkeypatch.setattr(locks, "time", clock)
    return found


def locks_of(service: Service, **properties: str) -> Locks:
    usual = {"read_timeout": "20", "connect_timeout": "10"}
    config = HiveConfig.from_properties({**usual, **properties})
    return Locks(service, config)  # type: ignore[arg-type]


def hold(service: Service, **properties: str) -> list[float]:
    """Acquire and release the lock once, and return the time of the acquisition."""
    with locks_of(service, **properties).acquired("AlterTable d$t", PLACE):
        return [service.now]


# --- acquiring a lock


@pytest.mark.parametrize(
    ("properties", "user"), [({}, "lance-namespace"), ({"ugi": "ann:x"}, "ann")]
)
def test_a_free_lock_is_acquired_and_released(
    service: Service, properties: dict[str, str], user: str
) -> None:
    assert hold(service, **properties) == [1000.0]
    assert service.asked == [("lock", PLACE, user), ("unlock", OWN)]


def test_waiting_for_another_clients_lock(service: Service) -> None:
    service.states = [WAITING] * 5
    (had,) = hold(service)
    assert [each[0] for each in service.asked] == ["lock", *["check"] * 5, "unlock"]
    # The first wait is at most 20 ms, and each later one is twice as long.
    assert 0.31 < had - 1000 <= 0.62


def test_the_holder_of_a_lock_is_named(service: Service) -> None:
    service.states = [WAITING] * 10_000
    service.others = [element(5, "query 7", 1000), element(3, "query 2", 1000)]
    said = r"ann on host-3 \(query 2\) has held its lock 3 in the metastore for 20 s; try again"
    with pytest.raises(ConcurrentModificationError, match=f"^AlterTable d.t: {said}"):
        hold(service)
    assert 1020 <= service.now < 1021
    assert service.unlocked() == [OWN]


def test_the_holder_of_a_lock_may_be_unknown(service: Service) -> None:
    service.states = [WAITING] * 10_000
    with pytest.raises(
        ConcurrentModificationError, match="another client has held its lock in the"
    ):
        hold(service)


@pytest.mark.parametrize("state", [LockState.ABORT, LockState.NOT_ACQUIRED])
@pytest.mark.parametrize("before", [0, 1])
def test_a_lock_canceled_by_the_metastore(service: Service, state: int, before: int) -> None:
    service.states = [*[WAITING] * before, int(state)]
    with pytest.raises(ConcurrentModificationError, match="the metastore canceled its lock"):
        hold(service)
    assert service.unlocked() == [OWN]


def test_a_lock_that_expires_while_waiting(service: Service) -> None:
    service.states, service.gone = [WAITING], True
    with pytest.raises(
        ConcurrentModificationError, match=r"AlterTable d\$t: its lock .* has expired"
    ):
        hold(service)


def test_expired_locks_of_this_package_are_removed(service: Service) -> None:
    """Not every metastore removes them. Locks of other programs are left to the metastore."""
    service.states = [WAITING] * 10_000
    now = service.now
    service.others = [
        element(1, "lance-namespace 1 a", now - 200),
        element(2, "query 7", now - 200),
        element(3, None, now - 200),
        element(4, "lance-namespace 1 b", now - 50),
        element(5, "lance-namespace 1 c", now + 19),
    ]
    with pytest.raises(ConcurrentModificationError):
        hold(service)
    assert set(service.unlocked()) == {1, OWN}


@pytest.mark.parametrize("mark", [None, "lance-namespace 1 a"])
def test_no_lock_is_removed_if_the_own_lock_is_not_listed(
    service: Service, mark: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its own lock in the list, the client does not know the metastore's clock."""
    service.states = [WAITING] * 10_000
    monkeypatch.setattr(Service, "locks", lambda service, place: [element(1, mark, 0)])
    with pytest.raises(ConcurrentModificationError):
        hold(service)
    assert service.unlocked() == [OWN]


# --- locks that cannot be acquired

NO_SERVICE = (TApplicationException.INTERNAL_ERROR, TApplicationException.UNKNOWN_METHOD)


@pytest.mark.parametrize("kind", NO_SERVICE)
def test_a_missing_lock_service_differs_from_a_failing_one(service: Service, kind: int) -> None:
    locks = locks_of(service)
    service.refusal = TApplicationException(kind, "no table HIVE_LOCKS")
    said = r"^AlterTable: the metastore's lock service is not working \(no table HIVE_LOCKS\).*schematool"
    with pytest.raises(UnsupportedError, match=said), locks.acquired("AlterTable", PLACE):
        pytest.fail("it is not had")
    service.refusal = None
    with locks.acquired("AlterTable", PLACE):
        pass
    service.refusal = TApplicationException(kind, "out of memory")
    with pytest.raises(TApplicationException), locks.acquired("AlterTable", PLACE):
        pytest.fail("it is not had")


def test_other_failures_of_the_lock_service_are_unchanged(service: Service) -> None:
    service.refusal = TApplicationException(TApplicationException.MISSING_RESULT, "nothing")
    with pytest.raises(TApplicationException, match="nothing"):
        hold(service)


def test_a_lock_with_a_lost_response_is_released(service: Service) -> None:
    service.others = [element(5, "lance-namespace 1 a", 1000), element(6, None, 1000)]
    service.refusal = UnreachableError("cut", under_way=True)
    with pytest.raises(UnreachableError, match="cut"):
        hold(service)
    assert service.unlocked() == [OWN]


@pytest.mark.parametrize("error", [UnreachableError("cut"), settable(TException("no"))])
def test_a_failed_release_does_not_hide_the_first_failure(
    service: Service, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(service: Service, place: object) -> None:
        raise error

    monkeypatch.setattr(Service, "locks", fail)
    service.refusal = UnreachableError("the first")
    with pytest.raises(UnreachableError, match="the first"):
        hold(service)


# --- while a lock is held


@pytest.mark.parametrize(
    ("error", "is_released"),
    [
        (ValueError("refused"), True),
        (settable(TException("refused")), True),
        (UnreachableError("nothing was sent"), True),
        (UnreachableError("it may be under way", under_way=True), False),
        (KeyboardInterrupt(), False),
    ],
    ids=repr,
)
def test_a_lock_is_kept_if_a_change_may_be_under_way(
    service: Service, error: BaseException, is_released: bool
) -> None:
    with pytest.raises(type(error)), locks_of(service).acquired("AlterTable", PLACE):
        raise error
    assert service.unlocked() == ([OWN] if is_released else [])


@pytest.mark.parametrize("error", [UnreachableError("cut"), settable(TException("no"))])
def test_a_change_succeeds_even_if_its_lock_is_not_released(
    service: Service, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(service: Service, number: int) -> None:
        raise error

    monkeypatch.setattr(Service, "unlock", fail)
    assert hold(service) == [1000.0]


@pytest.mark.parametrize(("passed", "beats"), [(0, 0), (9.9, 0), (10.0, 1), (60, 1)])
def test_a_lock_is_renewed_after_a_tenth_of_its_lifetime(
    service: Service, passed: float, beats: int
) -> None:
    locks, lock = locks_of(service), Lock(OWN, "AlterTable", 1000.0)
    service.now += passed
    for _ in range(2):
        locks.renew(lock)
    assert service.asked == [("heartbeat", OWN)] * beats
    assert lock.last_heartbeat == (service.now if beats else 1000.0)
    assert service.asked_how_long == 1


def test_a_lock_that_expired_is_not_renewed(service: Service) -> None:
    lock = Lock(OWN, "AlterTable d$t", 0.0)
    service.gone = True
    with pytest.raises(ConcurrentModificationError, match=r"^AlterTable d\$t: its lock .* expired"):
        locks_of(service).renew(lock)
    assert lock.last_heartbeat == 0.0


@pytest.mark.parametrize(
    ("connect", "read", "fits"), [(10, 39, True), (10, 40, False), (40, 10, False), (1, 1, True)]
)
def test_a_change_must_end_before_its_lock_expires(
    service: Service, connect: int, read: int, fits: bool
) -> None:
    """A change may take both timeouts, twice."""
    timeouts = {"connect_timeout": f"{connect}", "read_timeout": f"{read}"}
    if fits:
        hold(service, **timeouts)
        return
    said = r"may take 100 s, but the metastore keeps a lock for only 100 s"
    with pytest.raises(InvalidInputError, match=said):
        hold(service, **timeouts)
    assert service.asked == []


# --- the names of locks


def test_names_of_locks() -> None:
    assert of_table("d", "t") == ("d", "t")
    assert of_table("d", "t" * 128) == ("d", "t" * 128)
    assert of_table("d", "t" * 129) == ("d", "t" * 128)
    assert of_database("d") == ("d", "@")
    assert of_catalog("c") == ("@", "c")
    assert of_catalog("c" * 200) == ("@", "c" * 128)
