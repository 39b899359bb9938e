"""Creates a catalog in a database, and upgrades older catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from ..core.errors import scrub
from .config import SqlConfig
from .database import Database
from .errors import recognized
from .schema import REVISIONS

__all__ = ["initialize", "upgrade"]

# Lock that serializes the creation of a catalog in PostgreSQL among several processes.
_LOCK = 0x1A2CE5


def initialize(properties: Mapping[str, Any]) -> str:
    """Create a catalog in a database that has none, and return a description of the database.

    An existing catalog is not changed.

    Args:
        properties: properties of the ``sql`` backend.

    Raises:
        InvalidInputError: code 13, a property is invalid, or the catalog is from another release.
        PermissionDeniedError: code 15.
        UnauthenticatedError: code 16.
        ServiceUnavailableError: code 17, the database cannot be reached.
    """
    return _migrate(properties, "init sql", create=True)


def upgrade(properties: Mapping[str, Any]) -> str:
    """Upgrade a catalog from an older release, and return a description of the database.

    Args:
        properties: properties of the ``sql`` backend.

    Raises:
        InvalidInputError: code 13, there is no catalog, or the catalog is from a newer release.
    """
    return _migrate(properties, "upgrade sql", create=False)


def _migrate(properties: Mapping[str, Any], what: str, *, create: bool) -> str:
    config = SqlConfig.from_properties(properties)
    database = Database(config, create=create)
    if create and not config.is_postgresql:
        config.file.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not create and not config.is_postgresql and not config.file.exists():
            database.require_current()
        with database.writing() as connection:
            if config.is_postgresql:
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            found = database.revision(connection)
            if found not in (None, *REVISIONS) or (create and found in REVISIONS[:-1]):
                raise database.refusal(str(found))
            if found is None and not create:
                raise InvalidInputError(
                    f"sql: {config.shown_database} has no catalog to upgrade; run 'lance-ns init "
                    f"sql' to create one"
                )
            _run(connection)
    except LanceNamespaceError:
        raise
    except SQLAlchemyError as error:
        failure = recognized(error, what, config.shown_database)
        if failure is None:
            raise
        failure.text = scrub(failure.text, config.secrets())
        failure.args = (failure.text,)
        raise failure from error
    finally:
        database.close()
    return config.shown_database


def _run(connection: Any) -> None:
    from alembic import command
    from alembic.config import Config as AlembicConfig

    settings = AlembicConfig()
    folder = str(Path(__file__).with_name("migrations"))
    settings.set_main_option("script_location", folder.replace("%", "%%"))
    settings.attributes["connection"] = connection
    command.upgrade(settings, "head")
