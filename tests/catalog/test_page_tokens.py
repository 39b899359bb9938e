"""A page token belongs to one listing of one catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect

ROWS = pa.table({"x": [1]})


def filled(path: Path, **more: str) -> Any:
    namespace = connect("dir", {"path": str(path), **more})
    for name in ("a", "b", "c"):
        namespace.create_table({"id": [name], "mode": "ExistOk"}, ROWS)
    for tag in ("one", "two"):
        namespace.create_table_tag({"id": ["a"], "tag": tag, "version": 1})
    return namespace


@pytest.mark.parametrize(
    ("listing", "request_", "names"),
    [
        ("list_tables", {}, "tables"),
        ("list_all_tables", {}, "tables"),
        ("list_table_tags", {"id": ["a"]}, "tags"),
    ],
)
def test_a_token_of_another_catalog_is_rejected(
    tmp_path: Path, listing: str, request_: dict[str, Any], names: str
) -> None:
    with filled(tmp_path / "one") as one, filled(tmp_path / "two") as two:
        page = getattr(one, listing)({**request_, "limit": 1})
        following = {**request_, "page_token": page.page_token}
        with pytest.raises(InvalidInputError, match="another listing"):
            getattr(two, listing)(following)
        # Another connection to the same catalog accepts the token, even with other cache settings.
        with connect("dir", {"path": f"{tmp_path}/one", "cache_mib": "16"}) as again:
            rest = getattr(getattr(again, listing)(following), names)
        assert len(rest) == len(getattr(getattr(one, listing)(request_), names)) - 1
