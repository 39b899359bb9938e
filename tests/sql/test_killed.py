"""A commit of several tables, killed at every step, takes effect completely or not at all."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from lance_namespace_impls.sql import SqlNamespace

from ..catalog.staging import ROWS, stage
from .conftest import KINDS

SECONDS = 300
TABLES = ("a", "b", "c")
# Upper limit of the steps: statements that read, write, lock and commit, and moves of files.
MOST_STEPS = 200


def commit_and_die(properties: Mapping[str, str], request: dict[str, Any], step: int) -> None:
    """Commit, and kill this process at a step; a commit with fewer steps completes."""
    from sqlalchemy import Engine, event

    left = step

    def count(*_: Any, **__: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    real = os.replace

    def replace(*paths: Any) -> None:
        count()
        real(*paths)
        count()

    os.replace = replace
    with SqlNamespace.from_properties(properties) as catalog:
        catalog.batch_commit_tables(request)


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("properties", KINDS, indirect=True)
def test_a_commit_of_three_tables_is_complete_or_has_no_effect(
    properties: dict[str, str], stride: int
) -> None:
    """The slow test tries every step, the short one every ninth."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "lance"])
    outcomes: list[bool] = []
    with SqlNamespace.from_properties({**properties, "managed": "true"}) as catalog:
        for name in TABLES:
            catalog.create_table({"id": [name]}, ROWS)
        for step in range(1, MOST_STEPS, stride):
            entries = [stage(catalog, name) for name in TABLES]
            new = {"declare_table": {"id": [f"new{step:03}"], "properties": {"step": str(step)}}}
            request = {"operations": [*({"create_table_version": each} for each in entries), new]}
            process = context.Process(
                target=commit_and_die, args=({**properties, "managed": "true"}, request, step)
            )
            process.start()
            process.join(SECONDS)
            assert process.exitcode in (0, -signal.SIGKILL)
            done = is_whole(catalog, entries, f"new{step:03}")
            outcomes.append(done)
            if process.exitcode == 0:
                break
            if not done:
                catalog.batch_commit_tables(request)  # nothing blocks it
                assert is_whole(catalog, entries, f"new{step:03}")
    assert outcomes[-1] is True
    first = outcomes.index(True)
    assert first > 1 and outcomes == [False] * first + [True] * (len(outcomes) - first)


def is_whole(catalog: SqlNamespace, entries: list[dict[str, Any]], new: str) -> bool:
    """Return whether all changes took effect; fail if only some did."""
    found = []
    for entry in entries:
        (latest,) = catalog.list_table_versions(
            {"id": entry["id"], "limit": 1, "descending": True}
        ).versions
        rows = catalog.count_table_rows({"id": entry["id"]}).count
        assert rows == 3 * latest.version
        assert os.path.exists("/" + latest.manifest_path)
        found.append(latest.version == entry["version"])
        assert os.path.exists("/" + entry["manifest_path"]) is not found[-1]
    found.append(new in catalog.list_tables({}).tables)
    assert len(set(found)) == 1, found
    return found[0]
