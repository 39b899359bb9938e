"""The version that a command reads: its number, its tag, its branch, or a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import UsageError

if TYPE_CHECKING:
    import lance

    from ..objects.table import Table
    from .session import Session

__all__ = ["AsOf", "Branch", "Tag", "Version", "chosen", "dataset_of", "only_one", "version_at"]

Version = Annotated[
    int | None,
    typer.Option("--version", metavar="NUMBER", help="Version to read; defaults to the latest."),
]
Tag = Annotated[
    str | None, typer.Option("--tag", metavar="NAME", help="Tag of the version to read.")
]
Branch = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="That branch.")]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Read the latest version at this time, such as 2026-11-28 or '2026-11-28 "
        "14:30:00+01:00'; in the local time zone if it has no zone.",
    ),
]


def only_one(version: int | str | None, tag: str | None, as_of: str | None) -> None:
    """Check that at most one option selects the version.

    Raises:
        UsageError: several options are passed, or the time cannot be parsed.
    """
    options = {"--version": version, "--tag": tag, "--as-of": as_of}
    passed = [name for name, value in options.items() if value is not None]
    if len(passed) > 1:
        raise UsageError(f"{' and '.join(passed)} are mutually exclusive")
    if as_of is not None:
        _moment(as_of)


def chosen(
    session: Session,
    namespace: Any,
    id: str,
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: str | None = None,
) -> Table:
    """Return a table at the version that the options of a command select.

    Raises:
        UsageError: see `only_one`.
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11, the table had no version at the time.
    """
    only_one(version, tag, as_of)
    identifier = list(session.identifier(id))
    table: Table = namespace.table(identifier, branch=branch, version=version)
    if tag is not None:
        table.checkout(tag)
    if as_of is not None:
        table.checkout(version_at(table, as_of))
    return table


def version_at(table: Table, as_of: str) -> int:
    """Return the latest version at a time, by the times that ``lance-ns versions`` shows.

    Raises:
        UsageError: the time cannot be parsed.
        TableVersionNotFoundError: code 11, there was no version yet.
    """
    from lance_namespace_client.errors import TableVersionNotFoundError

    from ..tables import history

    moment = _moment(as_of)
    dataset = dataset_of(table)
    if dataset is not None:
        times = history.commit_times(dataset)
    else:
        times = {
            each.version: datetime.fromtimestamp(each.timestamp_millis / 1000, UTC)
            for each in table.list_versions()
            if each.timestamp_millis is not None
        }
    try:
        return history.version_at(times, moment)
    except TableVersionNotFoundError as error:
        error.text = f"table {table}: {error.text}"
        raise


def dataset_of(table: Table) -> lance.LanceDataset | None:
    """Return a table's dataset, or None for a server, whose files may not be accessible."""
    if table.namespace.config.impl == "rest":  # type: ignore[attr-defined]
        return None
    return table.to_lance()


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--as-of {text}: expected a time such as 2026-11-28, '2026-11-28 14:30' or "
            "2026-11-28T13:30:00Z"
        ) from None
