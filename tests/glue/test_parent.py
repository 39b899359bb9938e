"""The parent of a new table is looked up once a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import GlueServer
from .conftest import Connect

ROWS = pa.table({"x": [1]})
CALLS: dict[str, Callable[[GlueNamespace, list[str]], Any]] = {
    "declare": lambda ns, t: ns.declare_table({"id": t}),
    "create": lambda ns, t: ns.create_table({"id": t}, ROWS),
    "register": lambda ns, t: ns.register_table({"id": t, "location": f"{ns.config.root}/u"}),
}


@pytest.mark.parametrize("confined", [False, True], ids=["free", "confined"])
@pytest.mark.parametrize("call", CALLS)
def test_the_parent_is_looked_up_once(
    connected: Connect,
    glue: GlueServer,
    database: str,
    call: str,
    confined: bool,
) -> None:
    namespace = connected(confine_locations=confined)
    glue.calls.clear()
    CALLS[call](namespace, [database, "t"])
    asked = {name: glue.count(name) for name in ("GetDatabase", "GetCatalog", "CreateTable")}
    assert asked == {"GetDatabase": 1, "GetCatalog": 1, "CreateTable": 1}
