"""The parent of a new table is looked up once a call."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API

from .conftest import Connect, Unity

ROWS = pa.table({"x": [1]})


@pytest.mark.parametrize("confined", [False, True], ids=["free", "confined"])
@pytest.mark.parametrize("call", ["declare", "create", "register"])
def test_the_schema_is_looked_up_once(
    unity: Unity, main: UnityNamespace, connected: Connect, call: str, confined: bool
) -> None:
    namespace = connected(confine_locations=str(confined).lower())
    unity.asked.clear()
    request = {"id": ["main", "s", "t"]}
    if call == "declare":
        namespace.declare_table(request)
    elif call == "create":
        namespace.create_table(request, ROWS)
    else:
        namespace.register_table({**request, "location": f"{namespace.config.root}/main/s/u"})
    paths = [asked.path for asked in unity.asked if asked.method == "GET"]
    assert paths.count(f"{API}/schemas/main.s") == 1, paths
