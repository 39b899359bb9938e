"""Tags and branches."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.models import BranchContents, TagContents

from ..core.storage import TableStorage
from .files import read_file, read_small

__all__ = [
    "branches_of",
    "branches",
    "checkout",
    "checkout_tag",
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_tag",
    "require_branch",
    "require_unreferenced",
    "tag",
    "tags",
    "update_tag",
]

# Names become file names, which are escaped and get an extension; file systems allow 255 bytes.
MAX_NAME_LENGTH = 200
MAIN = "main"
# pylance accepts tag names with letters of any script, but then cannot find any of the table's
# tags. It rejects other invalid names late, and with its own message. Names are therefore checked
# here. With ".json", 250 bytes still fit in a file name.
_TAG = re.compile(r"(?!\.)(?!.*\.\.)(?!.*(?:\.|\.lock)$)[A-Za-z0-9._-]{1,250}")
_TAG_FILE = re.compile(r"_refs/tags/([^/]+)\.json")
_UNREAD_TAG = re.compile(r"Not found: .*_refs/tags/")
_UNREAD_BRANCH = re.compile(r"Not found: (.*_refs/branches/\S*)")
# When pylance creates a branch or a tag, it escapes these characters twice in the path of a local
# table, and therefore stores the files in another folder next to the table.
_ESCAPED = re.compile(r"[^ -~]|[\"#%*<>?\[\\\]^`{|}~]")
# pylance's errors for a process that loses a race to create a branch.
_TAKEN = re.compile(r"Dataset already exists|Clone operation should not enter build_manifest")


def tags(dataset: Any) -> dict[str, TagContents]:
    """Return all tags by name, in order."""
    return {
        name: TagContents(
            branch=found["branch"], version=found["version"], manifest_size=found["manifest_size"]
        )
        for name, found in sorted(_tags(dataset).items())
    }


def _tags(dataset: Any) -> dict[str, dict[str, Any]]:
    """Return pylance's data about each tag.

    If another program created a tag with a name that pylance cannot read back, only the other tags
    are returned.
    """
    try:
        return dict(dataset.tags.list())
    except (ValueError, OSError, RuntimeError) as error:
        if not _UNREAD_TAG.search(str(error)):
            raise
        return _readable_tags(dataset)


def _readable_tags(dataset: Any) -> dict[str, dict[str, Any]]:
    files = dataset.new_file_session()
    found = {}
    for path in files.list("_refs/tags"):
        match = _TAG_FILE.fullmatch(path)
        if match is None:
            continue
        if not _TAG.fullmatch(match[1]):
            warnings.warn(
                f"a tag at {dataset.uri} is omitted, because pylance cannot read its name: "
                f"{unquote(match[1])!r}",
                stacklevel=2,
            )
            continue
        if (
            text := read_small(files, path)
        ) is not None:  # otherwise, the tag was deleted concurrently
            content = json.loads(text)
            found[match[1]] = {**content, "manifest_size": content["manifestSize"]}
    return found


def tag(storage: TableStorage, name: str) -> TagContents:
    """Return one tag of a dataset, without reading anything else.

    Raises:
        TableTagNotFoundError: code 8.
    """
    content = None
    if _TAG.fullmatch(name):
        content = read_file(storage, f"_refs/tags/{name}.json")
    if content is None:
        raise _no_tag(name)
    found = json.loads(content)
    return TagContents(
        branch=found.get("branch"), version=found["version"], manifest_size=found["manifestSize"]
    )


def create_tag(dataset: Any, name: str, version: int, branch: str | None) -> None:
    """Create a tag for a version.

    Raises:
        InvalidInputError: code 13, the name is invalid for a tag.
        TableTagAlreadyExistsError: code 9.
        TableVersionNotFoundError: code 11.
        TableBranchNotFoundError: code 22.
        UnsupportedError: code 0, Lance cannot store tags, because of the table's path.
    """
    if not _TAG.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        raise InvalidInputError(
            f"{_shown(name)} is not a valid tag name: use at most {MAX_NAME_LENGTH} ASCII "
            f"letters, digits, '-', '_' and single '.'; a name cannot start or end with '.', or "
            f"end with '.lock'"
        )
    _require_plain_path(dataset, "CreateTableTag", "tag")
    require_branch(dataset, branch)
    with _ref_errors(name, version, branch):
        dataset.tags.create(name, version if branch is None else (branch, version))


@contextmanager
def _ref_errors(name: str, version: int | None = None, branch: str | None = None) -> Iterator[None]:
    """Translate pylance's errors about a tag."""
    if not _TAG.fullmatch(name):
        raise _no_tag(name)
    try:
        yield
    except (ValueError, OSError, RuntimeError) as error:
        text = str(error)
        if "Ref conflict error" in text:
            raise TableTagAlreadyExistsError(
                f"tag {name!r} already exists; update or delete it"
            ) from error
        # If two processes delete a tag concurrently, the second process does not find its file.
        if "Ref not found" in text or "Ref is invalid" in text or _UNREAD_TAG.search(text):
            raise _no_tag(name) from error
        if "Version not found" in text:
            raise _no_version(version, branch) from error
        raise


def _no_tag(name: str) -> TableTagNotFoundError:
    return TableTagNotFoundError(f"tag {_shown(name)} does not exist")


def _no_version(version: int | None, branch: str | None) -> TableVersionNotFoundError:
    where = "" if branch is None else f" on branch {branch!r}"
    return TableVersionNotFoundError(f"version {version}{where} does not exist")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def update_tag(dataset: Any, name: str, version: int, branch: str | None) -> None:
    """Move a tag to another version.

    Raises:
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableBranchNotFoundError: code 22.
    """
    require_branch(dataset, branch)
    with _ref_errors(name, version, branch):
        dataset.tags.update(name, version if branch is None else (branch, version))


def delete_tag(dataset: Any, name: str) -> None:
    """Remove a tag; the version is kept.

    Raises:
        TableTagNotFoundError: code 8.
    """
    with _ref_errors(name):
        dataset.tags.delete(name)


def checkout_tag(dataset: Any, name: str) -> Any:
    """Return the dataset at the version that a tag references.

    Raises:
        TableTagNotFoundError: code 8.
    """
    with _ref_errors(name):
        return dataset.checkout_version(name)


def checkout(dataset: Any, version: int | None, branch: str | None) -> Any:
    """Open another version of a dataset, by default the latest version on the branch.

    Raises:
        TableBranchNotFoundError: code 22.
        TableVersionNotFoundError: code 11.
    """
    require_branch(dataset, branch)
    try:
        return dataset.checkout_version((branch, version))
    except (ValueError, OSError) as error:
        require_branch(dataset, branch)  # it may have been deleted in the meantime
        if "not found" not in str(error).lower():
            raise
        raise _no_version(version, branch) from error


def branches(dataset: Any) -> dict[str, BranchContents]:
    """Return all branches except the main one by name, in order."""
    return {
        name: BranchContents(
            parent_branch=branch["parent_branch"],
            parent_version=branch["parent_version"],
            create_at=branch["create_at"],
            manifest_size=branch["manifest_size"],
            metadata=branch.get("metadata") or None,
        )
        for name, branch in sorted(branches_of(dataset).items())
    }


def _require_plain_path(dataset: Any, operation: str, what: str) -> None:
    """Raise UnsupportedError if Lance would store a tag or branch outside the table."""
    if "://" not in dataset.uri and (found := _ESCAPED.search(dataset.uri)):
        raise UnsupportedError(
            f"{operation} is not supported: Lance would store the {what} in another folder, "
            f"because the local path {dataset.uri!r} contains {found[0]!r}; move the table to a "
            f"path without such characters"
        )


def create_branch(
    dataset: Any, name: str, from_branch: str | None, from_version: int | None
) -> None:
    """Create a branch from a version, by default from the latest version on the main branch.

    Raises:
        InvalidInputError: code 13, the name is invalid for a branch.
        TableBranchAlreadyExistsError: code 23.
        TableBranchNotFoundError: code 22, the branch to start from does not exist.
        TableVersionNotFoundError: code 11.
        UnsupportedError: code 0, Lance cannot store branches, because of the table's path.
    """
    _require_plain_path(dataset, "CreateTableBranch", "branch")
    # pylance escapes the name twice to form the file name.
    if len(quote(quote(name, safe=""), safe="")) > MAX_NAME_LENGTH:
        raise InvalidInputError(
            f"{_shown(name)} is too long for a branch name: the maximum is {MAX_NAME_LENGTH} "
            "characters, and non-ASCII characters count more than once"
        )
    if "." in name.split("/"):
        raise InvalidInputError(
            f"{_shown(name)} is not a valid branch name: no part of it may be '.'"
        )
    # pylance reports an existing branch as an internal error, so check before calling it.
    conflict = TableBranchAlreadyExistsError(f"branch {name!r} already exists")
    if name in branches_of(dataset):
        raise conflict
    require_branch(dataset, from_branch)
    if from_version is not None:
        checkout(dataset, from_version, from_branch)
    start = () if from_branch is None and from_version is None else ((from_branch, from_version),)
    try:
        dataset.create_branch(name, *start)
    except Exception as error:
        # While another process is creating a branch, the branch already exists but is not listed
        # yet.
        if not _TAKEN.search(str(error)) and name not in branches_of(dataset):
            raise
        raise conflict from error


def delete_branch(dataset: Any, name: str) -> None:
    """Remove a branch.

    Raises:
        InvalidInputError: code 13, the branch is the main branch.
        InvalidTableStateError: code 19, a tag references the branch, or another branch starts from
            it or is nested below it.
        TableBranchNotFoundError: code 22.
    """
    if name == MAIN:
        raise InvalidInputError("the main branch cannot be deleted; to delete it, drop the table")
    branches = branches_of(dataset)
    if name not in branches:
        raise _no_branch(name)
    # The files of branch a/b are stored inside the folder of branch a. Lance would delete none of
    # them, and they would prevent both a new branch a and a drop of the table.
    if below := sorted(other for other in branches if other.startswith(f"{name}/")):
        raise _in_use(name, f"its folder contains the files of {', '.join(map(repr, below))}")
    if holders := _holders(dataset, name):
        raise _in_use(name, holders)
    try:
        dataset.branches.delete(name)
    except (ValueError, OSError, RuntimeError) as error:
        text = str(error)
        if "Ref not found" in text or _UNREAD_BRANCH.search(text):
            raise _no_branch(name) from error  # another process deleted it concurrently
        if "Ref conflict error" not in text:
            raise
        raise _in_use(name, _holders(dataset, name) or "a branch or clone refers to it") from error


def _in_use(name: str, holders: str) -> InvalidTableStateError:
    return InvalidTableStateError(
        f"branch {name!r} is in use: {holders}; delete or move its references first"
    )


def require_unreferenced(dataset: Any, versions: Collection[int], branch: str | None) -> None:
    """Reject versions that have a tag or from which a branch starts; Lance keeps such versions.

    Raises:
        InvalidTableStateError: code 19.
    """
    line = branch or None
    tags = [
        f"version {tag['version']} has the tag {name!r}"
        for name, tag in _tags(dataset).items()
        if tag["branch"] == line and tag["version"] in versions
    ]
    branches = [
        f"branch {name!r} starts at version {record['parent_version']}"
        for name, record in branches_of(dataset).items()
        if record["parent_branch"] == line and record["parent_version"] in versions
    ]
    if blocking := sorted(tags + branches):
        raise InvalidTableStateError(
            f"nothing was deleted: {', '.join(blocking)}; exclude these versions, or delete "
            "their references first"
        )


def _holders(dataset: Any, branch: str) -> str:
    """Describe the tags and branches that refer to a branch, as part of a message."""
    tags = [name for name, tag in _tags(dataset).items() if tag["branch"] == branch]
    branches = [
        name for name, record in branches_of(dataset).items() if record["parent_branch"] == branch
    ]
    kinds = (("tag", tags), ("branch", branches))
    return ", ".join(f"{kind} {name!r}" for kind, names in kinds for name in names)


def branches_of(dataset: Any) -> dict[str, dict[str, Any]]:
    """Return pylance's data about each branch.

    pylance lists the files and then reads them one by one; if one of them is deleted in between,
    the call is retried.
    """
    unread = None
    while True:
        try:
            return dict(dataset.branches.list())
        except (ValueError, OSError, RuntimeError) as error:
            found = _UNREAD_BRANCH.search(str(error))
            if found is None or found[1] == unread:
                raise  # always listed, but never readable
            unread = found[1]


def _no_branch(name: str) -> TableBranchNotFoundError:
    return TableBranchNotFoundError(f"branch {name!r} does not exist")


def require_branch(dataset: Any, name: str | None) -> None:
    """Reject a branch that does not exist (code 22)."""
    if name is not None and name not in branches_of(dataset):
        raise _no_branch(name)
