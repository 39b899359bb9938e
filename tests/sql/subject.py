"""Catalogs in a database, as subjects of the behavior suite."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import delete

from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.sql import SqlConfig, SqlNamespace, initialize
from lance_namespace_impls.sql.database import Database
from lance_namespace_impls.sql.schema import ROOT_ID, objects, transactions

from ..behaviour.subject import Identifier, Subject
from ..servers.postgresql import shared

__all__ = ["postgresql", "postgresql_managed", "sql_subject", "sqlite", "sqlite_managed"]


def sql_subject(uri: str, folder: Path, managed: bool) -> Subject:
    """Return the subject for a catalog in an empty database."""
    root = folder / "tables"
    properties = {"uri": uri, "root": str(root), "managed": str(managed).lower()}
    initialize(properties)
    database = Database(SqlConfig.from_properties(properties))

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        shutil.rmtree(root, ignore_errors=True)
        database.write(lambda c: c.execute(delete(objects).where(objects.c.id != ROOT_ID)))
        database.write(lambda c: c.execute(delete(transactions)))
        return {}

    return Subject(
        name="sql",
        connect=lambda: SqlNamespace.from_properties(properties),
        reset=reset,
        capabilities=SqlNamespace.capabilities,
        location=lambda identifier, properties: default_location(str(root), identifier),
        elsewhere=lambda name: str(root / "elsewhere" / name),
        shared_locations=not managed,
        managed=managed,
        deepest=3,
    )


@contextmanager
def sqlite(folder: Path) -> Iterator[Subject]:
    """A catalog in an SQLite file."""
    yield sql_subject(str(folder / "catalog.db"), folder, managed=False)


@contextmanager
def sqlite_managed(folder: Path) -> Iterator[Subject]:
    """A catalog in an SQLite file that manages the versions of its tables."""
    yield sql_subject(str(folder / "catalog.db"), folder, managed=True)


@contextmanager
def postgresql(folder: Path) -> Iterator[Subject]:
    """A catalog in PostgreSQL."""
    yield sql_subject(shared().new_database(), folder, managed=False)


@contextmanager
def postgresql_managed(folder: Path) -> Iterator[Subject]:
    """A catalog in PostgreSQL that manages the versions of its tables."""
    yield sql_subject(shared().new_database(), folder, managed=True)
