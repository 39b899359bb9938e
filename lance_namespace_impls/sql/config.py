"""Properties of a catalog in a database."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Config, option, timeout_option

__all__ = ["DEFAULT_FILE", "SqlConfig"]

DEFAULT_FILE = "lance-catalog.db"
_POSTGRESQL = ("postgresql", "postgres")


@attrs.define(kw_only=True)
class SqlConfig(Config):
    """Properties of a catalog in a database."""

    impl: ClassVar[str] = "sql"

    uri: str = option(
        also=("path",),
        default=DEFAULT_FILE,
        doc="database: the path of an SQLite file, or postgresql://user@host:port/database",
    )

    password: str | None = option(
        default=None, secret=True, doc="password of the PostgreSQL user, if the URI contains none"
    )

    managed: bool = option(
        default=False,
        doc="whether the catalog manages the versions of new tables, so that only commits "
        "through it are visible; a table's property managed_versioning overrides this",
    )

    connect_timeout: float = timeout_option(
        "connect_timeout", default=10.0, doc="maximum time to wait for a connection to PostgreSQL"
    )

    lock_timeout: float = timeout_option(
        "lock_timeout",
        default=30.0,
        doc="maximum time to wait for a lock that another transaction holds",
    )

    pool_size: int = option(
        default=10,
        unit="connections",
        minimum=2,
        doc="maximum number of open connections to the database",
    )

    transaction_days: int = option(
        default=30,
        unit="days",
        minimum=1,
        doc="number of days for which DescribeTransaction finds a transaction",
    )

    def __attrs_post_init__(self) -> None:
        """Reject invalid values before connecting to a database."""
        scheme = urlsplit(self.uri).scheme if "://" in self.uri else ""
        if scheme and scheme not in (*_POSTGRESQL, "sqlite", "file"):
            raise InvalidInputError(
                f"sql: databases of type {scheme!r} are not supported: use the path of an SQLite "
                "file, or postgresql://user@host:port/database"
            )
        if not self.uri or (not self.is_postgresql and not self._path.name):
            raise InvalidInputError("sql: property 'uri' is empty")

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL rather than an SQLite file."""
        return "://" in self.uri and urlsplit(self.uri).scheme in _POSTGRESQL

    @property
    def file(self) -> Path:
        """The SQLite file."""
        return self._path.absolute()

    @property
    def _path(self) -> Path:
        """The SQLite file as configured; unlike the absolute path, it may be empty."""
        path = self.uri
        for start in ("sqlite:///", "file://"):
            path = path.removeprefix(start)
        return Path(path)

    @property
    def tables_root(self) -> str | None:
        """Location of new tables: the root or, if unset, a folder next to the SQLite file."""
        if self.root is not None or self.is_postgresql:
            return self.root
        return str(self.file.with_suffix(".tables"))

    @property
    def shown_database(self) -> str:
        """A description of the database for messages, without a password."""
        if not self.is_postgresql:
            return f"SQLite file {self.file}"
        parts = urlsplit(self.uri)
        return f"PostgreSQL database {parts.path.lstrip('/')!r} at {parts.hostname or 'localhost'}"
