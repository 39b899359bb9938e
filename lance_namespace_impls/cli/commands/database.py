"""Commands that create a catalog in a database and upgrade it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..failures import UsageError, needs
from ..output import Output
from ..session import ConfigFile, Profile, Properties, choose, key_values

__all__ = ["init", "upgrade"]

Backend = Annotated[
    str, typer.Argument(metavar="BACKEND", help="The backend; only sql is supported.")
]


def init(
    output: Output,
    backend: Backend,
    property: Properties = None,
    profile: Profile = None,
    config: ConfigFile = None,
) -> None:
    """Create a catalog in a database that has none.

    An SQLite file is created if necessary; a PostgreSQL database must exist. An existing catalog is
    not changed.
    """
    properties = _properties(backend, property, profile, config)
    with needs(f"init {backend}", "sql"):
        from ...sql import initialize
    where = initialize(properties)
    _report(output, "created", f"the catalog is ready in the {where}", where)


def upgrade(
    output: Output,
    backend: Backend,
    property: Properties = None,
    profile: Profile = None,
    config: ConfigFile = None,
) -> None:
    """Upgrade a catalog that was created by an older release.

    First back up the database and stop all programs that use it: older releases cannot read it
    afterwards.
    """
    properties = _properties(backend, property, profile, config)
    with needs(f"upgrade {backend}", "sql"):
        from ...sql import upgrade as run_upgrade
    where = run_upgrade(properties)
    _report(output, "upgraded", f"the catalog in the {where} is up to date", where)


def _properties(backend: str, property: Any, profile: str | None, config: Any) -> Mapping[str, Any]:
    if backend != "sql":
        raise UsageError(f"{backend!r} has no database: use sql")
    given = key_values(property, "--property")
    if profile is None and config is None:
        return given
    found = choose(None, profile, config)
    if found.pop("impl") != "sql":
        raise UsageError("the profile must use the backend sql")
    return {**found, **given}


def _report(output: Output, done: str, sentence: str, where: str) -> None:
    if output.as_json:
        output.document({done: where})
    else:
        output.line(sentence)
