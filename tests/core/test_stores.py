"""What an object store answers, as pyarrow words it, and the protocol's code for it."""

from __future__ import annotations

import pytest

from lance_namespace_impls.core.stores import store_failure

CODES = {
    "NETWORK_CONNECTION": 17,
    "SERVICE_UNAVAILABLE": 17,
    "REQUEST_TIMEOUT": 17,
    "SLOW_DOWN": 21,
    "THROTTLING": 21,
    "ACCESS_DENIED": 15,
    "INVALID_ACCESS_KEY_ID": 16,
    "INVALID_CLIENT_TOKEN_ID": 16,
    "SIGNATURE_DOES_NOT_MATCH": 16,
    "UNKNOWN (HTTP status -1)": 17,
    "UNKNOWN (HTTP status 429)": 21,
    "UNKNOWN (HTTP status 500)": 17,
    "UNKNOWN (HTTP status 502)": 17,
    "UNKNOWN (HTTP status 503)": 17,
    "UNKNOWN (HTTP status 504)": 17,
}


@pytest.mark.parametrize("name", CODES)
def test_a_failure_has_the_code_of_its_kind(name: str) -> None:
    found = store_failure(
        OSError(f"When reading 'k' in bucket 'b': AWS Error {name} during GetObject")
    )
    assert found is not None
    assert found("it").code == CODES[name]


@pytest.mark.parametrize(
    "text", ["AWS Error UNKNOWN (HTTP status 404) during HeadObject", "disk is full"]
)
def test_what_is_no_failure_of_the_store_is_left_to_others(text: str) -> None:
    assert store_failure(OSError(text)) is None
