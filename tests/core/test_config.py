"""Typed, strict configuration, and the lookup of implementations."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, register
from lance_namespace_impls.core.config import (
    Config,
    option,
    prefix_option,
    root_option,
    timeout_option,
)
from lance_namespace_impls.core.options import redact


@attrs.define(kw_only=True)
class ShopConfig(Config):
    impl: ClassVar[str] = "shop"

    endpoint: str = option(doc="where the shop is")
    retries: int = option(default=3, name="max-retries", doc="tries")
    timeout: float = option(default=10.0, unit="seconds", doc="longest wait")
    strict: bool = option(default=False, doc="whether it is strict")
    hosts: tuple[str, ...] = option(default=(), doc="several hosts")
    places: tuple[str, ...] = option(default=("a", "b"), doc="several places")
    token: str | None = option(default=None, secret=True, also=("key",), doc="a token")
    headers: dict[str, str] = prefix_option("headers.", also=("header.",), doc="headers")


def read(**properties: Any) -> ShopConfig:
    return ShopConfig.from_properties({k.replace("__", "."): v for k, v in properties.items()})


def test_values_are_converted_to_their_type() -> None:
    found = ShopConfig.from_properties(
        {"endpoint": "x", "timeout": "2.5", "strict": "TRUE", "hosts": "a, b,,c", "max-retries": 1}
    )
    assert (found.timeout, found.strict, found.hosts, found.retries) == (
        2.5,
        True,
        ("a", "b", "c"),
        1,
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("max-retries", "x", "shop: property 'max-retries' must be whole number, not 'x'"),
        ("shop.strict", "x", "shop: property 'shop.strict' must be true or false, not 'x'"),
        ("endpoint", {}, "shop: property 'endpoint' must be text, not {}"),
        ("token", {"a": "b"}, "shop: property 'token' must be text, not ***"),
        ("hosts", 5, "shop: property 'hosts' must be list, not 5"),
        ("timeout", "x", "shop: property 'timeout' must be number (seconds) or a string such as "
         "'10s' or '500ms', not 'x'"),
        ("timeout", "http://u:p@h", "shop: property 'timeout' must be number (seconds) or a string "
         "such as '10s' or '500ms', not 'http://***@h'"),
        ("cache_mib", "x", "shop: property 'cache_mib' must be whole number (MiB), not 'x'"),
    ],
)  # fmt: skip
def test_an_error_states_the_expected_type(key: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        ShopConfig.from_properties({"endpoint": "x", key: value})
    assert refused.value.message == said


def test_keys_of_other_backends_are_ignored() -> None:
    properties = {"endpoint": "x", "bakery.oven": "hot"}
    assert ShopConfig.from_properties(properties, ["bakery"]).endpoint == "x"
    with pytest.raises(InvalidInputError, match=r"bakery\.oven"):
        ShopConfig.from_properties(properties)
    for key in ("shop.bakery.oven", "bakery", "bakeryoven.x"):
        with pytest.raises(InvalidInputError, match=f"{key!r} is unknown"):
            ShopConfig.from_properties({"endpoint": "x", key: "hot"}, ["bakery"])


COMMON = {"cache_mib": "256", "skip_unreadable": "false", "confine_locations": "false"}


def test_properties_are_text_and_omit_empty_values() -> None:
    found = read(endpoint="x", hosts=["a", "b"], places=(), token="t0ken", headers__A="1")
    written = {
        **COMMON, "endpoint": "x", "max-retries": "3", "timeout": "10.0", "strict": "false",
        "hosts": "a,b", "places": "", "token": "t0ken", "headers.A": "1",
    }  # fmt: skip
    assert found.to_properties() == written
    assert found.shown() == {**written, "token": "***", "headers.A": "***"}
    assert ShopConfig.from_properties(written) == found
    left_out = read(endpoint="x")
    for properties in (left_out.to_properties(), left_out.shown()):
        assert properties.keys() == {
            *COMMON, "endpoint", "max-retries", "timeout", "strict", "places",
        }  # fmt: skip
        assert properties["places"] == "a,b"


def test_properties_are_described() -> None:
    found = {row.pop("key"): row for row in ShopConfig.describe()}
    row = {"also": [], "unit": None, "default": None, "required": False, "secret": False}
    assert found["endpoint"] == row | {"type": "text", "required": True, "doc": "where the shop is"}
    assert found["max-retries"] == row | {"type": "whole number", "default": 3, "doc": "tries"}
    assert found["timeout"] == row | {
        "type": "number", "unit": "seconds", "default": 10.0, "doc": "longest wait",
    }  # fmt: skip
    assert found["strict"] == row | {
        "type": "true or false", "default": False, "doc": "whether it is strict",
    }  # fmt: skip
    assert found["hosts"] == row | {"type": "list", "doc": "several hosts"}
    assert found["token"] == row | {
        "type": "text", "also": ["key"], "secret": True, "doc": "a token",
    }  # fmt: skip
    assert found["headers.*"] == row | {"type": "text", "also": ["header.*"], "doc": "headers"}


def test_a_property_with_a_different_name_is_described_under_that_name() -> None:
    @attrs.define(kw_only=True)
    class Waiting(Config):
        impl: ClassVar[str] = "waiting"

        wait: int = timeout_option("wait", default=5, unit="milliseconds", doc="a wait", repr=False)

    (row,) = [row for row in Waiting.describe() if row["key"] == "wait"]
    assert row == {
        "key": "wait", "also": ["wait_millis"], "type": "whole number", "unit": "milliseconds",
        "default": 5, "required": False, "secret": False, "doc": "a wait",
    }  # fmt: skip
    assert Waiting.from_properties({"wait": "2s"}).wait == 2000
    assert "wait=" not in repr(Waiting())


def test_a_key_of_a_group_has_one_value() -> None:
    assert read(endpoint="x", headers__A=1, header__A="1").headers == {"A": "1"}
    with pytest.raises(InvalidInputError, match=r"'header\.A' is set under two keys"):
        read(endpoint="x", headers__A="1", header__A="2")
    assert read(endpoint="x", storage__n=7).storage == {"n": "7"}
    for nothing in ("headers.", "other.A"):
        with pytest.raises(InvalidInputError, match="is unknown"):
            ShopConfig.from_properties({"endpoint": "x", nothing: "1"})


def test_a_value_that_is_a_path_or_a_number_is_text(tmp_path: Path) -> None:
    assert read(endpoint=tmp_path).endpoint == str(tmp_path)
    assert read(endpoint=7).endpoint == "7"
    assert read(endpoint="x", token=None, timeout=None) == read(endpoint="x")


def test_common_values_and_parts_of_urls_are_secrets_only_if_sensitive() -> None:
    found = ShopConfig.secrets_among(
        {"token": "abc", "key": "ab", "shop.token": "true", "endpoint": "http://u:word@h?q#f",
         "unheard-of": "whatever", "storage.region": "here", "storage.master_key": "mine"}
    )  # fmt: skip
    assert found == {"abc", "u:word", "word", "q#f", "whatever", "mine"}


def test_secrets_are_not_shown() -> None:
    secret = "s3cr3t-value"
    found = ShopConfig.from_properties(
        {"endpoint": "x", "token": secret, "storage.aws_secret_access_key": secret}
    )
    assert secret not in repr(found)
    assert "token='***'" in repr(found)
    assert "token=None" in repr(read(endpoint="x"))
    assert found.secrets() == {secret}
    said = read(endpoint=f"http://{secret}/", token=secret, hosts=["http://u:word@h", "b"])
    assert said.shown()["endpoint"] == "http://***/"
    assert said.shown()["hosts"] == "http://***@h,b"
    assert "hosts=('http://***@h', 'b')" in repr(said)
    with pytest.raises(InvalidInputError) as refused:
        ShopConfig.from_properties({"endpoint": "x", "token": {"a": secret}})
    assert secret not in "".join(traceback.format_exception_only(refused.value))
    assert redact({"aws_secret_access_key": "a", "region": "b"}) == {
        "aws_secret_access_key": "***",
        "region": "b",
    }


# --- the registry


@pytest.mark.parametrize(
    ("name", "target", "match"),
    [
        ("dir", "a:B", "built in"),
        ("x", "no colon", "module:Class"),
        ("x", ":B", "module:Class"),
        ("x", "a:", "module:Class"),
        ("x", "a:B:C", "module:Class"),
    ],
)
def test_an_invalid_registration_is_rejected(name: str, target: str, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        register(name, target)


@pytest.mark.parametrize(
    ("target", "match"),
    [("nothing.here:X", "cannot be imported"), ("json:Nothing", "has no Nothing"),
     ("json:JSONDecoder", "not a Namespace"), ("json:loads", "not a Namespace")],
)  # fmt: skip
def test_a_target_that_is_not_a_namespace_is_rejected(target: str, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        connect(target, {})


def test_an_unpickled_namespace_reconnects_to_the_same_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect("dir", {"path": "here"}) as namespace:
        namespace.declare_table({"id": ["t"]})
        pickled = pickle.dumps(namespace)
    monkeypatch.chdir("/")
    with pickle.loads(pickled) as again:
        assert list(again.iter_tables()) == ["t"]


def test_pylance_and_this_library_see_the_same_directory_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    from lance.namespace import DirectoryNamespace as Theirs
    from lance_namespace_urllib3_client import models as official

    theirs = Theirs(root=str(tmp_path), manifest_enabled="false")
    with connect("dir", {"path": str(tmp_path)}) as ours:
        ours.create_table({"id": ["full"]}, pa.table({"a": [1]}))
        ours.declare_table({"id": ["empty"]})
        theirs.declare_table(official.DeclareTableRequest(id=["reserved"]))
        listed = theirs.list_tables(official.ListTablesRequest(id=[])).tables
        assert sorted(listed) == list(ours.iter_tables()) == ["empty", "full", "reserved"]
        theirs.deregister_table(official.DeregisterTableRequest(id=["full"]))
        ours.deregister_table({"id": ["empty"]})
        listed = theirs.list_tables(official.ListTablesRequest(id=[])).tables
        assert sorted(listed) == list(ours.iter_tables()) == ["reserved"]


@attrs.define(kw_only=True)
class LocalConfig(Config):
    impl: ClassVar[str] = "local"

    root: str = root_option()


def test_a_root_is_absolute_and_the_current_directory_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert LocalConfig().root == str(tmp_path)
    assert LocalConfig(root="lake").root == str(tmp_path / "lake")
    assert LocalConfig(root="s3://bucket/lake").root == "s3://bucket/lake"
