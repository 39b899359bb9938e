"""The key ``impl``, and keys that are prefixed with the name of the implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect_config
from lance_namespace_impls.registry import implementations, load


@pytest.mark.requirement("general-075", "general-118", "general-119", "general-120", "general-121")
@pytest.mark.parametrize(
    ("impl", "module"),
    [
        ("dir", "lance_namespace_impls.directory"),
        ("hive", "lance_namespace_impls.hive"),
        ("rest", "lance_namespace_impls.rest"),
    ],
)
def test_the_key_impl_chooses_the_implementation(impl: str, module: str) -> None:
    assert load(impl).__module__.startswith(f"{module}.")
    assert load(impl).config_type.impl == impl


@pytest.mark.requirement("general-116", "general-117", "general-123")
def test_the_key_impl_is_required_and_must_be_known(tmp_path: Path) -> None:
    with connect_config({"impl": "dir", "dir.path": str(tmp_path)}) as directory:
        assert directory.config.impl == "dir"
    with pytest.raises(InvalidInputError, match="no 'impl'"):
        connect_config({"dir.path": str(tmp_path)})
    with pytest.raises(InvalidInputError, match=r"'director' is unknown; use one of .*dir.*rest"):
        connect_config({"impl": "director", "dir.path": str(tmp_path)})


PROPERTIES = {
    "dir": {"path": "/my/dir"},
    "memory": {"name": "mine"},
    "rest": {"uri": "http://host", "delimiter": "."},
    "hive": {"uri": "host:9083", "client.pool-size": "2"},
    "hive2": {"uri": "host:9083", "client.pool-size": "2"},
    "hive3": {"uri": "host:9083", "client.pool-size": "2"},
    "glue": {"region": "eu-west-1"},
    "unity": {"endpoint": "http://host", "catalog": "main"},
    "iceberg": {"endpoint": "http://host"},
    "sql": {"uri": "sqlite:////tmp/catalog.db"},
    "polaris": {"endpoint": "http://host"},
}

"""Implementation -> properties without the prefix."""


@pytest.mark.requirement("general-122", "general-123")
@pytest.mark.parametrize("impl", implementations())
def test_a_key_can_have_the_impl_as_its_prefix(impl: str) -> None:
    kind = load(impl).config_type
    bare = {**PROPERTIES[impl], "storage.region": "x"}
    if "cache_mib" not in kind.not_taken:
        bare["cache_mib"] = "7"
    prefixed = {f"{impl}.{key}": value for key, value in bare.items()}
    assert kind.from_properties(prefixed) == kind.from_properties(bare)
    assert kind.from_properties(prefixed).cache_mib == int(bare.get("cache_mib", 256))
    with pytest.raises(InvalidInputError, match="is unknown"):
        kind.from_properties({**prefixed, f"{impl}.nothing": "x"})


@pytest.mark.requirement("general-122")
def test_keys_of_another_implementation_are_ignored(tmp_path: Path) -> None:
    config = {"impl": "dir", "dir.path": str(tmp_path), "rest.uri": "http://host", "hive.x": "y"}
    with connect_config(config) as directory:
        assert directory.properties["path"] == str(tmp_path)
    with pytest.raises(InvalidInputError, match=r"'dir\.pth' is unknown; did you mean 'path'"):
        connect_config({"impl": "dir", "dir.path": str(tmp_path), "dir.pth": "x"})
