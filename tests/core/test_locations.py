"""Conversion of paths, URIs and names to locations."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.location import (
    absolute,
    absolute_as_written,
    absolute_or_current,
    as_address,
    default_location,
    fresh_location,
    plain_path,
)


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("/a/b/", "/a/b"),
        ("/a/../b", "/b"),
        ("b", "{here}/b"),
        (".", "{here}"),
        ("~/b", "{home}/b"),
        ("~", "{home}"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://bucket/a//", "s3://bucket/a"),
        ("S3A://bucket/a b", "s3://bucket/a b"),
        ("s3n://bucket/%61", "s3://bucket/%61"),
        ("gcs://bucket/a", "gs://bucket/a"),
        ("abfs://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("file:///a", "/a"),
        ("file:/a", "/a"),
        ("file:////a/", "/a"),
        ("FILE://LOCALHOST/a", "/a"),
        ("file:///a%20%23b", "/a #b"),
        ("//a", "/a"),
        ("/a#b?c%20\\d", "/a#b?c%20\\d"),
    ],
)
def test_a_path_becomes_an_absolute_location(
    path: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ana")
    expected = made.format(here=tmp_path, home="/home/ana")
    assert absolute(path) == absolute_or_current(path) == expected


def test_an_empty_path_is_the_current_directory_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for nothing in (None, ""):
        assert absolute_or_current(nothing) == str(tmp_path)


@pytest.mark.parametrize("path", ["", "/a\0b", "s3://b\0", "s3://", "s3:///", "file:///"])
def test_a_path_without_a_directory_is_rejected(path: str) -> None:
    for make in (absolute, absolute_or_current) if path else (absolute,):
        with pytest.raises(
            InvalidInputError, match=r"is empty|contains a NUL|contains no bucket"
        ) as no:
            make(path)
        assert no.value.code == 13


@pytest.mark.parametrize(
    ("address", "made"),
    [
        ("/a b#c", "/a b#c"),
        ("file:/a%20b", "file:///a b"),
        ("FILE://localhost/a%23%25/", "file:///a%23%25"),
        ("file:///a%20", "file:///a%20"),
        ("s3a://b/a", "s3://b/a"),
    ],
)
def test_a_uri_remains_a_uri(address: str, made: str) -> None:
    assert absolute_as_written(address) == made
    assert absolute_as_written(made) == made
    assert absolute(made) == absolute(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://b/a#b", "write %23"),
        ("s3://b/a?b", "write %3F"),
        ("file:///a#b", "write %23"),
        ("s3://b/a//b", "double slash"),
        ("s3://b//a", "double slash"),
        ("s3://b/a%2F%2Fb", "double slash"),
        ("s3://b/a/../b", "'..' in a URI"),
        ("s3://b/a/./b", "'..' in a URI"),
        ("s3://b/a/%2e%2E/b", "'..' in a URI"),
        ("file:///a/../b", "'..' in a URI"),
        ("s3://b/a%0Ab", "control character"),
        ("/a\nb", "control character"),
        ("s3://b/%ff", "not UTF-8"),
        ("/a\udc80", "not valid Unicode"),
        ("s3://b:9000/a", "a bucket cannot have a port"),
        ("s3://user:secret@b/a", "user name or password"),
        ("az://user:secret@b/a", "user name or password"),
        (" s3://b/a", "cannot start or end with spaces"),
        ("s3:b/a", "write it as s3://"),
        ("s3:/b/a", "write it as s3://"),
        ("file:a", "write it as file:///path"),
        ("file://elsewhere/a", "is on the host 'elsewhere'"),
        ("/" + "n" * 256, "shorten it"),
        ("/n" * 2000, "shorten it"),
        ("s3://b/" + "n" * 897, "shorten it"),
    ],
)
def test_an_ambiguous_address_is_rejected(address: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)) as refused:
        absolute(address)
    assert refused.value.code == 13
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("/a b", "/a b"),
        ("s3://b/a b", "s3://b/a%20b"),
        ("s3://b/100%", "s3://b/100%25"),
        ("s3://b/a%20b%zz", "s3://b/a%20b%25zz"),
        ('s3://b/"<>\\^`{|}\x7f', "s3://b/%22%3C%3E%5C%5E%60%7B%7C%7D%7F"),
        ("s3://b/größe/表", "s3://b/größe/表"),
    ],
)
def test_characters_that_servers_reject_are_encoded(location: str, address: str) -> None:
    assert as_address(location) == address
    assert as_address(address) == address


@pytest.mark.parametrize(
    ("root", "names", "made"),
    [
        ("/r", ["a", "b"], "/r/a/b"),
        ("/r/", [], "/r"),
        ("/r", ["a/b", "100%", "a b"], "/r/a%2Fb/100%25/a%20b"),
        ("s3://b/r/", ["a/b", "100%", "a b"], "s3://b/r/a%252Fb/100%2525/a%20b"),
        ("file:///r", ["a/b"], "file:///r/a%252Fb"),
    ],
)
def test_each_name_is_one_level(root: str, names: list[str], made: str) -> None:
    assert default_location(root, names) == made


@pytest.mark.parametrize("name", [".", ".."])
def test_a_relative_path_segment_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be part of a default location") as refused:
        default_location("/r", ["a", name])
    assert refused.value.code == 13


@pytest.mark.parametrize("root", ["/r", "file:///r"])
def test_a_long_name_is_shortened_on_local_storage(root: str) -> None:
    names = ["n" * 246, "n" * 247, "n" * 246 + "m", "表" * 27, "表" * 28]
    levels = [default_location(root, [name]).removeprefix(f"{root}/") for name in names]
    assert levels[0] == names[0]
    assert levels[3] == "%E8%A1%A8" * 27
    for level in (levels[1], levels[2], levels[4]):
        start, _, digest = level.rpartition("-")
        assert len(level) <= 246
        assert len(digest) == 16
        assert start in ("n" * 229, "%E8%A1%A8" * 25)
    assert len(set(levels)) == len(names)
    assert default_location("s3://b", ["n" * 247]) == "s3://b/" + "n" * 247


def test_equivalent_local_locations_have_one_plain_path() -> None:
    assert {plain_path(name) for name in ("/a/b", "/a/b/", "file:///a/b", "file:///a/b/")} == {
        "/a/b"
    }
    assert plain_path("s3://b/a/") == "s3://b/a"


def test_a_fresh_location_is_unique_and_next_to_the_original() -> None:
    found = {fresh_location("s3://b/t/") for _ in range(3)}
    assert len(found) == 3
    for each in found:
        start, _, digits = each.rpartition("-")
        assert start == "s3://b/t"
        assert len(digits) == 8
        assert int(digits, 16) >= 0
    assert os.path.dirname(fresh_location("/a/t")) == "/a"
