"""Namespaces and tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables and insert the root."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    name = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")
    objects = op.create_table(
        "objects",
        sa.Column("id", number, primary_key=True, autoincrement=True),
        sa.Column("parent_id", number, sa.ForeignKey("objects.id", ondelete="CASCADE")),
        sa.Column("name", name, nullable=False),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.Column("location", sa.Text),
        sa.Column("properties", sa.Text, nullable=False),
        sa.UniqueConstraint("parent_id", "name", name="objects_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("objects_kind", "objects", ["parent_id", "kind", "name"])
    op.create_index("objects_location", "objects", ["location"], postgresql_using="hash")
    op.execute(objects.insert().values(name="", kind="n", properties="{}"))
