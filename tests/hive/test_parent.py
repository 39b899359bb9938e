"""The parent of a new table is looked up once a call."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.hive.client import Metastore

from .conftest import Form

ROWS = pa.table({"x": [1]})


@pytest.mark.parametrize("call", ["declare", "create", "register"])
def test_the_database_is_looked_up_once(
    form: Form, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    database = form.database()
    asked: list[tuple[Any, ...]] = []
    look_up = Metastore.database

    def counted(self: Metastore, *name: Any) -> Any:
        asked.append(name)
        return look_up(self, *name)

    monkeypatch.setattr(Metastore, "database", counted)
    request = {"id": [*database, "t"]}
    if call == "declare":
        form.namespace.declare_table(request)
    elif call == "create":
        form.namespace.create_table(request, ROWS)
    else:
        form.namespace.register_table({**request, "location": f"{form.root}/u"})
    assert len(asked) == 1, asked
