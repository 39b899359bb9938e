"""Names that are too long for the directory of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError, TableNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.core.location import default_location, fresh_location

ROWS = {"a": [1]}


@pytest.mark.parametrize("name", ["n" * 247, "\u8868" * 28, "n" * 3000])
def test_a_name_too_long_for_a_directory_is_shortened(tmp_path: Path, name: str) -> None:
    for root in (str(tmp_path), f"file://{tmp_path}/uri"):
        with connect("memory", {"root": root}) as namespace:
            for each in (name, name + "x"):
                table = namespace.table([each]).create(ROWS)
                assert table.count_rows() == 1
            assert namespace.list_tables({"id": []}).tables == [name, name + "x"]
            namespace.drop_table({"id": [name]})
            assert namespace.table([name + "x"]).count_rows() == 1


def test_the_longest_name_allows_a_fresh_location(tmp_path: Path) -> None:
    for name in ("n" * 246, "n" * 247):
        location = fresh_location(default_location(str(tmp_path), [name]))
        Path(location).mkdir()
    assert default_location(str(tmp_path), ["n" * 246]).endswith("/" + "n" * 246)
    assert default_location("s3://bucket/tables", ["n" * 300]).endswith("/" + "n" * 300)


def test_a_name_longer_than_a_directory_name_has_no_table(tmp_path: Path) -> None:
    with connect("dir", {"root": str(tmp_path), "manifest": "true"}) as namespace:
        for ask in (namespace.describe_table, namespace.drop_table, namespace.table_exists):
            with pytest.raises((TableNotFoundError, InvalidInputError)):
                ask({"id": ["n" * 260]})
