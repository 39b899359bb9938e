"""The parent of a new table is looked up once a call."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.core.json_api import JsonApi
from lance_namespace_impls.iceberg import IcebergNamespace

from .subject import WAREHOUSE

pytestmark = pytest.mark.xdist_group("iceberg")

ROWS = pa.table({"x": [1]})


@pytest.mark.parametrize("call", ["declare", "create", "register"])
def test_the_namespace_is_looked_up_once(
    iceberg: IcebergNamespace, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    asked: list[str] = []
    get = JsonApi.get

    def counted(self: JsonApi, path: str, *args: Any, **more: Any) -> Any:
        asked.append(path)
        return get(self, path, *args, **more)

    monkeypatch.setattr(JsonApi, "get", counted)
    request = {"id": [WAREHOUSE, "db", "t"]}
    if call == "declare":
        iceberg.declare_table(request)
    elif call == "create":
        iceberg.create_table(request, ROWS)
    else:
        location = f"{iceberg.config.root}/{WAREHOUSE}/db/u"
        iceberg.register_table({**request, "location": location})
    assert sum(path.endswith("/namespaces/db") for path in asked) == 1, asked
