"""Files and catalog entries that a failed create removes or leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    TableAlreadyExistsError,
)
from lance_namespace_impls.catalog.catalog import CatalogNamespace
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.services.placement import Placement
from tests.servers.s3 import GuardedS3

from .conftest import LISTED_FIRST, Place, _directory, rows_of

pytestmark = pytest.mark.s3


# --- removal after a failed create


def interrupted(rows: pa.Table, meanwhile: Callable[[], Any], end: str = "") -> Any:
    """Return rows as a stream that ends with a call of `meanwhile` and maybe the error `end`."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows.to_batches()
        meanwhile()
        if end:
            raise OSError(end)

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


@pytest.mark.parametrize("place", LISTED_FIRST, indirect=True)
def test_rows_committed_by_others_survive_an_interrupted_create(place: Place) -> None:
    request = place.request("t")
    with place.connect() as namespace:

        def fill() -> None:
            location = namespace.describe_table(request).location
            lance.write_dataset(rows_of(7), location, storage_options=dict(place.storage) or None)

        with pytest.raises(InvalidInputError, match="went away"):
            namespace.create_table(request, interrupted(rows_of(1), fill, "the client went away"))
        assert namespace.open_table(request["id"]).to_table() == rows_of(7)


def test_rows_being_written_by_others_survive_an_interrupted_create(
    s3: GuardedS3, tmp_path: Path
) -> None:
    """An object store has no locks, so another writer may still be going to commit the files."""
    place = _directory(f"s3://{s3.bucket}/{tmp_path.name}", s3.options())
    request, options = place.request("t"), s3.options()
    with place.connect() as namespace:
        transactions = []

        def fill() -> None:
            from lance.fragment import write_fragments

            location = namespace.describe_table(request).location
            transactions.append(
                write_fragments(
                    rows_of(7),
                    location,
                    mode="create",
                    return_transaction=True,
                    storage_options=options,
                )
            )

        with (
            pytest.warns(
                UserWarning, match="table t could not be removed and remains without data"
            ),
            pytest.raises(InvalidInputError, match="went away"),
        ):
            namespace.create_table(request, interrupted(rows_of(1), fill, "the client went away"))
        location = namespace.describe_table(request).location
        lance.LanceDataset.commit(location, transactions[0], storage_options=options)
        assert namespace.open_table(["t"]).to_table() == rows_of(7)


def test_an_interrupted_create_leaves_nothing(place: Place) -> None:
    request = place.request("t")
    with place.connect() as namespace:
        with pytest.raises(InvalidInputError, match="went away"):
            namespace.create_table(
                request, interrupted(rows_of(1), lambda: None, "the client went away")
            )
        assert list(namespace.iter_tables(place.parent)) == []


def call_after_adding(
    monkeypatch: pytest.MonkeyPatch, namespace: CatalogNamespace, then: Callable[[], Any]
) -> None:
    """Call a function once the namespace has added a table, before it checks the location."""
    add = Placement.add_at_new_location

    def add_and_pause(self: Placement, *args: Any) -> TableEntry:
        entry = add(self, *args)
        if self.catalog is namespace:
            then()
        return entry

    monkeypatch.setattr(Placement, "add_at_new_location", add_and_pause)


@pytest.mark.parametrize("place", LISTED_FIRST, indirect=True)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [("Create", rows_of(7)), ("ExistOk", rows_of(7)), ("Overwrite", rows_of(1))],
)
def test_rows_written_by_others_to_a_table_just_added_are_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch, mode: str, expected: pa.Table
) -> None:
    with place.connect() as namespace, place.connect() as other:
        request = place.request("t", mode=mode)

        def fill() -> None:
            other.create_table(place.request("t"), rows_of(7))

        call_after_adding(monkeypatch, namespace, fill)
        rows = rows_of(1)
        if mode == "Create":
            with pytest.raises(TableAlreadyExistsError, match="another writer"):
                namespace.create_table(request, rows)
        else:
            namespace.create_table(request, rows)
        assert other.open_table(request["id"]).to_table() == expected
        assert list(other.iter_tables(place.parent, include_declared=False)) == ["t"]


def test_a_drop_before_the_first_rows_is_reported(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local.connect() as namespace, local.connect() as other:
        request = local.request("t")

        def lose() -> None:
            other.drop_table(request)

        rows = rows_of(1).to_reader()
        if local.parent:
            rows = interrupted(rows_of(1), lose)
        else:
            call_after_adding(monkeypatch, namespace, lose)
        with pytest.raises(ConcurrentModificationError, match=r"table (ns\$)?t was dropped"):
            namespace.create_table(request, rows)
        assert list(other.iter_tables(local.parent)) == []


def test_an_unexpected_error_during_the_removal_is_reported(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slip(*_: Any) -> None:
        raise AttributeError("no such thing")

    with local.connect() as namespace:
        monkeypatch.setattr(namespace, "withdraw_table", slip)
        broken = interrupted(rows_of(1), lambda: None, "the client went away")
        with pytest.raises(InternalError, match="no such thing") as caught:
            namespace.create_table(local.request("t"), broken)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_a_failed_removal_does_not_hide_the_first_error(
    local: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("the catalog hung up")

    with local.connect() as namespace:
        monkeypatch.setattr(namespace, "withdraw_table", refuse)
        broken = interrupted(rows_of(1), lambda: None, "the client went away")
        with (
            pytest.warns(UserWarning, match="t could not be removed and remains .*: .*hung up"),
            pytest.raises(InvalidInputError, match="went away"),
        ):
            namespace.create_table(local.request("t"), broken)
