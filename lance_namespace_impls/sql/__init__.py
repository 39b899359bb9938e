"""A catalog in a database: an SQLite file, or PostgreSQL."""

from .config import SqlConfig
from .migrate import initialize, upgrade
from .namespace import SqlNamespace

__all__ = ["SqlConfig", "SqlNamespace", "initialize", "upgrade"]
