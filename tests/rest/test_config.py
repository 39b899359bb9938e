"""Properties of the REST backend: what would do nothing is refused."""

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
def test_what_would_do_nothing_is_refused(key: str, value: str, prefix: str) -> None:
    with pytest.raises(
        InvalidInputError, match=f"^rest: property '{prefix}{key}' has no effect here"
    ):
        connect("rest", {"uri": "http://localhost:1", f"{prefix}{key}": value})
    assert key not in {row["key"] for row in RestConfig.describe()}
    assert key not in RestConfig(uri="http://localhost:1").to_properties()
    assert key not in RestConfig(uri="http://localhost:1").shown()


def test_options_of_the_store_are_taken() -> None:
    with connect("rest", {"uri": "http://localhost:1", "storage.region": "x"}) as namespace:
        assert namespace.properties["storage.region"] == "x"
