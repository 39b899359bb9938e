"""CreateTable and RegisterTable while other clients concurrently change the same name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import TableNotFoundError
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.services.placement import _first_rows_lock
from lance_namespace_impls.core.identifiers import Identifier
from lance_namespace_impls.tables import dataset, write
from tests.behaviour.memory import MemoryConfig, Mixed

from .memory import ROWS, code_of

# A version that is listed but cannot be read, as during the deletion of a table's folder.
NO_LONGER_READ = "_versions/18446744073709551614.manifest"
GONE: dict[str, Callable[[Mixed], Any]] = {
    "deregistered": lambda others: others.deregister_table({"id": ["t"]}),
    "dropped": lambda others: others.drop_table({"id": ["t"]}),
    "renamed": lambda others: others.rename_table({"id": ["t"], "new_table_name": "u"}),
}


class Watched(Mixed):
    """A catalog in which other clients act once, immediately before a step."""

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.before: dict[str, Callable[[Mixed], Any]] = {}
        self.others = Mixed(config)

    def _reached(self, step: str) -> None:
        if (others_do := self.before.pop(step, None)) is not None:
            others_do(self.others)

    def load_table(self, identifier: Identifier) -> TableEntry:
        self._reached("load")
        return super().load_table(identifier)

    def sole_change(self, identifier: Identifier) -> Any:
        self._reached("change")
        return super().sole_change(identifier)

    def has_data(self, entry: TableEntry) -> bool:
        self._reached("look")
        return super().has_data(entry)

    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> Any:
        self._reached("write")
        return super().initial_write_lock(entry, wait=wait)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(MemoryConfig(root=str(tmp_path)))


@pytest.mark.parametrize("gone", GONE)
def test_a_name_released_concurrently_can_be_created(watched: Watched, gone: str) -> None:
    watched.declare_table({"id": ["t"]})
    watched.before["load"] = GONE[gone]
    watched.create_table({"id": ["t"]}, ROWS)
    assert watched.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize("gone", GONE)
def test_a_name_released_concurrently_can_be_registered(watched: Watched, gone: str) -> None:
    location = watched.create_table({"id": ["old"]}, ROWS).location
    watched.deregister_table({"id": ["old"]})
    watched.declare_table({"id": ["t"]})
    watched.before["change"] = GONE[gone]
    watched.register_table({"id": ["t"], "location": location, "mode": "Overwrite"})
    assert watched.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize(("declared", "step"), [(True, "look"), (True, "write"), (False, "write")])
def test_create_fails_if_the_table_is_concurrently_renamed_and_filled(
    watched: Watched, declared: bool, step: str
) -> None:
    def rename_and_fill(others: Mixed) -> None:
        GONE["renamed"](others)
        others.create_table({"id": ["u"]}, ROWS)

    if declared:
        watched.declare_table({"id": ["t"]})
    watched.before[step] = rename_and_fill
    code, message = code_of(lambda: watched.create_table({"id": ["t"]}, ROWS.slice(1)))
    assert code == 14 and message.startswith("table t was dropped or renamed")
    with pytest.raises(TableNotFoundError):
        watched.table_exists({"id": ["t"]})
    assert watched.open_table(["u"]).to_table() == ROWS


def test_create_fails_if_the_table_is_concurrently_filled_and_dropped(watched: Watched) -> None:
    def fill_and_drop(others: Mixed) -> None:
        others.create_table({"id": ["t"]}, ROWS)
        others.drop_table({"id": ["t"]})

    watched.declare_table({"id": ["t"]})
    watched.before["write"] = fill_and_drop
    assert code_of(lambda: watched.create_table({"id": ["t"]}, ROWS))[0] == 14
    watched.create_table({"id": ["t"]}, ROWS)


@pytest.mark.parametrize("again", ["declare", "create"])
@pytest.mark.parametrize("gone", GONE)
def test_pending_rows_are_not_written_to_a_later_table_of_the_same_name(
    watched: Watched, gone: str, again: str
) -> None:
    def reuse_the_name(others: Mixed) -> None:
        GONE[gone](others)
        if again == "declare":
            others.declare_table({"id": ["t"]})
        else:
            others.create_table({"id": ["t"]}, ROWS)

    watched.before["write"] = reuse_the_name
    assert code_of(lambda: watched.create_table({"id": ["t"]}, ROWS.slice(1)))[0] == 14
    if again == "declare":
        watched.create_table({"id": ["t"]}, ROWS)
    assert watched.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize("call", ["create_table", "insert_into_table"])
def test_a_write_failure_on_a_dropped_table_reports_the_drop(
    watched: Watched, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is deleted during the write; the error of the writer itself is different."""

    def fail(*_: Any) -> None:
        GONE["dropped"](watched.others)
        raise OSError("Failed to persist temp file")

    watched.declare_table({"id": ["t"]})
    monkeypatch.setattr(write, "_write_first", fail)
    assert code_of(lambda: getattr(watched, call)({"id": ["t"]}, ROWS))[0] == 14
    watched.declare_table({"id": ["t"]})
    monkeypatch.setitem(GONE, "dropped", lambda others: None)
    code, message = code_of(lambda: getattr(watched, call)({"id": ["t"]}, ROWS))
    assert code != 14 and "persist temp file" in message


@pytest.mark.parametrize("mode", ["Create", "Overwrite"])
@pytest.mark.parametrize("step", ["written", "being written"])
def test_create_fails_if_its_rows_are_deleted_concurrently(
    watched: Watched, step: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clients fill a table. One finishes, and the table is dropped and declared again at the
    same location."""
    location = watched.declare_table({"id": ["t"]}).location or ""
    ends = ExitStack()
    ends.enter_context(_first_rows_lock(location))

    def drop_and_declare(others: Mixed) -> None:
        ends.close()
        others.drop_table({"id": ["t"]})
        assert others.declare_table({"id": ["t"]}).location == location

    def delete_during_write(*_: Any, **__: Any) -> None:
        drop_and_declare(watched.others)
        raise OSError(
            f"LanceError(IO): failed to persist temp file to {location}/data/1.lance: No such file or "
            "directory (os error 2)"
        )

    def start(others: Mixed) -> None:
        if step == "written":
            watched.before["change"] = drop_and_declare
        else:
            monkeypatch.setattr("lance.fragment.write_fragments", delete_during_write)

    watched.before["write"] = start
    code, message = code_of(lambda: watched.create_table({"id": ["t"], "mode": mode}, ROWS))
    assert code == 14 and "deleted while the rows were written" in message
    monkeypatch.undo()
    assert watched.describe_table({"id": ["t"], "check_declared": True}).is_only_declared
    watched.create_table({"id": ["t"]}, ROWS)
    assert watched.open_table(["t"]).to_table() == ROWS


def test_an_overwrite_is_not_committed_to_a_recreated_table(
    watched: Watched,
) -> None:
    location = watched.create_table({"id": ["t"]}, ROWS).location

    def make_again(others: Mixed) -> None:
        others.drop_table({"id": ["t"]})
        others.declare_table({"id": ["t"], "location": location})
        others.create_table({"id": ["t"]}, ROWS.slice(1))

    # The commit is the first change to the catalog after the check for data.
    watched.before["look"] = lambda others: watched.before.update(change=make_again)
    request = {"id": ["t"], "mode": "Overwrite"}
    code, message = code_of(lambda: watched.create_table(request, ROWS))
    assert code == 14 and "deleted while the rows were written" in message
    assert watched.open_table(["t"]).to_table() == ROWS.slice(1)


def test_a_version_that_is_deleted_concurrently_is_not_data(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a drop, a version first becomes unreadable and is then no longer listed."""
    location = Path(watched.declare_table({"id": ["t"]}).location or "")
    left = location / NO_LONGER_READ
    left.parent.mkdir(parents=True)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        left.unlink()

    def ask(call: Callable[[], Any]) -> Any:
        left.symlink_to(location / "deleted")
        return call()

    monkeypatch.setattr(dataset, "sleep", pause)
    assert ask(lambda: watched.list_tables({"include_declared": False})).tables == []
    assert ask(
        lambda: watched.describe_table({"id": ["t"], "check_declared": True})
    ).is_only_declared
    ask(lambda: watched.create_table({"id": ["t"]}, ROWS))
    assert len(pauses) == 3 and watched.open_table(["t"]).to_table() == ROWS


def test_a_create_during_a_drop_reports_that_the_table_was_dropped(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = Path(watched.declare_table({"id": ["t"]}).location or "")
    left = location / NO_LONGER_READ
    left.parent.mkdir(parents=True)
    left.symlink_to(location / "deleted")
    monkeypatch.setattr(dataset, "sleep", lambda seconds: None)
    create = lambda: watched.create_table({"id": ["t"]}, ROWS)  # noqa: E731
    code, message = code_of(create)
    assert code == 19 and NO_LONGER_READ in message  # the table is damaged, not being dropped
    watched.before["look"] = lambda others: others.remove_table(others.find_table(("t",)))
    code, message = code_of(create)
    assert code == 14 and message.startswith("table t was dropped or renamed")
