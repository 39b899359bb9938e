"""Tags and branches that do not exist, or that another client changes concurrently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import refs
from lance_namespace_impls.tables.dataset import open_dataset

ROWS = pa.table({"x": [1]})


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    """A dataset with two versions, a tag, a branch, and a branch that starts from this branch."""
    made = lance.write_dataset(ROWS, str(tmp_path / "t.lance"))
    made.insert(ROWS)
    made.create_branch("side").insert(ROWS)
    made.create_branch("deeper", ("side", None))
    made.tags.create("first", 1)
    return lance.dataset(str(tmp_path / "t.lance"))


def refused(code: int, call: Callable[[], Any]) -> str:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    assert caught.value.code == code, caught.value
    return str(caught.value)


MISSING: dict[str, tuple[int, str, Callable[[Any], Any]]] = {
    "update a tag": (8, "tag 'none'", lambda d: refs.update_tag(d, "none", 1, None)),
    "delete a tag": (8, "tag 'none'", lambda d: refs.delete_tag(d, "none")),
    "check out a tag": (8, "tag 'none'", lambda d: refs.checkout_tag(d, "none")),
    "tag a version": (11, "version 9", lambda d: refs.create_tag(d, "new", 9, None)),
    "tag a version of a branch": (
        11, "version 9 on branch 'side'", lambda d: refs.create_tag(d, "new", 9, "side"),
    ),
    "tag a branch": (22, "branch 'none'", lambda d: refs.create_tag(d, "new", 1, "none")),
    "move a tag to a version": (11, "version 9", lambda d: refs.update_tag(d, "first", 9, None)),
    "move a tag to a branch": (22, "branch 'none'", lambda d: refs.update_tag(d, "first", 1, "none")),
    "check out a version": (11, "version 9", lambda d: refs.checkout(d, 9, None)),
    "check out a version of a branch": (
        11, "version 9 on branch 'side'", lambda d: refs.checkout(d, 9, "side"),
    ),
    "check out a branch": (22, "branch 'none'", lambda d: refs.checkout(d, None, "none")),
    "branch from a version": (11, "version 9", lambda d: refs.create_branch(d, "new", None, 9)),
    "branch from a version of a branch": (
        11, "version 9 on branch 'side'", lambda d: refs.create_branch(d, "new", "side", 9),
    ),
    "branch from a branch": (22, "branch 'none'", lambda d: refs.create_branch(d, "new", "none", 1)),
    "delete a branch": (22, "branch 'none'", lambda d: refs.delete_branch(d, "none")),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_an_error_names_the_missing_ref(dataset: Any, name: str) -> None:
    code, said, call = MISSING[name]
    assert refused(code, lambda: call(dataset)).endswith(f"{said} does not exist")
    assert (list(refs.tags(dataset)), list(refs.branches(dataset))) == (
        ["first"],
        ["deeper", "side"],
    )


def test_an_error_names_the_existing_ref(dataset: Any) -> None:
    assert "tag 'first' already exists" in refused(
        9, lambda: refs.create_tag(dataset, "first", 2, None)
    )
    assert "branch 'side' already exists" in refused(
        23, lambda: refs.create_branch(dataset, "side", None, None)
    )
    assert "the main branch" in refused(13, lambda: refs.delete_branch(dataset, "main"))


def test_one_tag_is_read(dataset: Any) -> None:
    storage = TableStorage(location=dataset.uri, options={})
    assert refs.tag(storage, "first") == refs.tags(dataset)["first"]
    for name in ("none", "../tags/first", "a/b"):
        assert "does not exist" in refused(8, lambda name=name: refs.tag(storage, name))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("version", "branch", "found"),
    [
        (None, None, 2),
        (2, None, 2),
        (1, None, 1),
        ("first", None, 1),
        (None, "side", 3),
        (3, "side", 3),
    ],
)
def test_any_version_is_opened(
    dataset: Any, version: int | str | None, branch: str | None, found: int
) -> None:
    """Each version has as many rows as its number."""
    storage = TableStorage(location=dataset.uri, options={})
    opened = open_dataset(storage, version=version, branch=branch)
    assert (opened.version, opened.count_rows()) == (found, found)


class Over:
    """A proxy of a pylance object that overrides some of its attributes."""

    def __init__(self, inner: Any, **own: Any) -> None:
        self._inner = inner
        vars(self).update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def failing(dataset: Any, path: str, *said: str) -> Any:
    """Return the dataset with a method that fails with each message once, then succeeds.

    The failures are those that a concurrent client causes.
    """
    errors = [OSError(each) for each in reversed(said)]
    owner, _, method = path.rpartition(".")
    inner = getattr(dataset, owner) if owner else dataset

    def call(*args: Any, **more: Any) -> Any:
        if errors:
            raise errors.pop()
        return getattr(inner, method)(*args, **more)

    over = Over(inner, **{method: call})
    return Over(dataset, **{owner: over}) if owner else over


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Ref conflict error: first", 9),
        ("Ref not found: first", 8),
        ("Ref is invalid: first", 8),
        ("Not found: /t.lance/_refs/tags/first.json", 8),
        ("Version not found: 2", 11),
    ],
)
def test_pylance_errors_about_a_tag(dataset: Any, said: str, code: int) -> None:
    update = failing(dataset, "tags.update", said)
    refused(code, lambda: refs.update_tag(update, "first", 2, None))
    with pytest.raises(OSError, match="the disk is full"):
        refs.update_tag(failing(dataset, "tags.update", "the disk is full"), "first", 2, None)


@pytest.mark.parametrize(
    ("said", "code", "shown"),
    [
        ("Ref not found: deeper", 22, "does not exist"),
        ("Not found: /t.lance/_refs/branches/deeper.json", 22, "does not exist"),
        ("Ref conflict error: deeper", 19, "is in use: a branch or clone refers to it"),
    ],
)
def test_pylance_errors_about_a_branch(dataset: Any, said: str, code: int, shown: str) -> None:
    delete = failing(dataset, "branches.delete", said)
    assert shown in refused(code, lambda: refs.delete_branch(delete, "deeper"))
    with pytest.raises(OSError, match="the disk is full"):
        refs.delete_branch(failing(dataset, "branches.delete", "the disk is full"), "deeper")


@pytest.mark.parametrize(
    "said",
    ["Dataset already exists: /t/tree/new", "Clone operation should not enter build_manifest"],
)
def test_a_branch_created_concurrently_already_exists(dataset: Any, said: str) -> None:
    made = failing(dataset, "create_branch", said)
    assert "already exists" in refused(23, lambda: refs.create_branch(made, "new", None, None))
    made = failing(dataset, "create_branch", "the disk is full")
    with pytest.raises(OSError, match="the disk is full"):
        refs.create_branch(made, "new", None, None)


def test_branches_are_listed_again_if_one_is_deleted_concurrently(dataset: Any) -> None:
    gone = "Not found: /t.lance/_refs/branches/{}.json"
    again = failing(dataset, "branches.list", gone.format("a"), gone.format("b"))
    assert list(refs.branches(again)) == ["deeper", "side"]
    stays = failing(dataset, "branches.list", gone.format("a"), gone.format("a"))
    with pytest.raises(OSError, match="branches/a"):
        refs.branches(stays)
    with pytest.raises(OSError, match="the disk is full"):
        refs.branches(failing(dataset, "branches.list", "the disk is full"))


def test_a_version_or_branch_deleted_while_it_is_opened_is_missing(dataset: Any) -> None:
    said = "Not found: /t.lance/tree/side/_versions"

    def lose(*_: Any) -> None:
        dataset.branches.delete("deeper")
        raise OSError(said)

    opened = Over(dataset, checkout_version=lose)
    assert "branch 'deeper'" in refused(22, lambda: refs.checkout(opened, 3, "deeper"))
    opened = failing(dataset, "checkout_version", said)
    assert "version 2" in refused(11, lambda: refs.checkout(opened, 2, "side"))
    opened = failing(dataset, "checkout_version", "the disk is full")
    with pytest.raises(OSError, match="the disk is full"):
        refs.checkout(opened, 2, "side")


def test_tags_next_to_foreign_files(dataset: Any) -> None:
    folder = Path(dataset.uri, "_refs", "tags")
    folder.joinpath("readme.txt").write_text("mine")
    folder.joinpath("%C3%A9.json").write_text("{}")
    unread = failing(dataset, "tags.list", "Not found: /t.lance/_refs/tags/é.json")
    with pytest.warns(UserWarning, match="cannot read its name: 'é'"):
        found = refs.tags(unread)
    assert list(found) == ["first"]
    assert (
        found["first"].manifest_size
        == json.loads(folder.joinpath("first.json").read_text())["manifestSize"]
    )
    with pytest.raises(OSError, match="the disk is full"):
        refs.tags(failing(dataset, "tags.list", "the disk is full"))
