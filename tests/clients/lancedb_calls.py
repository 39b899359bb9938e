"""The whole API of lancedb, call by call, with what each call has to give.

Every call starts from a table of its own, so that one that fails leaves the others alone.
"""

from __future__ import annotations

from . import lancedb_changes, lancedb_reading, lancedb_tables
from .lancedb_call import call_all

__all__ = ["call_all", "lancedb_changes", "lancedb_reading", "lancedb_tables"]
