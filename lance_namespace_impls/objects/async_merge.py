# Generated from merge.py by `python -m codegen`. Edit merge.py instead.
"""AsyncMergeInsert: a builder for merging rows into a table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from lance_namespace_client.models import MergeInsertIntoTableResponse

    from .types import AsyncData

__all__ = ["AsyncMergeInsert"]


class AsyncMergeInsert:
    """A builder for merging rows into a table; only `execute` contacts the catalog.

    `AsyncTable.merge_insert` creates it. Without a ``when_...`` step, the merge changes nothing.

    Args:
        execute: sends the merge; called with the fields of the request and the rows.
    """

    def __init__(
        self,
        execute: Callable[
            [Mapping[str, object], AsyncData], Awaitable[MergeInsertIntoTableResponse]
        ],
    ) -> None:
        self._execute = execute
        self._fields: dict[str, Any] = {}

    def when_matched_update_all(self, *, where: str | None = None) -> Self:
        """Update the rows in the table whose keys occur in the new rows.

        Args:
            where: SQL condition on pairs of rows, with the prefixes ``target`` and ``source``;
                defaults to all pairs.
        """
        self._fields["when_matched_update_all"] = True
        if where is not None:
            self._fields["when_matched_update_all_filt"] = where
        return self

    def when_not_matched_insert_all(self) -> Self:
        """Insert the new rows whose keys do not occur in the table."""
        self._fields["when_not_matched_insert_all"] = True
        return self

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> Self:
        """Delete the rows in the table whose keys do not occur in the new rows.

        Args:
            condition: SQL condition on the rows to delete; defaults to all such rows.
        """
        self._fields["when_not_matched_by_source_delete"] = True
        if condition is not None:
            self._fields["when_not_matched_by_source_delete_filt"] = condition
        return self

    def use_index(self, use_index: bool) -> Self:
        """Set whether the merge may use a scalar index on the key column; by default, it may not."""
        self._fields["use_index"] = use_index
        return self

    async def execute(
        self, new_data: AsyncData, *, timeout: timedelta | None = None
    ) -> MergeInsertIntoTableResponse:
        """Merge the rows in one commit.

        Args:
            new_data: the rows, in any form that `AsyncTable.add` accepts.
            timeout: maximum time during which the merge is retried after conflicts; defaults to the
                server's limit.

        Returns:
            the number of updated, inserted and deleted rows, and the new version.

        Raises:
            ConcurrentModificationError: other writers kept changing the table until the time limit
                was reached.
        """
        fields = dict(self._fields)
        if timeout is not None:
            fields["timeout"] = f"{timeout // timedelta(milliseconds=1)}ms"
        return await self._execute(fields, new_data)

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(AsyncMergeInsert) if not name.startswith("_"))
