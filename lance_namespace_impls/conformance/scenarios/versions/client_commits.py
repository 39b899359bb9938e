"""Commits that a client writes itself, for tables whose versions the namespace manages."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ....core.imports import load
from ...lab import Lab, Skipped
from ...locations import local_folder
from ...rows import people, stream

_ROWS = 10


def managed_table(lab: Lab) -> list[str]:
    """Return a table of ten people whose versions the namespace manages.

    Raises:
        Skipped: the namespace manages no versions, neither by default nor on request.
    """
    for more in ({}, {"properties": {"managed_versioning": "true"}}):
        table = lab.table_id()
        reply = lab.call("CreateTable", stream(people(*range(1, _ROWS + 1))), id=table, **more)
        if reply.succeeded and lab.ok("DescribeTable", id=table).get("managed_versioning"):
            return table
    raise Skipped("the namespace manages the versions of no table")


def newest(lab: Lab, table: list[str], **of: Any) -> int:
    """Return the number of the latest version of a table or of one of its branches."""
    found = lab.ok("ListTableVersions", id=table, descending=True, limit=1, **of).get("versions")
    return int(found[0]["version"]) if found else 0


def staged(lab: Lab, table: list[str], *ids: int, branch: str | None = None) -> dict[str, Any]:
    """Write a commit of rows like a client, up to its manifest; return the request to commit it."""
    lance = load("lance")

    of = {} if branch is None else {"branch": branch}
    version = newest(lab, table, **of) + 1
    path = Path(local_folder(lab.ok("DescribeTable", id=table)))
    if not os.access(path, os.W_OK):
        raise Skipped("this machine cannot write to the location")
    with tempfile.TemporaryDirectory(prefix="lnkit-") as folder:
        beside = Path(folder) / "copy"
        shutil.copytree(path, beside)
        onto = lance.dataset(str(beside)).checkout_version((branch, None))
        lance.write_dataset(people(*(ids or (11,))), onto, mode="append")
        if branch is not None:
            beside, path = beside / "tree" / branch, path / "tree" / branch
        for kind in ("data", "_transactions"):
            (path / kind).mkdir(exist_ok=True)
            for file in (beside / kind).iterdir():
                if not (path / kind / file.name).exists():
                    shutil.copy(file, path / kind / file.name)
        name = f"{2**64 - 1 - version:020d}.manifest"
        manifest = path / "_versions" / f"{name}-{secrets.token_hex(4)}"
        shutil.copy(beside / "_versions" / name, manifest)
    return {
        "id": table,
        "version": version,
        "manifest_path": str(manifest).lstrip("/"),
        "manifest_size": manifest.stat().st_size,
        "naming_scheme": "V2",
        **of,
    }
