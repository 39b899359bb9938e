"""Versions of managed tables, and the commits to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables for versions and transactions; the versions of existing tables remain managed
    by storage.
    """
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    name = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")
    op.add_column(
        "objects", sa.Column("managed", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.create_table(
        "table_versions",
        sa.Column(
            "table_id", number, sa.ForeignKey("objects.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("branch", name, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True),
        sa.Column("manifest_path", sa.Text, nullable=False),
        sa.Column("manifest_size", sa.BigInteger),
        sa.Column("e_tag", sa.Text),
        sa.Column("timestamp_millis", sa.BigInteger, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("origin", sa.Text),
    )
    op.create_table(
        "transactions",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("created_millis", sa.BigInteger, nullable=False),
        sa.Column("properties", sa.Text, nullable=False),
    )
