"""Object store options: endpoints and credentials, redaction, and vended credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.options import (
    joined_options,
    redact,
    secret_parts,
    shown,
    with_vended,
)
from tests.behaviour.memory import MemoryConfig, Mixed

KEYS = {
    "aws_access_key_id": "id",
    "aws_secret_access_key": "secret-key",
    "aws_session_token": "tok",
}
OPERATORS = {**KEYS, "aws_region": "eu-west-1", "aws_endpoint": "https://s3.example"}


# --- an endpoint and credentials


@pytest.mark.parametrize(
    "own",
    [
        {"aws_endpoint": "http://203.0.113.9"},
        {"endpoint": "http://203.0.113.9"},
        {"AWS_ENDPOINT_URL": "http://203.0.113.9"},
        {"aws-endpoint": "http://203.0.113.9"},
        {"proxy_url": "http://203.0.113.9"},
        {"azure_storage_account_name": "another"},
        {"google_base_url": "http://203.0.113.9"},
        {"aws_container_credentials_full_uri": "http://203.0.113.9"},
        {"allow_invalid_certificates": "true"},
        {"allow_http": "true"},
        {"aws_endpoint": "http://203.0.113.9", "region": "x", "skip_signature": "false"},
    ],
)
@pytest.mark.parametrize("configured", [OPERATORS, {}])
def test_a_table_cannot_redirect_the_operators_credentials(
    own: dict[str, str], configured: dict[str, str]
) -> None:
    with pytest.raises(InvalidInputError, match="credentials") as caught:
        joined_options(configured, own, "table t")
    assert caught.value.code == 13
    assert "secret-key" not in caught.value.message


@pytest.mark.parametrize(
    "own",
    [
        {"aws_access_key_id": "mine", "aws_secret_access_key": "mine"},
        {"skip_signature": "true"},
        {"azure_storage_sas_key": "sv=1"},
    ],
)
def test_an_endpoint_is_used_only_with_its_own_credentials(own: dict[str, str]) -> None:
    own = {"endpoint": "http://203.0.113.9", "allow_http": "true", **own}
    found = joined_options(OPERATORS, own, "table t")
    assert found["aws_region"] == "eu-west-1"
    assert not set(found.values()) & set(KEYS.values())
    assert {key: found[key] for key in own} == own


def test_harmless_options_override_the_configured_ones() -> None:
    own = {"aws_region": "us-east-1", "endpoint": OPERATORS["aws_endpoint"], "timeout": "5s"}
    assert joined_options(OPERATORS, own, "table t") == {
        **{key: text for key, text in OPERATORS.items() if key != "aws_endpoint"},
        **own,
    }
    assert joined_options(OPERATORS, {}, "table t") == OPERATORS


def test_a_rejected_endpoint_changes_nothing(tmp_path: Path) -> None:
    theft = {"storage.aws_endpoint": "http://203.0.113.9"}
    with Mixed(MemoryConfig(root=str(tmp_path), storage=KEYS)) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.declare_table({"id": ["ns", "t"]})
        where = str(tmp_path / "x")
        for call in (
            lambda: namespace.declare_table({"id": ["ns", "u"], "properties": theft}),
            lambda: namespace.register_table(
                {"id": ["ns", "u"], "location": where, "properties": theft}
            ),
            lambda: namespace.alter_table({"id": ["ns", "t"], "set_properties": theft}),
        ):
            with pytest.raises(InvalidInputError):
                call()
        assert list(namespace.iter_tables(["ns"])) == ["t"]
        assert not namespace.describe_table({"id": ["ns", "t"]}).properties


def test_a_catalog_entry_with_an_endpoint_gets_no_credentials(tmp_path: Path) -> None:
    theft = {"storage.aws_endpoint": "http://203.0.113.9"}
    with Mixed(MemoryConfig(root=str(tmp_path), storage=KEYS)) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.add_table(("ns", "t"), "s3://bucket/t", theft)
        for call in (namespace.describe_table, namespace.count_table_rows, namespace.drop_table):
            with pytest.raises(InvalidInputError, match="aws_endpoint"):
                call({"id": ["ns", "t"]})
        gone = {"id": ["ns", "t"], "unset_properties": list(theft)}
        namespace.alter_table(gone)
        assert namespace.describe_table({"id": ["ns", "t"]}).storage_options == KEYS


# --- redaction


@pytest.mark.parametrize(
    "key",
    ["azure_storage_master_key", "master_key", "aws_secret_access_key", "aws_access_key_id",
     "google_service_account_key", "sas_key", "bearer_token", "something_new", "encryption_key",
     "aws_azure_region"],
)  # fmt: skip
def test_options_are_secret_unless_known_to_be_harmless(key: str) -> None:
    assert redact({key: "hidden-one"}) == {key: "***"}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("http://user:pass@proxy:3128", "http://***@proxy:3128"),
        ("https://host/p?sv=1&sig=abc", "https://host/p?***"),
        ("https://host/p#token=abc", "https://host/p#***"),
        ("see https://me:pass@h/x, and more", "see https://***@h/x, and more"),
        ("https://host:9000/p", "https://host:9000/p"),
        ("abfss://fs@account.dfs.core.windows.net/p", "abfss://fs@account.dfs.core.windows.net/p"),
        ("s3://bucket/a b", "s3://bucket/a b"),
        ("/srv/a@b?c", "/srv/a@b?c"),
    ],
)
def test_urls_are_shown_without_credentials(text: str, safe: str) -> None:
    assert shown(text) == safe
    assert redact({"proxy_url": text}) == {"proxy_url": safe}
    for part in secret_parts(text):
        assert part not in safe


def test_vended_keys_replace_all_configured_ones() -> None:
    vended = {"aws_access_key_id": "vended", "aws_secret_access_key": "of it"}
    found = with_vended({**OPERATORS, "expires_at_millis": "1"}, {**vended, "aws_region": "other"})
    assert found == {**vended, "aws_region": "eu-west-1", "aws_endpoint": "https://s3.example"}


@pytest.mark.parametrize(
    ("configured", "vended", "found"),
    [
        ({"region": "a"}, {}, {"region": "a"}),
        ({}, {"region": "b"}, {"region": "b"}),
        ({"aws_region": "a"}, {"region": "b"}, {"aws_region": "a"}),
        ({"endpoint_url": "a"}, {"aws_endpoint": "b", "timeout": "1s"},
         {"endpoint_url": "a", "timeout": "1s"}),
        ({"expires_at_millis": "1"}, {"timeout": "1s"},
         {"expires_at_millis": "1", "timeout": "1s"}),
        ({"EXPIRES_AT_MILLIS": "1", "token": "a"}, {"sas_key": "b", "expires_at_millis": "2"},
         {"sas_key": "b", "expires_at_millis": "2"}),
    ],
)  # fmt: skip
def test_the_configuration_takes_precedence_except_for_keys(
    configured: dict[str, str], vended: dict[str, str], found: dict[str, str]
) -> None:
    before = dict(configured)
    assert with_vended(configured, vended) == found
    assert configured == before


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://user:pa%20ss@h/x", {"user:pa%20ss", "user:pa ss", "pa%20ss", "pa ss"}),
        ("http://user@h/x", {"user"}),
        ("http://h/x?sig=a%2Fb#c", {"sig=a%2Fb#c", "sig=a/b#c"}),
        ("http://a:b@h and http://h#frag", {"a:b", "b", "frag"}),
        ("abfss://container@account/x", set()),
        ("http://h/x", set()),
        ("a:b@h?c", set()),
    ],
)
def test_the_secret_parts_of_a_text(text: str, parts: set[str]) -> None:
    assert secret_parts(text) == parts


def test_anonymous_access_requires_an_explicit_true() -> None:
    elsewhere = {"endpoint": "http://203.0.113.9"}
    for says in ("skip_signature", "aws_skip_signature", "anonymous"):
        assert joined_options(OPERATORS, {**elsewhere, says: "TRUE"}, "t")[says] == "TRUE"
        with pytest.raises(InvalidInputError, match=r"^t: the table's own endpoint would send"):
            joined_options(OPERATORS, {**elsewhere, says: "1"}, "t")


def test_vended_options_without_keys_keep_the_configured_keys() -> None:
    assert with_vended(OPERATORS, {"timeout": "5s", "aws_region": "other"}) == {
        **OPERATORS, "timeout": "5s",
    }  # fmt: skip
