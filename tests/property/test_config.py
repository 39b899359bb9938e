"""Properties of backends: equivalent spellings, detection of typos, and hidden secrets."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.config import Config, option, prefix_option
from lance_namespace_impls.directory import DirectoryConfig
from lance_namespace_impls.registry import implementations, load
from lance_namespace_impls.rest import RestConfig

PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
SECRETS = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=12, max_size=20)


@attrs.define(kw_only=True)
class KitchenConfig(Config):
    """A configuration with one property of every kind."""

    impl: ClassVar[str] = "kitchen"

    endpoint: str = option(doc="text")
    pool_size: int = option(name="client.pool-size", default=3, doc="a whole number")
    wait: float = option(default=10.0, unit="seconds", also=("timeout",), doc="a number")
    verify: bool = option(default=True, doc="true or false")
    hosts: tuple[str, ...] = option(default=(), doc="a list")
    api_key: str | None = option(default=None, secret=True, doc="a secret")
    headers: dict[str, str] = prefix_option("headers.", also=("header.",), doc="a group")


items = st.text("abcxyz-:0189", min_size=1, max_size=5)
configs = st.fixed_dictionaries(
    {"endpoint": PRINTABLE},
    optional={
        "client.pool-size": st.integers(0, 10**9),
        "wait": st.floats(0, 1e9),
        "verify": st.booleans(),
        "hosts": st.lists(items, max_size=3).map(tuple),
        "api_key": SECRETS,
        "headers.X-Team": PRINTABLE,
        "storage.region": PRINTABLE,
        "root": st.sampled_from(("/data", "s3://bucket/a")),
    },
)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


KEYS = ("endpoint", "wait", "headers.X-Team", "storage.region", "api_key")


@given(properties=configs, prefixed=st.sets(st.sampled_from(KEYS)))
def test_bare_and_prefixed_keys_are_equivalent(
    properties: dict[str, Any], prefixed: set[str]
) -> None:
    mixed = {f"kitchen.{k}" if k in prefixed else k: v for k, v in properties.items()}
    assert KitchenConfig.from_properties(mixed) == KitchenConfig.from_properties(properties)


@given(properties=configs)
def test_text_is_equivalent_to_the_value(properties: dict[str, Any]) -> None:
    texts = {key: _text(value) for key, value in properties.items()}
    assert KitchenConfig.from_properties(texts) == KitchenConfig.from_properties(properties)


@given(properties=configs)
def test_properties_recreate_an_equal_configuration(properties: dict[str, Any]) -> None:
    config = KitchenConfig.from_properties(properties)
    written = config.to_properties()
    assert all(isinstance(value, str) for value in written.values())
    assert KitchenConfig.from_properties(written) == config
    assert pickle.loads(pickle.dumps(config)) == config


@given(
    properties=configs,
    key=st.sampled_from(("endpoint", "client.pool-size", "api_key", "verify")),
    at=st.integers(0, 7),
)
def test_a_mistyped_key_is_rejected_with_a_suggestion(
    properties: dict[str, Any], key: str, at: int
) -> None:
    typo = key[: at % len(key)] + key[at % len(key) + 1 :]
    with pytest.raises(InvalidInputError) as caught:
        KitchenConfig.from_properties({**properties, typo: "x"})
    assert caught.value.code == 13
    assert f"{typo!r} is unknown" in str(caught.value)
    assert f"did you mean {key!r}?" in str(caught.value)


@given(key=PRINTABLE)
def test_an_unknown_key_is_rejected(key: str) -> None:
    assume(not key.startswith(("kitchen.", "headers.", "header.", "storage.")))
    known = {row["key"] for row in KitchenConfig.describe()} | {"timeout"}
    assume(key not in known)
    with pytest.raises(InvalidInputError, match="is unknown"):
        KitchenConfig.from_properties({"endpoint": "x", key: "x"})


@given(properties=configs, other=PRINTABLE)
def test_keys_of_another_backend_are_ignored(properties: dict[str, Any], other: str) -> None:
    config = KitchenConfig.from_properties({**properties, f"glue.{other}": "x"}, ["glue"])
    assert config == KitchenConfig.from_properties(properties)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("client.pool-size", "1.5"),
        ("client.pool-size", True),
        ("wait", [1]),
        ("verify", "yes"),
        ("verify", 1),
        ("endpoint", ["x"]),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected(key: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=key) as caught:
        KitchenConfig.from_properties({"endpoint": "x", key: value})
    assert caught.value.code == 13


@given(one=st.floats(0, 100), other=st.floats(0, 100))
def test_two_keys_of_one_property_must_agree(one: float, other: float) -> None:
    properties = {"endpoint": "x", "wait": one, "kitchen.timeout": other}
    if one == other:
        assert KitchenConfig.from_properties(properties).wait == one
        return
    with pytest.raises(InvalidInputError, match="different values"):
        KitchenConfig.from_properties(properties)


@pytest.mark.parametrize("twin", ["kitchen.headers.X", "header.X"])
def test_two_spellings_of_a_key_in_a_group_must_agree(twin: str) -> None:
    same = {"endpoint": "x", "headers.X": "a", twin: "a"}
    assert KitchenConfig.from_properties(same).headers == {"X": "a"}
    with pytest.raises(InvalidInputError, match="different values"):
        KitchenConfig.from_properties({**same, twin: "b"})


def test_a_missing_property_is_reported_with_its_type() -> None:
    with pytest.raises(InvalidInputError, match="'endpoint' is required: text"):
        KitchenConfig.from_properties({})


# --- secrets

SECRET_WORDS = ("token", "secret", "password", "api_key", "credential", "access_key")
SECRET_KEYS = (
    "api_key",
    "headers.Authorization",
    "storage.aws_secret_access_key",
    "storage.session_token",
)
BAD_REST = (
    {"uri": "not an address"},
    {"uri": "http://h", "no_such_key": "x"},
    {"uri": "http://h", "read_timeout": "x"},
)
BACKENDS = {name: load(name).config_type for name in implementations()}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_property_with_a_secret_name_is_declared_secret(backend: str) -> None:
    for row in BACKENDS[backend].describe():
        suspicious = any(word in row["key"] for word in SECRET_WORDS)
        if suspicious and row["type"] == "text" and not row["key"].endswith("*"):
            assert row["secret"], f"{backend}: {row['key']} is shown"


@given(secret=SECRETS, key=st.sampled_from((*SECRET_KEYS, "auth_token")))
def test_errors_do_not_show_secrets(secret: str, key: str) -> None:
    for wrong in BAD_REST:
        with pytest.raises(InvalidInputError) as caught:
            RestConfig.from_properties({**wrong, key: secret})
        assert secret not in str(caught.value)


def test_the_directory_has_two_keys(tmp_path: Any) -> None:
    path = str(tmp_path)
    wanted = DirectoryConfig.from_properties({"path": path})
    assert DirectoryConfig.from_properties({"root": path}) == wanted
    assert DirectoryConfig.from_properties({"dir.root": path, "path": path}) == wanted
    with pytest.raises(InvalidInputError, match="different values"):
        DirectoryConfig.from_properties({"root": path, "path": f"{path}/other"})
