"""Parse table names, options and types that users write."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.distributed.type_names import parse_type, parse_types
from lance_namespace_impls.spark.datasource import split_options, split_table_name
from lance_namespace_impls.spark.table_options import TableOptions


@pytest.mark.parametrize(
    ("text", "delimiter", "names"),
    [
        ("flights", None, ("flights",)),
        ("db.flights", None, ("db", "flights")),
        ("`my.db`.flights", None, ("my.db", "flights")),
        ("a.`b``c`", None, ("a", "b`c")),
        ("a b.ü", None, ("a b", "ü")),
        ("a$b", None, ("a$b",)),
        ("a$b.c", "$", ("a", "b.c")),
        ("a/b", "/", ("a", "b")),
    ],
)
def test_table_names(text: str, delimiter: str | None, names: tuple[str, ...]) -> None:
    assert split_table_name(text, delimiter) == names


@pytest.mark.parametrize("text", ["a.", ".a", "a..b", "`a", "a`b`", "`a`b", ".", "``"])
def test_invalid_table_names_in_options(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not an identifier"):
        split_table_name(text)


@pytest.mark.requirement("general-115", "general-116", "general-117")
def test_the_argument_of_load_is_the_table() -> None:
    options, properties = split_options({"impl": "dir", "dir.path": "/d", "path": "t"})
    assert options.table == "t"
    assert properties == {"impl": "dir", "dir.path": "/d"}


def test_with_the_option_table_the_path_is_that_of_the_namespace() -> None:
    options, properties = split_options({"impl": "dir", "path": "/d", "table": "t"})
    assert options.table == "t"
    assert properties == {"impl": "dir", "path": "/d"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"impl": "dir"}, "no table is specified"),
        ({"table": "t", "version": "0"}, "'version' must be a whole number of 1 or more"),
        ({"table": "t", "version": "x"}, "'version' must be a whole number"),
        (
            {"table": "t", "version": "1", "tag": "a"},
            "one of the options 'version', 'tag' and 'timestamp'",
        ),
        ({"table": "t", "batch_rows": "-1"}, "'batch_rows'"),
    ],
)
def test_bad_options(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        split_options(given)


def test_options_are_typed() -> None:
    options, _ = split_options({"table": "t", "columns": "a, b", "splits": "3"})
    assert options == TableOptions(table="t", columns=("a", "b"), splits=3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int32", pa.int32()),
        ("date", pa.date32()),
        ("string", pa.string()),
        ("timestamp[us]", pa.timestamp("us")),
        ("timestamp[us, Europe/Berlin]", pa.timestamp("us", "Europe/Berlin")),
        ("decimal(10, 2)", pa.decimal128(10, 2)),
        ("list<int64>", pa.list_(pa.int64())),
        ("float32[768]", pa.list_(pa.float32(), 768)),
        ("list<float16[2]>", pa.list_(pa.list_(pa.float16(), 2))),
        ("timestamp[us, tz=UTC]", pa.timestamp("us", "UTC")),
        ("timestamp[ns, tz=Europe/Berlin]", pa.timestamp("ns", "Europe/Berlin")),
        ("timestamp[ms, +05:30]", pa.timestamp("ms", "+05:30")),
        ("list<item: timestamp[us, tz=UTC]>", pa.list_(pa.timestamp("us", "UTC"))),
        ("fixed_size_list<item: float>[2]", pa.list_(pa.float32(), 2)),
        ("large_list<item: int64>", pa.large_list(pa.int64())),
        ("decimal128(5, 2)", pa.decimal128(5, 2)),
        ("date32[day]", pa.date32()),
        ("halffloat", pa.float16()),
    ],
)
def test_types(text: str, kind: pa.DataType) -> None:
    assert parse_type(text) == kind


def test_types_of_columns() -> None:
    assert parse_types("a: decimal(10, 2), b b:timestamp[us, UTC],c:list<int8>") == {
        "a": pa.decimal128(10, 2),
        "b b": pa.timestamp("us", "UTC"),
        "c": pa.list_(pa.int8()),
    }


@pytest.mark.parametrize("text", ["a", ":int8", "a:integer", "a:", "a:int8, a:int16"])
def test_invalid_types_of_columns(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_types(text)


@pytest.mark.parametrize(
    "uri",
    [
        "az://c/x?sig=hunter2",
        "AZ://c/x?sv=1&sig=hunter2",
        "s3://key:hunter2@bucket/x",
        "https://account.blob.core.windows.net/c/x?sig=hunter2",
    ],
)
@pytest.mark.parametrize("key", ["root", "dir.path", "path", "table"])
def test_credentials_in_a_uri_are_rejected_and_not_shown(uri: str, key: str) -> None:
    given = {"impl": "dir", "table": "t", key: uri}
    with pytest.raises(InvalidInputError, match=f"option '{key}' contains credentials") as caught:
        split_options(given)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "uri", ["abfss://container@account.dfs.core.windows.net/x", "s3://b/a=1", "/data/what?", "a?b"]
)
def test_a_uri_without_credentials_is_accepted(uri: str) -> None:
    assert split_options({"impl": "dir", "table": "t", "root": uri})[1]["root"] == uri


@pytest.mark.parametrize("more", [{}, {"option.table": "t", "option.impl": "dir"}])
def test_save_as_table_names_the_alternative(more: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"save\('name'\) instead of saveAsTable") as caught:
        split_options({"impl": "dir", "root": "/d", **more})
    assert "CREATE TEMPORARY VIEW name USING lance_namespace" in str(caught.value)


def test_an_option_in_the_form_of_the_catalog_of_spark_is_rejected() -> None:
    """Spark passes the options of CREATE TABLE under both names."""
    given = {"impl": "dir", "root": "/d", "table": "t", "option.root": "/d"}
    with pytest.raises(InvalidInputError, match="Spark's catalog does not store") as caught:
        split_options(given)
    assert int(caught.value.code) == 13
