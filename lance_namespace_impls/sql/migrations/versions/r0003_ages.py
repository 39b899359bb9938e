"""An index on the age of transactions."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the index for finding old transactions."""
    op.create_index("transactions_created", "transactions", ["created_millis"])
