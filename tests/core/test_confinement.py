"""Confinement of table locations to the allowed directories and buckets."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_namespace_client.errors import InvalidInputError, PermissionDeniedError
from lance_namespace_impls.core import confinement as confinement_module
from lance_namespace_impls.core.confinement import (
    Confinement,
    confined,
    confinement,
    is_local,
    is_within,
)
from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed

INSIDE = (
    ("s3://b/p/x", "s3://b/p"),
    ("s3://b/p", "s3://b/p/"),
    ("s3a://b/p/x", "s3://b/p"),
    ("S3://b/p/x", "s3n://b/p"),
    ("gs://b/x", "gcs://b"),
    ("abfss://fs@account.dfs.core.windows.net/x", "abfs://fs@account.dfs.core.windows.net"),
    ("azure://c/x", "az://c"),
    ("wasb://c@account.blob.core.windows.net/x", "az://c@account.blob.core.windows.net"),
    ("wasbs://c@account.blob.core.windows.net/x", "wasb://c@account.blob.core.windows.net"),
    ("s3://b/a%20b/x", "s3://b/a b"),
    ("file-object-store:///srv/lake/x", "/srv/lake"),
    ("/srv/lake/x", "/srv/lake"),
    ("file:///srv/lake/x", "/srv/lake"),
    ("/srv/lake/x", "file:/srv/lake/"),
    ("file://localhost/srv/lake/x", "/srv/lake"),
    ("~/lake/x", str(Path.home() / "lake")),
    ("/srv/a b", "file:///srv/a%20b"),
    ("/srv/x", "/"),
)
OUTSIDE = (
    ("s3://b/px", "s3://b/p"),
    ("s3://b", "s3://b/p"),
    ("gs://b/p/x", "s3://b/p"),
    ("s3://B/p/x", "s3://b/p"),
    ("s3://b/p/../x", "s3://b/p"),
    ("s3://b/p/./x", "s3://b/p"),
    ("s3://b/p/%2e%2e/x", "s3://b/p"),
    ("s3://b/p/%25252e%25252e/x", "s3://b/p"),
    ("s3://b/p\\..\\x", "s3://b/p"),
    ("s3://b//p/x", "s3://b/p"),
    ("s3://b/p/x?versionId=1", "s3://b/p"),
    ("s3://b/p/x#y", "s3://b/p"),
    ("s3://user:password@b/p/x", "s3://b/p"),
    ("s3:b/p/x", "s3://b/p"),
    ("http://b/p/x", "s3://b/p"),
    ("/srv/lakes", "/srv/lake"),
    ("/srv/lake/../etc", "/srv/lake"),
    ("/srv/lake/%2e%2e/etc", "/srv/lake"),
    ("file://elsewhere/srv/lake/x", "/srv/lake"),
    ("file://localhostile/srv/lake/x", "/srv/lake"),
    ("file:////srv/lake/x", "/srv/lake"),
    ("file://localhost//srv/lake/x", "/srv/lake"),
    ("file:x", str(Path.cwd())),
    ("file+uring:///srv/lakes", "/srv/lake"),
    ("file+uring://elsewhere/srv/lake/x", "/srv/lake"),
    ("/srv/lake/x\0", "/srv/lake"),
    ("/srv/lake/x\n", "/srv/lake"),
    ("", "/srv/lake"),
    ("", ""),
)


@pytest.mark.parametrize(("location", "place"), INSIDE)
def test_equivalent_spellings_of_a_location_are_inside(location: str, place: str) -> None:
    assert is_within(location, place)


@pytest.mark.parametrize(("location", "place"), OUTSIDE)
def test_other_and_ambiguous_locations_are_outside(location: str, place: str) -> None:
    assert not is_within(location, place)


def test_nested_confinements_are_restored() -> None:
    outer, inner = Confinement(), Confinement(allowed_locations=("/srv",))
    assert confinement() is None
    with confined(outer):
        with suppress(KeyError), confined(inner):
            assert confinement() is inner
            raise KeyError
        assert confinement() is outer
    assert confinement() is None


def test_an_error_contains_a_truncated_location() -> None:
    bounds = Confinement(allowed_locations=("/srv/shared",))
    bounds.refuse_outside("/srv/shared/t", [], "DeclareTable t")
    bounds.refuse_outside("/srv/own/t", ["/srv/other", "/srv/own"], "DeclareTable t")
    with pytest.raises(InvalidInputError) as refused:
        bounds.refuse_outside("s3://b/" + "x" * 500, ["/srv/own"], "DeclareTable t")
    assert refused.value.code == 13
    said = "DeclareTable t: location 's3://b/" + "x" * 193 + "' is outside the locations of"
    assert refused.value.message.startswith(said)


def test_links_are_followed_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "lake").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "out").symlink_to(tmp_path / "elsewhere")
    assert is_within(f"{tmp_path}/real/x", f"{tmp_path}/lake")
    assert is_within(f"{tmp_path}/lake/x", f"{tmp_path}/real")
    assert not is_within(f"{tmp_path}/lake/out/x", f"{tmp_path}/lake")
    assert not is_within(f"file://{tmp_path}/lake/%6fut/x", f"{tmp_path}/lake")


@given(st.text(max_size=20), st.sampled_from(["s3://b/p", "/srv/lake"]))
def test_no_tail_leads_outside(tail: str, place: str) -> None:
    if is_within(f"{place}/{tail}", place):
        assert ".." not in tail.split("/")
    assert not is_within(f"{place}/{tail}/../../../x", place)


@pytest.mark.parametrize(
    ("location", "local"),
    [("/x", True), ("x", True), ("file:///x", True), ("FILE:/x", True), ("s3://b", False)],
)
def test_local_locations(location: str, local: bool) -> None:
    assert is_local(location) is local


# --- in process, if configured


def test_in_process_locations_are_not_confined_by_default(tmp_path: Path) -> None:
    with Mixed(MemoryConfig(root=str(tmp_path / "lake"))) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.declare_table({"id": ["ns", "t"], "location": "s3://elsewhere/t"})


def test_a_property_confines_every_caller(tmp_path: Path) -> None:
    properties = {
        "root": str(tmp_path / "lake"),
        "confine_locations": "true",
        "allow_locations": "s3://shared/a,s3://shared/b",
    }
    with Mixed.from_properties(properties) as namespace:
        assert namespace.config.allow_locations == ("s3://shared/a", "s3://shared/b")
        assert Mixed.from_properties(namespace.properties).config == namespace.config
        namespace.create_namespace({"id": ["ns"]})
        for location in ("s3://elsewhere/t", f"{tmp_path}/x"):
            with pytest.raises(InvalidInputError, match="outside the locations") as caught:
                namespace.declare_table({"id": ["ns", "t"], "location": location})
            assert caught.value.code == 13
            with pytest.raises(InvalidInputError):
                namespace.register_table({"id": ["ns", "t"], "location": location})
        namespace.declare_table({"id": ["ns", "t"], "location": "s3://shared/b/t"})
        namespace.declare_table({"id": ["ns", "u"]})


def test_an_existing_table_outside_is_rejected(tmp_path: Path) -> None:
    open_config = MemoryConfig(root=str(tmp_path / "lake"))
    with Mixed(open_config) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.declare_table({"id": ["ns", "t"], "location": str(tmp_path / "x")})
    with Mixed(MemoryConfig(root=str(tmp_path / "lake"), confine_locations=True)) as namespace:
        with pytest.raises(PermissionDeniedError) as caught:
            namespace.describe_table({"id": ["ns", "t"]})
        assert caught.value.code == 15
        assert str(tmp_path / "x") not in caught.value.message


def test_the_default_location_of_a_namespace_is_allowed(tmp_path: Path) -> None:
    class Elsewhere(MemoryNamespace):
        """A catalog whose databases have custom locations."""

        capabilities = Mixed.capabilities

        def default_location(self, identifier: tuple[str, ...]) -> str:
            return f"s3://of-{identifier[0]}/db/{identifier[-1]}"

    config = MemoryConfig(root=str(tmp_path), confine_locations=True)
    with Elsewhere(config) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        namespace.declare_table({"id": ["ns", "t"], "location": "s3://of-ns/db/old"})
        with pytest.raises(InvalidInputError):
            namespace.declare_table({"id": ["ns", "u"], "location": "s3://of-other/db/old"})


LEVELS = st.sampled_from(["a", "b", "link", "out", ".", "..", "", "a%2Fb", "%2e%2e", "a b", "é"])


@settings(max_examples=300)
@given(
    st.lists(LEVELS, max_size=4).map("/".join),
    st.sampled_from(["", "/", "/a", "/link", "/a/..", "/.", "//"]),
)
def test_the_fast_path_agrees_with_following_links(
    tmp_path_factory: pytest.TempPathFactory, tail: str, place: str
) -> None:
    base = tmp_path_factory.getbasetemp() / "confined"
    if not base.exists():
        (base / "in" / "a" / "b").mkdir(parents=True)
        (base / "elsewhere").mkdir()
        (base / "in" / "link").symlink_to("a")
        (base / "in" / "out").symlink_to(base / "elsewhere")
        (base / "in" / "a" / "out").symlink_to(base / "elsewhere")
    root = f"{base}/in{place}"
    short = is_within(f"{root}/{tail}", root)
    with patch.object(confinement_module, "_is_plainly_below", lambda *_: False):
        assert short == is_within(f"{root}/{tail}", root)


def test_a_plain_subdirectory_is_checked_without_following_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.lance").mkdir()
    (tmp_path / "u.lance").symlink_to(tmp_path.parent)

    def slow(path: str) -> str:
        raise AssertionError(f"the links of {path} are followed")

    with monkeypatch.context() as patched:
        patched.setattr(confinement_module.os.path, "realpath", slow)
        assert is_within(f"{tmp_path}/t.lance", str(tmp_path))
    assert not is_within(f"{tmp_path}/u.lance", str(tmp_path))
