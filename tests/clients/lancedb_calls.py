"""The whole API of lancedb, call by call, with the expected result of each call.

Every call creates its own table, so that a failed call does not affect the others.
"""

from __future__ import annotations

from . import lancedb_changes, lancedb_reading, lancedb_tables
from .lancedb_call import call_all

__all__ = ["call_all", "lancedb_changes", "lancedb_reading", "lancedb_tables"]
