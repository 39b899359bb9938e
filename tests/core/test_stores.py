"""Object stores: failures as pyarrow reports them, and the options for pyarrow."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyarrow import fs

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.stores import applicable_options, open_store, resolve, store_failure

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
def test_a_failure_of_another_kind_is_not_translated(text: str) -> None:
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


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")) or name in (
            "ENDPOINT",
            "REGION",
            "TOKEN",
        ):
            monkeypatch.delenv(name)


def pyarrow_arguments(address: str, options: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of pyarrow's file system, except the retries, which never differ."""
    arguments = resolve(address, options).arguments()[1]
    if (retries := arguments.pop("retry_strategy", None)) is not None:
        assert retries.max_attempts == 4
    return arguments


GIVEN = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}
HTTP = {"allow_http": "true"}


@pytest.mark.parametrize(
    ("schemes", "options", "made"),
    [
        (["s3", "S3", "s3a", "s3n"], BY_VENDOR,
         {**S3, "endpoint_override": "http://h:1", "scheme": "http"}),
        (["s3"], PLAIN, {**S3, "endpoint_override": "https://h:1"}),
        (["s3"], {"aws_endpoint_url": "HTTPS://h/"}, {"endpoint_override": "https://h"}),
        (["s3"], {"endpoint_url": "https://h:9/base/"}, {"endpoint_override": "https://h:9/base"}),
        (["s3"], {"aws_endpoint_url_s3": "https://h"}, {"endpoint_override": "https://h"}),
        (["s3"], {"aws_default_region": "r"}, {"region": "r"}),
        (["s3"], {"skip_signature": "1"}, {"anonymous": True}),
        (["s3"], {"virtual_hosted_style_request": "true"}, {"force_virtual_addressing": True}),
        (["s3"], {"virtual_hosted_style_request": "true", "endpoint": "https://bucket.h:1"},
         {"force_virtual_addressing": True, "endpoint_override": "https://h:1"}),
        (["s3"], {"proxy_url": "http://p:1"}, {"proxy_options": "http://p:1"}),
        (["s3"], {"client_max_retries": "1", "timeout": "9s"}, {}),
        (["gs", "gcs"], {"google_project_id": "p"}, {"project_id": "p"}),
        (["gs"], {"google_skip_signature": "true", "google_base_url": "http://h:1", **HTTP},
         {"anonymous": True, "scheme": "http", "endpoint_override": "h:1"}),
        (["az", "azure", "abfs", "abfss"],
         {"azure_storage_account_name": "a", "AZURE_STORAGE_ACCOUNT_KEY": "b",
          "azure_storage_sas_key": "c"}, AZURE),
        (["az"], {"account_name": "a", "access_key": "b", "sas_token": "c"}, AZURE),
        (["az"], {"account_name": "a", "endpoint": "http://h:1/a", **HTTP},
         {"account_name": "a", "blob_storage_authority": "h:1", "blob_storage_scheme": "http",
          "dfs_storage_authority": "h:1", "dfs_storage_scheme": "http"}),
        (["az"], {"account_name": "a", "endpoint": "https://a.blob.example"},
         {"account_name": "a", "blob_storage_authority": ".blob.example",
          "blob_storage_scheme": "https", "dfs_storage_authority": ".blob.example",
          "dfs_storage_scheme": "https"}),
    ],
)  # fmt: skip
def test_every_option_is_translated_for_pyarrow(
    schemes: list[str], options: dict[str, str], made: dict[str, str]
) -> None:
    for scheme in schemes:
        address = f"{scheme}://bucket/a%20b/c"
        assert pyarrow_arguments(address, options) == made
        assert resolve(address, options).path == "bucket/a b/c"


def test_an_azure_account_can_be_part_of_the_address() -> None:
    found = resolve("abfss://box@acc.dfs.core.windows.net/a/b", {"account_key": "aGVsbG8="})
    assert found.path == "box/a/b"
    assert found.arguments()[1] == {"account_name": "acc", "account_key": "aGVsbG8="}
    with pytest.raises(InvalidInputError, match="differs from account_name in the options"):
        resolve("abfss://box@acc.dfs.core.windows.net/a", {"account_name": "other"})


ENDPOINTS = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_an_endpoint_in_the_environment_applies_to_lance_and_pyarrow(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://h:1")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    found = resolve("s3://bucket/a", {})
    assert found.options["aws_endpoint"] == "http://h:1"
    assert found.arguments()[1]["endpoint_override"] == "http://h:1"


def test_the_more_specific_variable_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in reversed(list(enumerate(ENDPOINTS))):
        monkeypatch.setenv(name, f"https://h:{number + 1}")
        found = resolve("s3://bucket", {})
        assert found.options["aws_endpoint"] == f"https://h:{number + 1}"


@pytest.mark.parametrize("name", ENDPOINTS)
@pytest.mark.parametrize("option", ["aws_endpoint", "endpoint", "endpoint_url", "aws_endpoint_url"])
def test_an_option_takes_precedence_over_the_environment(
    name: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "https://environment")
    found = resolve("s3://bucket", {option: "https://option"})
    assert set(found.options.values()) == {"https://option"}
    assert found.arguments()[1]["endpoint_override"] == "https://option"


def test_credentials_in_the_environment_apply_as_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "env")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "env")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "env")
    monkeypatch.setenv("AWS_REGION", "r")
    names = ("access_key", "secret_key", "session_token")
    found = pyarrow_arguments("s3://bucket", {})
    assert found == {**dict.fromkeys(names, "env"), "region": "r"}
    found = pyarrow_arguments("s3://bucket", GIVEN)
    assert found == {"access_key": "k", "secret_key": "s", "region": "r"}
    assert resolve("s3://bucket", GIVEN).options["aws_session_token"] == ""
    found = pyarrow_arguments("s3://bucket", {"skip_signature": "true"})
    assert found == {"anonymous": True, "region": "r"}


@pytest.mark.parametrize(
    ("address", "options", "environment", "message"),
    [
        ("s3://b", {"endpoint": "http://h"}, {}, "plain HTTP.*allow_http=true"),
        ("s3://b", {"endpoint": "http://h", "allow_http": "false"}, {"AWS_ALLOW_HTTP": "true"},
         "plain HTTP"),
        ("s3://b", {"endpoint": "http://h", "allow_http": "true"}, {"AWS_ALLOW_HTTP": "false"},
         "unset AWS_ALLOW_HTTP"),
        ("s3://b", {}, {"AWS_ENDPOINT_URL": "http://h"}, "plain HTTP"),
        ("s3://b", {"endpoint": "h:9000"}, {}, "not the address of a server"),
        ("s3://b", {"endpoint": "ftp://h"}, {}, "not the address of a server"),
        ("s3://b", {"endpoint": "https://"}, {}, "not the address of a server"),
        ("s3://b", {"endpoint": "https://h:port"}, {}, "no valid host and port"),
        ("s3://b", {"endpoint": "https://h:99999"}, {}, "no valid host and port"),
        ("s3://b", {"endpoint": "https://:9"}, {}, "no valid host and port"),
        ("s3://b", {"endpoint": "https://u:secret@h"}, {}, "contains a user name or password"),
        ("s3://b", {"endpoint": "https://h?a=b"}, {}, "query"),
        ("s3://b", {"endpoint": "https://h#a"}, {}, "fragment"),
        ("s3://b", {"endpoint": "https://h", "aws_endpoint": "https://i"}, {}, "have different values"),
        ("s3://b", {"allow_http": "maybe"}, {}, "must be true or false, not 'maybe'"),
        ("s3://b", {"virtual_hosted_style_request": "true", "endpoint": "https://h"}, {},
         "start with the bucket; write https://b.h"),
        ("s3://b", {"access_key_id": "k"}, {}, "secret_access_key"),
        ("s3://b", {"aws_profile": "p"}, {}, "aws_profile cannot be applied to listings"),
        ("s3://b", {"allow_invalid_certificates": "true"}, {}, "cannot be applied to listings"),
        ("gs://b", {"google_service_account": "/k"}, {}, "cannot be applied to listings"),
        ("gs://b", {}, {"GOOGLE_SERVICE_ACCOUNT": "/k"}, "cannot be applied to listings"),
        ("az://b", {}, {}, "no account is specified"),
        ("az://b", {"account_name": "a", "endpoint": "https://h"}, {}, "https://a.h"),
        ("oss://b", {}, {}, "oss:// cannot be listed"),
        ("nowhere://b", {}, {}, "does not support nowhere://"),
    ],
)  # fmt: skip
def test_options_that_lance_or_pyarrow_cannot_apply_are_rejected(
    address: str,
    options: dict[str, str],
    environment: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInputError, match=message) as caught:
        resolve(address, options).arguments()
    assert caught.value.code == 13
    assert "secret@" not in str(caught.value)


def test_local_storage_needs_no_options() -> None:
    assert open_store("/a%20b", {}) == (fs.LocalFileSystem(), "/a%20b")
    assert open_store("file:///a%20b", {"aws_region": "d"}) == (fs.LocalFileSystem(), "/a b")


@pytest.mark.parametrize(
    ("root", "options", "expected"),
    [
        ("/a", {"aws_profile": "p"}, True),
        ("s3://b/a", {**BY_VENDOR, "expires_at_millis": "1"}, True),
        ("s3://b/a", {**BY_VENDOR, "aws_profile": "p"}, False),
        ("s3://b/a", {}, True),
        ("gs://b/a", {}, False),
        ("az://b/a", {"account_name": "a"}, False),
        ("oss://b/a", {}, False),
    ],
)
def test_pyarrow_reaches_a_store_only_if_it_supports_all_options(
    root: str, options: dict[str, Any], expected: bool
) -> None:
    assert resolve(root, options).is_reached_by_pyarrow is expected


def test_options_of_another_kind_of_store_are_ignored() -> None:
    mixed = {"aws_region": "r", "azure_storage_account_name": "a", "google_project_id": "p"}
    assert applicable_options("s3a://b", mixed) == {"aws_region": "r"}
    assert applicable_options("gs://b", mixed) == {"google_project_id": "p"}
    assert applicable_options("az://b", mixed) == {"azure_storage_account_name": "a"}
    assert applicable_options("abfss://b@other.dfs.core.windows.net", mixed) == {}
    assert applicable_options("/a", mixed) == {}
