"""Properties of the REST backend that would have no effect are rejected."""

from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.rest import RestConfig


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("root", "/data"),
        ("cache_mib", "16"),
        ("skip_unreadable", "true"),
        ("confine_locations", "true"),
        ("allow_locations", "/data"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "rest."])
def test_properties_without_effect_are_rejected(key: str, value: str, prefix: str) -> None:
    with pytest.raises(
        InvalidInputError, match=f"^rest: property '{prefix}{key}' has no effect here"
    ):
        connect("rest", {"uri": "http://localhost:1", f"{prefix}{key}": value})
    assert key not in {row["key"] for row in RestConfig.describe()}
    assert key not in RestConfig(uri="http://localhost:1").to_properties()
    assert key not in RestConfig(uri="http://localhost:1").shown()


def test_storage_options_are_accepted() -> None:
    with connect("rest", {"uri": "http://localhost:1", "storage.region": "x"}) as namespace:
        assert namespace.properties["storage.region"] == "x"
