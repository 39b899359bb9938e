"""Commits to managed tables: stored details, base versions, and conflicts with other writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lance_namespace_impls import connect

from .staging import ROWS, STORES, stage


@pytest.fixture(params=STORES)
def managed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A catalog that manages the versions of its tables, with the tables ``s`` and ``t``."""
    with connect(request.param, {"root": str(tmp_path / "lake"), **STORES[request.param]}) as found:
        for name in ("s", "t"):
            found.create_table({"id": [name]}, ROWS)
        yield found


def numbers(namespace: Any, table: str, **more: Any) -> list[int]:
    found = namespace.list_table_versions({"id": [table], **more}).versions
    return [each.version for each in found]


def staged_file(request: dict[str, Any]) -> Path:
    return Path("/" + request["manifest_path"])


# --- stored details


def test_the_manifest_size_from_the_writer_is_stored(managed: Any) -> None:
    request = stage(managed, "t")
    size = staged_file(request).stat().st_size
    made = managed.create_table_version({**request, "manifest_size": size}).version
    assert (made.version, made.manifest_size) == (2, size)
    assert managed.describe_table_version({"id": ["t"], "version": 2}).version.manifest_size == size


def test_a_repeated_request_commits_nothing(managed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = stage(managed, "t")
    first = managed.create_table_version(request)
    assert first.transaction_id
    monkeypatch.setattr(managed.version_store, "commit", lambda changes: pytest.fail(str(changes)))
    for again in (
        managed.create_table_version(request),
        managed.batch_create_table_versions({"entries": [request]}),
    ):
        assert again.transaction_id is None
    assert again.versions == [first.version]
    steps = [{"create_table_version": request}]
    found = managed.batch_commit_tables({"operations": steps})
    assert found.transaction_id is None
    assert found.results[0].create_table_version.version == first.version


def test_the_main_branch_has_several_names(managed: Any) -> None:
    managed.create_table_version({**stage(managed, "t"), "branch": "main"})
    managed.create_table_version({**stage(managed, "t"), "branch": ""})
    for branch in (None, "", "main"):
        assert numbers(managed, "t", branch=branch) == [1, 2, 3]
        asked = {"id": ["t"], "branch": branch}
        assert managed.describe_table_version(asked).version.version == 3
        assert managed.describe_table_version({**asked, "version": 2}).version.version == 2
    request = stage(managed, "t")
    with pytest.raises(InvalidInputError, match="table t occurs twice"):
        managed.batch_create_table_versions({"entries": [request, {**request, "branch": "main"}]})
    assert numbers(managed, "t") == [1, 2, 3]


def test_a_registered_table_keeps_the_versions_of_its_branches(
    managed: Any, tmp_path: Path
) -> None:
    place = str(tmp_path / "lake" / "data")
    dataset = lance.write_dataset(ROWS, place)
    dataset.create_branch("b").insert(ROWS)
    managed.register_table({"id": ["r"], "location": place})
    assert (numbers(managed, "r"), numbers(managed, "r", branch="b")) == ([1], [1, 2])
    assert managed.count_table_rows({"id": ["r"], "branch": "b"}).count == 6


def test_a_location_without_rows_is_registered_without_versions(
    managed: Any, tmp_path: Path
) -> None:
    (tmp_path / "lake" / "empty").mkdir(parents=True)
    managed.register_table({"id": ["e"], "location": str(tmp_path / "lake" / "empty")})
    assert numbers(managed, "e") == []
    with pytest.raises(TableVersionNotFoundError, match="table e has no versions"):
        managed.describe_table_version({"id": ["e"]})


@pytest.mark.parametrize("descending", [False, True])
def test_versions_without_manifests_are_not_listed(managed: Any, descending: bool) -> None:
    for number in range(12):
        managed.update_table_schema_metadata({"id": ["t"], "metadata": {"n": str(number)}})
    every = numbers(managed, "t")
    assert every == list(range(1, 14))
    gone = [2, 11]
    managed.open_table(["t"]).cleanup_old_versions(versions=gone)  # bypasses the catalog
    left = sorted((n for n in every if n not in gone), reverse=descending)
    assert numbers(managed, "t", descending=descending) == left
    walked: list[int] = []
    request = {"id": ["t"], "limit": 4, "descending": descending}
    while True:
        page = managed.list_table_versions(request)
        walked += [each.version for each in page.versions]
        if page.page_token is None:
            break
        request["page_token"] = page.page_token
    assert walked == left


# --- the base version of a commit


def test_the_first_version_is_number_one(managed: Any) -> None:
    place = Path(managed.declare_table({"id": ["d"]}).location)
    place.mkdir(exist_ok=True)
    request = stage(managed, "d")
    assert request["version"] == 1
    two = f"{2**64 - 3:020d}.manifest-0123abcd"
    later = staged_file(request).with_name(two)
    later.write_bytes(staged_file(request).read_bytes())
    wrong = {**request, "version": 2, "manifest_path": str(later).lstrip("/")}
    with pytest.raises(
        ConcurrentModificationError, match=r"version 2 .*: the table has no versions"
    ):
        managed.create_table_version(wrong)
    assert numbers(managed, "d") == [] and not later.exists()
    assert managed.create_table_version(request).version.version == 1
    assert managed.count_table_rows({"id": ["d"]}).count == 3


def test_steps_of_a_commit_build_on_one_another(managed: Any) -> None:
    first = stage(managed, "t")
    name = f"{2**64 - 1 - 3:020d}.manifest-0123abcd"
    second = staged_file(first).with_name(name)
    second.write_bytes(staged_file(first).read_bytes())
    onto = {**first, "version": 3, "manifest_path": str(second).lstrip("/")}
    steps: list[dict[str, Any]] = [
        {"create_table_version": first},
        {"create_table_version": onto},
        {"deregister_table": {"id": ["s"]}},
        {"declare_table": {"id": ["s"], "properties": {"of": "the new one"}}},
    ]
    results = managed.batch_commit_tables({"operations": steps}).results
    assert [each.create_table_version.version.version for each in results[:2]] == [2, 3]
    assert numbers(managed, "t") == [1, 2, 3]
    found = managed.describe_table({"id": ["s"], "check_declared": True})
    assert (found.properties, found.is_only_declared) == ({"of": "the new one"}, True)


@pytest.mark.parametrize(
    "step", ["create_table_version", "delete_table_versions", "deregister_table"]
)
def test_a_table_deregistered_in_a_commit_is_missing_in_later_steps(
    managed: Any, step: str
) -> None:
    asked = {
        "create_table_version": stage(managed, "t"),
        "delete_table_versions": {"id": ["t"], "ranges": [{"start_version": 1, "end_version": 2}]},
        "deregister_table": {"id": ["t"]},
    }
    steps = [{"deregister_table": {"id": ["t"]}}, {step: asked[step]}]
    with pytest.raises(TableNotFoundError, match="table t does not exist"):
        managed.batch_commit_tables({"operations": steps})
    assert list(managed.iter_tables()) == ["s", "t"]


# --- another writer is faster

COMMITS: dict[str, Callable[[Any, list[dict[str, Any]]], Any]] = {
    "one": lambda ns, staged: ns.create_table_version(staged[1]),
    "batch": lambda ns, staged: ns.batch_create_table_versions({"entries": staged}),
    "steps": lambda ns, staged: ns.batch_commit_tables(
        {"operations": [{"create_table_version": each} for each in staged]}
    ),
}


@pytest.mark.parametrize("commit", COMMITS)
def test_only_the_conflicting_manifest_of_a_commit_is_deleted(
    managed: Any, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    """Another writer commits after the checks. Manifests without a conflict remain usable."""
    staged, theirs = [stage(managed, "s"), stage(managed, "t")], stage(managed, "t")
    store = managed.version_store
    real = store.commit

    def late(changes: Any) -> str:
        monkeypatch.undo()
        managed.create_table_version(theirs)
        return str(real(changes))

    monkeypatch.setattr(store, "commit", late)
    with pytest.raises(ConcurrentModificationError, match="table t: version 2 cannot be committed"):
        COMMITS[commit](managed, staged)
    assert [staged_file(each).exists() for each in staged] == [True, False]
    assert (numbers(managed, "s"), numbers(managed, "t")) == ([1], [1, 2])
    assert managed.create_table_version(staged[0]).version.version == 2
    assert managed.count_table_rows({"id": ["t"]}).count == 6
