"""Commits the deleted and inserted rows of a table as a single version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..core.imports import load
from ..distributed import write_plan

if TYPE_CHECKING:
    from ..distributed.write_plan import WritePlan

__all__ = ["Removals", "offsets_by_fragment", "removed", "rows_in"]

_OFFSET_BITS = 32
_OFFSETS = (1 << _OFFSET_BITS) - 1


def offsets_by_fragment(addresses: Iterable[int]) -> dict[int, list[int]]:
    """Return the offsets of rows in each fragment, from their addresses."""
    found: dict[int, list[int]] = {}
    for address in addresses:
        found.setdefault(address >> _OFFSET_BITS, []).append(address & _OFFSETS)
    return found


def rows_in(fragments: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of rows in new fragments."""
    return sum(fragment["physical_rows"] for fragment in fragments)


def removed(fragments: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the changes of fragments that lost rows, as JSON.

    Args:
        fragments: each fragment before the deletion, with its metadata including the new deletion
            file; None if no rows are left.
    """
    changed, deleted, rows = [], [], 0
    for before, after in fragments:
        had = before.count_rows()
        left = 0 if after is None else after.num_rows
        if after is None:
            deleted.append(before.fragment_id)
        elif left < had:
            changed.append(after.to_json())
        rows += had - left
    return {"changed": changed, "removed": deleted, "rows": rows}


@frozen(kw_only=True)
class Removals:
    """Fragments that lose some rows, and fragments that lose all."""

    changed: list[Any]
    removed: list[int]
    rows: int

    @classmethod
    def of(cls, answers: Sequence[str]) -> Removals:
        """Return the combined results of several calls of `removed`, each passed as JSON text."""
        found = [json.loads(answer) for answer in answers]
        return cls(
            changed=[each for one in found for each in one["changed"]],
            removed=[each for one in found for each in one["removed"]],
            rows=sum(one["rows"] for one in found),
        )

    def commit(
        self, plan: WritePlan, fragments: write_plan.Fragments, *, claims: bool = False
    ) -> int:
        """Commit the removals together with new fragments; return the new version.

        Args:
            plan: the plan.
            fragments: the new fragments.
            claims: whether the new fragments contain new keys, which no other merge may insert
                concurrently.

        Raises:
            ConcurrentModificationError: code 14, another writer changed the same rows or, if
                `claims` is true, committed anything.
        """
        lance = load("lance")

        from ..tables.merge import CLAIMED_FRAGMENT

        def operation(new: list[Any]) -> Any:
            changed = [lance.FragmentMetadata.from_json(json.dumps(each)) for each in self.changed]
            return lance.LanceOperation.Update(
                removed_fragment_ids=[*self.removed, *([CLAIMED_FRAGMENT] if claims else [])],
                updated_fragments=changed,
                new_fragments=new,
            )

        return write_plan.commit(plan, fragments, operation=operation, alone=claims)
