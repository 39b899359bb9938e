"""Kill processes at every step of a change of the manifest: no partial change is visible."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.catalog.namespace import Namespace

from .lakes import ROWS, Peer, manifest_rows, ours

SECONDS = 300


class Step(NamedTuple):
    """The step at which a process is killed."""

    function: str
    when: str
    nth: int = 1


FUNCTIONS = (
    "Directory.add",
    "Directory.create_marker",
    "Directory.write",
    "Directory.move",
    "Directory.move_to_trash",
    "Directory.delete",
    "Directory.remove_marker",
    "Manifest.create",
    "Manifest._commit",
    "fragment.write_fragments",
    "write.create",
    "write.create_unshared",
)
OFTEN = ("create", "move into the root")
"""The calls that are killed in every test run; the others are killed only in slow runs."""
CALLS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "make a namespace": ("create_namespace", {"id": ["n", "new"]}, None),
    "create": ("create_table", {"id": ["n", "new"], "properties": {"k": "v"}}, ROWS),
    "create in the root": ("create_table", {"id": ["new"], "properties": {"k": "v"}}, ROWS),
    "drop": ("drop_table", {"id": ["n", "t"]}, None),
    "drop from the root": ("drop_table", {"id": ["t"]}, None),
    "deregister": ("deregister_table", {"id": ["n", "t"]}, None),
    "deregister from the root": ("deregister_table", {"id": ["t"]}, None),
    "rename": ("rename_table", {"id": ["n", "t"], "new_table_name": "new"}, None),
    "rename in the root": ("rename_table", {"id": ["t"], "new_table_name": "new"}, None),
    "move out of the root": (
        "rename_table",
        {"id": ["t"], "new_namespace_id": ["n"], "new_table_name": "new"},
        None,
    ),
    "move into the root": (
        "rename_table",
        {"id": ["n", "t"], "new_namespace_id": [], "new_table_name": "new"},
        None,
    ),
    "change": ("alter_table", {"id": ["n", "t"], "set_properties": {"k": "w"}}, None),
    "change in the root": ("alter_table", {"id": ["t"], "set_properties": {"k": "w"}}, None),
    "cascade": ("drop_namespace", {"id": ["n"], "behavior": "Cascade"}, None),
}


def _owner(function: str) -> Any:
    from lance import fragment

    from lance_namespace_impls.directory.filesystem import Directory
    from lance_namespace_impls.directory.manifest import Manifest
    from lance_namespace_impls.tables import write

    owners = {"Directory": Directory, "Manifest": Manifest, "write": write, "fragment": fragment}
    return owners[function.partition(".")[0]]


def _die(root: str, call: tuple[str, dict[str, Any], Any], step: Step) -> None:
    owner, name = _owner(step.function), step.function.partition(".")[2]
    setattr(owner, name, _dying(getattr(owner, name), step))
    with ours(root) as namespace:
        method, request, rows = call
        getattr(namespace, method)(request, *([] if rows is None else [rows]))
    os._exit(0)


def _dying(real: Callable[..., Any], step: Step) -> Callable[..., Any]:
    calls = 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        result = real(*args, **kwargs) if calls < step.nth or step.when == "after" else None
        if calls >= step.nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return dying


def steps_of(lake: Namespace, what: str) -> list[Step]:
    """Make a call and return every step that it reaches."""
    calls: Counter[str] = Counter()
    method, request, rows = CALLS[what]
    with pytest.MonkeyPatch.context() as patch:
        for function in FUNCTIONS:
            owner, name = _owner(function), function.partition(".")[2]
            patch.setattr(owner, name, _counting(getattr(owner, name), function, calls))
        getattr(lake, method)(request, *([] if rows is None else [rows]))
    return [
        Step(function, when, nth + 1)
        for function, times in calls.items()
        for nth in range(times)
        for when in ("before", "after")
    ]


def _counting(real: Callable[..., Any], function: str, calls: Counter[str]) -> Callable[..., Any]:
    def counting(*args: Any, **kwargs: Any) -> Any:
        calls[function] += 1
        return real(*args, **kwargs)

    return counting


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a namespace, and with tables in the root and in the namespace.

    A test changes copies of it; the locations in a manifest are relative.
    """
    root = tmp_path_factory.mktemp("prepared")
    with ours(root) as lake:
        lake.create_namespace({"id": ["n"]})
        for table in (["t"], ["n", "t"], ["kept"], ["n", "kept"]):
            lake.create_table({"id": table, "properties": {"k": "v"}}, ROWS)
    return root


def kill(root: Path, call: tuple[str, dict[str, Any], Any], step: Step) -> None:
    """Make a call in another process, which must be killed at a step."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [__name__, "lance.fragment", "lance_namespace_impls.tables.write"]
    )
    process = context.Process(target=_die, args=(str(root), call, step))
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -signal.SIGKILL, step


def tables(namespace: Namespace, *, ready: bool) -> set[tuple[str, ...]]:
    """List every table of the directory."""
    found: set[tuple[str, ...]] = set()
    for parent in ((), ("n",)):
        try:
            names = list(namespace.iter_tables(parent, include_declared=not ready))
        except LanceNamespaceError as error:
            assert error.code == 1
            continue
        found |= {(*parent, name) for name in names}
    return found


@pytest.mark.parametrize(
    "what",
    [what if what in OFTEN else pytest.param(what, marks=pytest.mark.slow) for what in CALLS],
)
def test_killed_at_every_step(prepared: Path, tmp_path: Path, what: str) -> None:
    with ours(shutil.copytree(prepared, tmp_path / "first")) as lake:
        steps = steps_of(lake, what)
    assert len(steps) >= 2
    for number, step in enumerate(steps):
        root = shutil.copytree(prepared, tmp_path / str(number))
        method, request, rows = CALLS[what]
        with ours(root) as lake:
            kill(root, CALLS[what], step)
            _look(lake, root, what, step)
            # Another client repeats the call: it completes the rest, or finds that nothing is left.
            try:
                getattr(lake, method)(request, *([] if rows is None else [rows]))
            except LanceNamespaceError as error:
                assert error.code in (1, 2, 4, 5), (step, error)
            _look(lake, root, what, step)


def _look(lake: Namespace, root: Path, what: str, step: Step) -> None:
    listed = tables(lake, ready=False)
    ready = tables(lake, ready=True)
    assert {("kept",)} <= ready, (step, ready)
    assert what == "cascade" or {("n", "kept")} <= ready, (step, ready)
    moving = "rename" in what or "move" in what
    if moving or "change" in what:
        old, new = (("t",) in ready, ("n", "t") in ready), {("new",), ("n", "new")} & ready
        assert sum(old) + len(new) == 2, (step, ready)
    for table in ready:
        found = lake.describe_table({"id": list(table)})
        assert lake.open_table(list(table)).to_table() == ROWS
        assert found.location is not None
        assert lance.dataset(found.location).count_rows() == 3
        if "deregister" not in what and "drop" not in what:
            assert found.properties in ({"k": "v"}, {"k": "w"}), (step, table, found.properties)
    for table in listed - ready:
        assert table[-1] == "new", (step, table)
        assert lake.describe_table({"id": list(table), "check_declared": True}).is_only_declared
    for name, row in manifest_rows(root).items():
        if row["object_type"] == "table" and tuple(name.split("$")) in listed:
            assert (root / row["location"]).is_dir(), (step, row)
    peer = Peer.at(root)
    assert {(name,) for name in peer.tables([])} == {t for t in listed if len(t) == 1}, step
    assert {("n", name) for name in peer.tables(["n"])} == {t for t in listed if len(t) == 2}, step
