"""What an object store answers, as pyarrow words it, and the protocol's code for it."""

from __future__ import annotations

from typing import Any

import pytest
from pyarrow import fs

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.stores import open_store, reaches, store_failure

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


# --- options

BY_VENDOR = {
    "AWS_ACCESS_KEY_ID": "a", "aws_secret_access_key": "b", "aws_session_token": "c",
    "aws_region": "d", "aws_endpoint": "http://h:1", "aws_allow_http": "true",
}  # fmt: skip
PLAIN = {
    "access_key_id": "a", "secret_access_key": "b", "session_token": "c", "region": "d",
    "endpoint": "https://h:1",
}  # fmt: skip
S3 = {"access_key": "a", "secret_key": "b", "session_token": "c", "region": "d"}
AZURE = {"account_name": "a", "account_key": "b", "sas_token": "c"}


@pytest.mark.parametrize(
    ("schemes", "kind", "options", "made"),
    [
        (["s3"], "S3FileSystem", BY_VENDOR,
         {**S3, "endpoint_override": "http://h:1", "scheme": "http"}),
        (["s3"], "S3FileSystem", PLAIN, {**S3, "endpoint_override": "https://h:1"}),
        (["s3"], "S3FileSystem", {"aws_endpoint_url": "https://h"},
         {"endpoint_override": "https://h"}),
        (["s3"], "S3FileSystem", {}, {}),
        (["gs", "gcs"], "GcsFileSystem", {"google_project_id": "p", "x": "y"}, {"project_id": "p"}),
        (["az", "abfs", "abfss"], "AzureFileSystem",
         {"azure_storage_account_name": "a", "AZURE_STORAGE_ACCOUNT_KEY": "b",
          "azure_storage_sas_key": "c", "aws_region": "d"}, AZURE),
        (["az"], "AzureFileSystem", {"account_name": "a", "account_key": "b", "sas_key": "c"}, AZURE),
    ],
)  # fmt: skip
def test_a_store_is_opened_with_its_own_options(
    schemes: list[str],
    kind: str,
    options: dict[str, str],
    made: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fs, kind, dict)
    for scheme in schemes:
        found, path = open_store(f"{scheme}://bucket/a%20b/c", options)
        if scheme == "s3":
            assert found.pop("retry_strategy").max_attempts == 4
        assert (found, path) == (made, "bucket/a b/c")


def test_a_place_of_another_kind() -> None:
    assert open_store("/a%20b", {}) == (fs.LocalFileSystem(), "/a%20b")
    assert open_store("file:///a", {"aws_region": "d"}) == (fs.LocalFileSystem(), "/a")
    with pytest.raises(InvalidInputError, match="nowhere://a cannot be opened") as caught:
        open_store("nowhere://a", {})
    assert caught.value.code == 13


@pytest.mark.parametrize(
    ("root", "options", "expected"),
    [
        ("/a", {"aws_profile": "p"}, True),
        ("s3://b/a", {**BY_VENDOR, **PLAIN, "expires_at_millis": "1", "allow_http": "true"}, True),
        ("s3://b/a", {**BY_VENDOR, "aws_profile": "p"}, False),
        ("s3://b/a", {}, True),
        ("gs://b/a", {}, False),
        ("az://b/a", {"account_name": "a"}, False),
    ],
)
def test_a_store_is_reached_only_with_all_of_its_options(
    root: str, options: dict[str, Any], expected: bool
) -> None:
    assert reaches(root, options) is expected
