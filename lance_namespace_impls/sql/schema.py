"""The database tables of the catalog, as of the newest migration."""

from __future__ import annotations

from sqlalchemy import (
    TEXT,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["NAMESPACE", "REVISIONS", "ROOT_ID", "TABLE", "objects", "transactions", "versions"]

REVISIONS = ("0001", "0002", "0003")
"""The migrations, oldest first; this code reads and writes the schema of the last migration."""

ROOT_ID = 1
NAMESPACE, TABLE = "n", "t"

metadata = MetaData()
# SQLite auto-increments only columns of type INTEGER, but not of type BIGINT.
_Id = BigInteger().with_variant(Integer, "sqlite")
# Names are compared and sorted by code point, regardless of the database's language.
_Name = Text().with_variant(TEXT(collation="C"), "postgresql")

objects = Table(
    "objects",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("parent_id", _Id, ForeignKey("objects.id", ondelete="CASCADE")),
    Column("name", _Name, nullable=False),
    Column("kind", String(1), nullable=False),
    Column("location", Text),
    Column("managed", Boolean, nullable=False),
    Column("properties", Text, nullable=False),
    UniqueConstraint("parent_id", "name", name="objects_name"),
    Index("objects_kind", "parent_id", "kind", "name"),
    Index("objects_location", "location", postgresql_using="hash"),
    sqlite_autoincrement=True,  # ids are never reused for other objects
)
"""Namespaces and tables; the root is the row without a parent."""

versions = Table(
    "table_versions",
    metadata,
    Column("table_id", _Id, ForeignKey("objects.id", ondelete="CASCADE"), primary_key=True),
    Column("branch", _Name, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("manifest_path", Text, nullable=False),
    Column("manifest_size", BigInteger),
    Column("e_tag", Text),
    Column("timestamp_millis", BigInteger, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("origin", Text),
)
"""Versions of managed tables; the name of the main branch is ''."""

transactions = Table(
    "transactions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("status", String(20), nullable=False),
    Column("created_millis", BigInteger, nullable=False),
    Column("properties", Text, nullable=False),
    Index("transactions_created", "created_millis"),
)
"""Commits to managed tables within the last `SqlConfig.transaction_days` days."""
