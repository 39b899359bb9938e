"""The size of a namespace's cache for opened tables follows its `cache_mib` property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_impls import connect


@pytest.mark.parametrize(("given", "mib"), [({}, 256), ({"cache_mib": "16"}, 16)])
def test_the_caches_are_as_large_as_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], mib: int
) -> None:
    made: list[dict[str, Any]] = []
    session = lance.Session

    def note(**sizes: Any) -> Any:
        made.append(sizes)
        return session(**sizes)

    monkeypatch.setattr(lance, "Session", note)
    with connect("dir", {"path": str(tmp_path), **given}) as namespace:
        for name in "ab":
            namespace.create_table({"id": [name]}, pa.table({"x": [1]}))
            assert namespace.count_table_rows({"id": [name]}).count == 1
    assert len(made) == 1, "one cache for all tables"
    assert sum(made[0].values()) == mib << 20
    assert made[0]["index_cache_size_bytes"] == 3 * made[0]["metadata_cache_size_bytes"]
