"""Storage options that expire are renewed during a read."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import attrs
import lance
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.core.identifiers import Identifier
from lance_namespace_impls.core.storage import EXPIRES_AT_MILLIS, TableStorage
from lance_namespace_impls.distributed.write_plan import Target
from lance_namespace_impls.interop import OfficialNamespace
from lance_namespace_impls.server import ServerOptions, serving
from lance_namespace_impls.tables.dataset import open_dataset
from tests.behaviour.memory import MemoryConfig, Mixed
from tests.servers.s3 import Asked, GuardedS3

pytestmark = pytest.mark.s3

T: Identifier = ("ns", "t")
FRAGMENTS = 3
ROWS = 10
LIFE = 0.3
"""Lifetime that a key reports, in seconds. The store rejects a key only after the test has waited
for this time and ended the key, so the duration of a request does not matter."""


class Vending(Mixed):
    """A catalog that vends a new short-lived key per lookup, with or without its expiry time."""

    store: ClassVar[GuardedS3]
    says_when: ClassVar[bool]
    ends: ClassVar[dict[str, float]]
    """The expiry time of each key, in seconds since 1970."""
    ended: ClassVar[set[str]]
    """The keys that the store no longer accepts."""
    refused: ClassVar[list[Asked]]

    def storage_of(self, entry: TableEntry) -> TableStorage:
        key = f"key-{len(self.ends)}"
        self.ends[key] = time.time() + LIFE
        options = self.store.options(key)
        if self.says_when:
            millis = str(round(self.ends[key] * 1000))
            options |= {EXPIRES_AT_MILLIS: millis, "refresh_offset_millis": "50"}
        return attrs.evolve(super().storage_of(entry), options=options)


@pytest.fixture
def vending(s3: GuardedS3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Vending]:
    monkeypatch.setattr(Vending, "store", s3, raising=False)
    monkeypatch.setattr(Vending, "ends", {}, raising=False)
    monkeypatch.setattr(Vending, "ended", set(), raising=False)
    monkeypatch.setattr(Vending, "refused", [], raising=False)
    monkeypatch.setattr(Vending, "says_when", True, raising=False)
    s3.refuses = _refuses
    with Vending(MemoryConfig(root=f"s3://{s3.bucket}/{tmp_path.name}")) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        for part in range(FRAGMENTS):
            rows = pa.table({"x": list(range(part * ROWS, (part + 1) * ROWS))})
            if part:
                namespace.insert_into_table({"id": list(T)}, rows)
            else:
                namespace.create_table({"id": list(T)}, rows)
        s3.asked.clear()
        yield namespace


def _refuses(asked: Asked) -> bool:
    if asked.access_key not in Vending.ended:
        return False
    Vending.refused.append(asked)
    return True


def end_keys() -> None:
    """Wait until every vended key has expired, and make the store reject these keys."""
    given = dict(Vending.ends)
    time.sleep(max(0.0, max(given.values()) - time.time()))
    Vending.ended.update(given)


# --- ways to open a table


@contextmanager
def _open_table(namespace: Vending) -> Iterator[Any]:
    yield namespace.open_table(T)


@contextmanager
def _an_older_version(namespace: Vending) -> Iterator[Any]:
    namespace.delete_from_table({"id": list(T), "predicate": "x = 0"})
    yield namespace.open_table(T, version=FRAGMENTS)


@contextmanager
def _pylance_itself(namespace: Any) -> Iterator[Any]:
    yield lance.dataset(namespace_client=namespace, table_id=list(T))


@contextmanager
def _the_official_interface(namespace: Vending) -> Iterator[Any]:
    official = OfficialNamespace.__new__(OfficialNamespace)
    official._namespace = namespace
    yield lance.dataset(namespace_client=official, table_id=list(T))


@contextmanager
def _through_a_server(namespace: Vending) -> Iterator[Any]:
    with (
        serving(namespace, ServerOptions(vend_storage_options=True)) as uri,
        connect("rest", {"uri": uri}) as rest,
    ):
        yield rest.open_table(T)


@contextmanager
def _the_table_operations(namespace: Vending) -> Iterator[Any]:
    yield open_dataset(namespace.storage_of(namespace.find_table(T)))


@contextmanager
def _a_spark_worker(namespace: Vending) -> Iterator[Any]:
    target = pickle.loads(pickle.dumps(Target(namespace=namespace, table=T)))
    yield target.open(target.storage(), FRAGMENTS)


OPENERS = [
    _open_table,
    _an_older_version,
    _pylance_itself,
    _the_official_interface,
    _through_a_server,
    _the_table_operations,
    _a_spark_worker,
]


def read_slowly(dataset: Any) -> list[int]:
    """Read a dataset fragment by fragment, and end all keys before each fragment but the first."""
    first, *others = dataset.get_fragments()
    found: list[int] = first.to_table()["x"].to_pylist()
    for fragment in others:
        end_keys()
        found += fragment.to_table()["x"].to_pylist()
    return found


def keys_used(s3: GuardedS3) -> list[str]:
    return sorted({asked.access_key for asked in s3.asked if asked.access_key})


@pytest.mark.parametrize("opener", OPENERS, ids=lambda opener: opener.__name__.strip("_"))
def test_a_read_outlives_its_keys(
    vending: Vending, s3: GuardedS3, opener: Callable[[Vending], Any]
) -> None:
    with opener(vending) as dataset:
        s3.asked.clear()
        assert read_slowly(dataset) == list(range(FRAGMENTS * ROWS))
    assert len(keys_used(s3)) >= 2
    assert Vending.refused == []


@pytest.mark.parametrize("opener", [_open_table, _the_table_operations, _a_spark_worker])
def test_a_read_fails_if_its_keys_have_no_expiry_time(
    vending: Vending,
    s3: GuardedS3,
    monkeypatch: pytest.MonkeyPatch,
    opener: Callable[[Vending], Any],
) -> None:
    monkeypatch.setattr(Vending, "says_when", False)
    with opener(vending) as dataset:
        s3.asked.clear()
        with pytest.raises(ValueError, match=r"403|Forbidden|refused by the test"):
            read_slowly(dataset)
    assert len(keys_used(s3)) == 1


@pytest.mark.parametrize("vends", [False, True])
def test_a_server_that_vends_no_keys_returns_no_expiry_time(vending: Vending, vends: bool) -> None:
    with (
        serving(vending, ServerOptions(vend_storage_options=vends)) as uri,
        connect("rest", {"uri": uri}) as rest,
    ):
        options = rest.describe_table({"id": list(T)}).storage_options or {}
    assert ("aws_secret_access_key" in options) is (EXPIRES_AT_MILLIS in options) is vends


def test_options_without_an_expiry_time_are_not_requested_again(tmp_path: Path) -> None:
    class Counting(Mixed):
        described = 0

        def describe_table(self, request: Any) -> Any:
            type(self).described += 1
            return super().describe_table(request)

    with Counting(MemoryConfig(root=str(tmp_path))) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.create_table({"id": list(T)}, pa.table({"x": [1]}))
        assert namespace.count_table_rows({"id": list(T)}).count == 1
        assert Counting.described == 0
        assert namespace.open_table(T).count_rows() == 1
        assert Counting.described == 1
