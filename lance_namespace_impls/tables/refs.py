"""Tags and branches."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.errors import (
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lance_namespace_client.models import BranchContents, TagContents

__all__ = [
    "branches",
    "checkout",
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_tag",
    "require_branch",
    "require_tag",
    "tag",
    "tags",
    "update_tag",
]


def tags(dataset: Any) -> dict[str, TagContents]:
    """Give every tag by its name, in order."""
    return {
        name: TagContents(
            branch=found["branch"], version=found["version"], manifest_size=found["manifest_size"]
        )
        for name, found in sorted(dataset.tags.list().items())
    }


def tag(dataset: Any, name: str) -> TagContents:
    """Give one tag.

    Raises:
        TableTagNotFoundError: code 8.
    """
    require_tag(dataset, name)
    return tags(dataset)[name]


def create_tag(dataset: Any, name: str, version: int, branch: str | None) -> None:
    """Name a version.

    Raises:
        TableTagAlreadyExistsError: code 9.
        TableVersionNotFoundError: code 11.
        TableBranchNotFoundError: code 22.
    """
    if name in dataset.tags.list():
        raise TableTagAlreadyExistsError(f"tag {name} already exists; update or delete it")
    checkout(dataset, version, branch)
    dataset.tags.create(name, version if branch is None else (branch, version))


def update_tag(dataset: Any, name: str, version: int, branch: str | None) -> None:
    """Move a tag to another version.

    Raises:
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableBranchNotFoundError: code 22.
    """
    require_tag(dataset, name)
    checkout(dataset, version, branch)
    dataset.tags.update(name, version if branch is None else (branch, version))


def delete_tag(dataset: Any, name: str) -> None:
    """Remove a tag; the version stays.

    Raises:
        TableTagNotFoundError: code 8.
    """
    require_tag(dataset, name)
    dataset.tags.delete(name)


def require_tag(dataset: Any, name: str) -> None:
    """Refuse a tag that is not there (code 8)."""
    if name not in dataset.tags.list():
        raise TableTagNotFoundError(f"tag {name} does not exist")


def checkout(dataset: Any, version: int | None, branch: str | None) -> Any:
    """Open another version of a dataset; without a version the latest of the branch.

    Raises:
        TableBranchNotFoundError: code 22.
        TableVersionNotFoundError: code 11.
    """
    require_branch(dataset, branch)
    try:
        return dataset.checkout_version((branch, version))
    except (ValueError, OSError) as error:
        if "not found" not in str(error):
            raise
        where = "" if branch is None else f" on branch {branch}"
        raise TableVersionNotFoundError(f"version {version}{where} does not exist") from error


def branches(dataset: Any) -> dict[str, BranchContents]:
    """Give every branch but the main one by its name, in order."""
    return {
        name: BranchContents(
            parent_branch=branch["parent_branch"],
            parent_version=branch["parent_version"],
            create_at=branch["create_at"],
            manifest_size=branch["manifest_size"],
            metadata=branch.get("metadata") or None,
        )
        for name, branch in sorted(dataset.branches.list().items())
    }


def create_branch(
    dataset: Any, name: str, from_branch: str | None, from_version: int | None
) -> None:
    """Start a branch, from the latest version of the main branch unless said otherwise.

    Raises:
        TableBranchAlreadyExistsError: code 23.
        TableBranchNotFoundError: code 22, there is no branch to start from.
        TableVersionNotFoundError: code 11.
    """
    # pylance's own refusal of a branch that is there already is an internal error.
    if name in dataset.branches.list():
        raise TableBranchAlreadyExistsError(f"branch {name} already exists")
    require_branch(dataset, from_branch)
    if from_version is not None:
        checkout(dataset, from_version, from_branch)
    if from_branch is None and from_version is None:
        dataset.create_branch(name)
    else:
        dataset.create_branch(name, (from_branch, from_version))


def delete_branch(dataset: Any, name: str) -> None:
    """Remove a branch.

    Raises:
        TableBranchNotFoundError: code 22.
    """
    require_branch(dataset, name)
    dataset.branches.delete(name)


def require_branch(dataset: Any, name: str | None) -> None:
    """Refuse a branch that is not there (code 22)."""
    if name is not None and name not in dataset.branches.list():
        raise TableBranchNotFoundError(f"branch {name} does not exist")
