"""The command ``lance-ns migrate``, which changes the layout of a directory."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..failures import UsageError
from ..session import Session

__all__ = ["migrate"]


class Kind(StrEnum):
    """The layouts of a directory."""

    MANIFEST = "manifest"
    FLAT = "flat"


def migrate(
    session: Session,
    to: Annotated[
        Kind,
        typer.Option(
            "--to",
            help="manifest: a `__manifest` table with namespaces and properties, as in pylance. "
            "flat: only subdirectories; fails if information would be lost.",
        ),
    ] = Kind.MANIFEST,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the planned changes without making them.")
    ] = False,
) -> None:
    """Add a manifest to a directory of tables, or remove it."""
    from ...directory import DirectoryNamespace

    with session.connect() as namespace:
        if not isinstance(namespace, DirectoryNamespace):
            raise UsageError("migrate changes the layout of a directory; connect with --impl dir")
        found = namespace.migrate(to.value, dry_run=dry_run)
    if session.output.as_json:
        session.output.document({"to": found.to, "tables": found.tables, "done": found.done})
        return
    for name in found.tables if dry_run else ():
        session.output.line(name)
    count = f"{len(found.tables):,} table{'' if len(found.tables) == 1 else 's'}"
    verb = "would be migrated" if dry_run else "migrated"
    session.output.line(f"{count} {verb}: {to.value}")
