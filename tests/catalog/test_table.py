"""Table objects in process, over REST and in memory, compared with LanceDB on the same files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableAlreadyExistsError,
    TableIndexAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
)
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.objects.merge import MergeInsert
from lance_namespace_impls.objects.search import Search
from lance_namespace_impls.objects.table import Branches, Table, Tags
from lance_namespace_impls.server import serving

WORDS = ("apple banana", "banana", "cherry", "apple apple", "banana cherry", "plum")
GENERATOR = np.random.default_rng(7)
VECTORS = GENERATOR.random((60, 8), dtype=np.float32)
ROWS = {
    "id": list(range(60)),
    "text": [f"{WORDS[n % 6]} number{n}" for n in range(60)],
    "vector": VECTORS,
}


FILES = ["in process", "over REST"]


@pytest.fixture(scope="module", params=[*FILES, "in memory"])
def catalog(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Namespace]:
    if request.param == "in memory":
        with connect("memory") as memory:
            yield memory
        return
    with connect("dir", {"path": str(tmp_path_factory.mktemp("lake"))}) as directory:
        if request.param == "in process":
            yield directory
            return
        with (
            serving(directory) as uri,
            connect("rest", {"uri": uri}) as client,
        ):
            yield client


@pytest.fixture
def namespace(catalog: Namespace) -> Iterator[Namespace]:
    """A catalog whose tables are dropped after the test."""
    yield catalog
    for name in list(catalog.iter_tables()):
        catalog.table([name]).drop()


@pytest.fixture
def table(namespace: Namespace) -> Table:
    return namespace.table("fruits").create(ROWS)


def test_a_table_object_does_not_require_an_existing_table(namespace: Namespace) -> None:
    missing = namespace.table("missing")
    assert missing.name == "missing"
    assert repr(missing) == "Table('missing')"
    assert not missing.exists()
    with pytest.raises(TableNotFoundError, match="missing"):
        missing.count_rows()


@pytest.mark.parametrize("wrong", ["", [], "a..b"])
def test_an_invalid_name(namespace: Namespace, wrong: str) -> None:
    with pytest.raises(InvalidInputError):
        namespace.table(wrong)


def test_an_identifier_in_any_form(namespace: Namespace) -> None:
    assert namespace.table("db.events").id == ("db", "events")
    assert namespace.table(["v1.2"]).id == ("v1.2",)
    assert namespace.table("db$v1.2").id == ("db", "v1.2")
    assert namespace.table("db.events") == namespace.table("db$events")
    namespace.table("letters").create({"id": [1]})
    for root in (None, "", "$", []):
        assert list(namespace.iter_tables(root)) == ["letters"]
    for id in ("letters", ["letters"], ("letters",)):
        assert namespace.open_table(id).count_rows() == 1
    with pytest.raises(InvalidInputError):
        list(namespace.iter_namespaces("a..b"))


def test_dir_lists_only_public_names(namespace: Namespace, table: Table) -> None:
    operations = {row.method_name for row in OPERATIONS.values()}
    rest = set(dir(namespace)) - operations
    assert operations <= set(dir(namespace))
    assert rest - {"migrate"} == {
        "asynchronous", "close", "config", "create_partitioned", "from_properties",
        "iter_namespaces", "iter_tables", "namespace_id", "open_table", "partitioned", "properties",
        "table",
    }  # fmt: skip
    for each in (namespace, table, table.search(), table.merge_insert("id")):
        assert not [name for name in dir(each) if name.startswith("_")]
        assert all(hasattr(type(each), name) or hasattr(each, name) for name in dir(each))


@pytest.mark.parametrize("kind", [Table, Search, MergeInsert, Tags, Branches])
def test_public_signatures_are_typed(kind: type) -> None:
    for name, member in vars(kind).items():
        if name.startswith("_") and name != "__init__":
            continue
        function = member.fget if isinstance(member, property) else member
        for parameter, annotation in getattr(function, "__annotations__", {}).items():
            assert not re.search(r"\bAny\b", str(annotation)), f"{name}: {parameter}"


def test_reading_metadata(table: Table) -> None:
    assert table.exists()
    assert table.schema == pa.schema(
        {"id": pa.int64(), "text": pa.string(), "vector": pa.list_(pa.float32(), 8)}
    )
    assert table.count_rows() == 60
    assert table.count_rows("id < 10") == 10
    assert table.head(3)["id"].to_pylist() == [0, 1, 2]
    assert table.head(0).schema == table.schema
    assert "fruits" in table.location
    assert table.properties == {}
    assert table.describe(details=True).version == 1
    assert table.stats().num_rows == 60


def test_all_rows_in_every_form(table: Table) -> None:
    ids = list(range(60))
    assert table.to_arrow()["id"].to_pylist() == ids
    assert table.to_pandas()["id"].tolist() == ids
    assert table.to_polars().collect()["id"].to_list() == ids
    assert [row["id"] for row in table.search().to_list()] == ids
    with table.to_batches() as reader:
        assert sum(batch.num_rows for batch in reader) == 60


def test_a_scan(table: Table) -> None:
    found = table.search().where("id > 10").where("id < 20 OR id = 50").select(["id"])
    assert found.to_arrow().to_pydict() == {"id": [*range(11, 20), 50]}
    assert found.offset(2).limit(3).to_arrow()["id"].to_pylist() == [13, 14, 15]
    assert found.select({"double": "id * 2"}).limit(1).to_list() == [{"double": 22}]
    assert "_rowid" in found.with_row_id().to_arrow().column_names


def test_a_step_does_not_change_the_original_query(table: Table) -> None:
    whole = table.search()
    whole.where("id = 1").limit(1)
    assert whole.to_arrow().num_rows == 60


@pytest.mark.parametrize("form", [list, tuple, np.asarray, pa.array])
def test_a_vector_in_any_form(table: Table, form: type) -> None:
    found = table.search(form(VECTORS[17].tolist())).limit(3).to_arrow()
    assert found["id"][0].as_py() == 17
    assert found.num_rows == 3
    assert table.search(form(VECTORS[17].tolist())).to_arrow().num_rows == 10


@pytest.mark.parametrize("wrong", [3, {"a": 1}, ["x"]])
def test_an_invalid_search_value(table: Table, wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="vector"):
        table.search(wrong)


def test_adding_rows_in_any_form(table: Table) -> None:
    more = {"id": [100], "text": ["x"], "vector": VECTORS[:1]}
    frame = pd.DataFrame({"id": [101], "text": ["x"], "vector": [VECTORS[0]]}, index=[7])
    table.add(more)
    table.add(frame)
    table.add(pl.DataFrame(more).with_columns(id=pl.lit(102)))
    table.add(pl.LazyFrame(more).with_columns(id=pl.lit(103)))
    table.add([{"id": 104, "text": "x", "vector": VECTORS[0]}])
    table.add([{"id": 105, "vector": VECTORS[0]}, {"text": "x", "id": 106, "vector": VECTORS[1]}])
    assert table.to_arrow()["id"].to_pylist()[60:] == list(range(100, 107))
    assert table.search().where("id = 105").to_list()[0]["text"] is None


def test_plain_numbers_are_converted_to_the_types_of_the_table(namespace: Namespace) -> None:
    kinds = {"small": pa.int16(), "part": pa.float32(), "vector": pa.list_(pa.float32(), 2)}
    table = namespace.table("t").create(pa.schema(kinds).empty_table())
    table.add([{"small": 1, "part": 0.5, "vector": [1, 2]}])
    table.add({"small": [2], "part": [1], "vector": [[1.5, 2]]})
    frame = pd.DataFrame({"small": [2], "part": [7], "vector": [[0, 0]]})
    table.merge_insert("small").when_matched_update_all().execute(frame)
    assert table.to_arrow().to_pydict() == {
        "small": [1, 2],
        "part": [0.5, 7],
        "vector": [[1, 2], [0, 0]],
    }
    for wrong in ({"small": 70_000}, {"vector": [1, 2, 3]}, {"part": "x"}):
        with pytest.raises(TableSchemaValidationError, match=f"column '{next(iter(wrong))}'"):
            table.add([{"small": 3, "part": 1.0, "vector": [1, 2], **wrong}])
    assert table.count_rows() == 2


def test_a_search_in_a_list_column_explains_how_to_create_vectors(namespace: Namespace) -> None:
    rows = pa.table({"id": [1], "vector": [[1.0, 2.0]]})
    plain = namespace.table("plain").create(rows)
    with pytest.raises(InvalidInputError, match=r"fixed-size list.*numpy"):
        plain.search([1.0, 2.0]).to_arrow()
    with pytest.raises(InvalidInputError, match=r"fixed-size list.*numpy"):
        plain.search([1.0, 2.0], vector_column_name="vector").to_arrow()


def test_invalid_rows(namespace: Namespace) -> None:
    for wrong in (3, "text", [1, 2], {"a": [1, 2], "b": [1]}, {"a": [1, "x"]}):
        with pytest.raises(InvalidInputError, match="rows"):
            namespace.table("t").create(wrong)
    assert not namespace.table("t").exists()


def test_writing(table: Table) -> None:
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merged = merge.execute({"id": [0, 99], "text": ["zero", "new"], "vector": VECTORS[:2]})
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)
    assert table.update("id < 2", {"text": "it's"}).updated_rows == 2
    assert table.update("id = 99", values_sql={"id": "id + 1000"}).updated_rows == 1
    table.delete("id BETWEEN 10 AND 19")
    assert table.count_rows() == 51
    assert table.count_rows("text = 'it''s'") == 2
    assert table.count_rows("id = 1099") == 1
    with pytest.raises(TableAlreadyExistsError):
        table.create(ROWS)
    table.create({"id": [1]}, mode="overwrite")
    assert table.to_arrow().to_pydict() == {"id": [1]}


def test_versions_and_tags(namespace: Namespace, table: Table) -> None:
    table.tags.create("first", 1)
    with pytest.raises(TableTagAlreadyExistsError):
        table.tags.create("first", 1)
    table.delete("id > 9")
    assert [each.version for each in table.list_versions()] == [1, 2]
    assert table.version == 2
    first = namespace.table("fruits")
    first.checkout("first")
    assert (first.version, first.count_rows(), table.count_rows()) == (1, 60, 10)
    assert namespace.table("fruits", version=2).count_rows() == 10
    with pytest.raises(InvalidInputError, match="version 1, which is read-only"):
        first.delete("true")
    table.tags.update("first", 2)
    assert table.tags.list()["first"].version == table.tags.get_version("first") == 2
    first.restore()
    assert (table.count_rows(), first.count_rows(), first.version) == (60, 60, 3)
    first.checkout(2)
    assert first.count_rows() == 10
    first.checkout_latest()
    assert first.count_rows() == 60
    first.restore("first")
    assert (first.version, first.count_rows()) == (4, 10)
    table.tags.delete("first")
    with pytest.raises(TableTagNotFoundError):
        table.checkout("first")


def test_branches(table: Table) -> None:
    dev = table.branches.create("dev")
    assert (dev.current_branch(), table.current_branch()) == ("dev", None)
    assert list(table.branches.list()) == ["dev"]
    dev.delete("id > 9")
    assert (dev.count_rows(), table.count_rows()) == (10, 60)
    assert table.branches.checkout("dev").count_rows("id < 5") == 5
    assert len(dev.list_versions()) == len(table.list_versions()) + 1
    table.branches.delete("dev")
    assert table.branches.list() == {}


def test_columns(table: Table) -> None:
    before = table.schema
    table.add_columns({"twice": "id * 2"})
    assert table.schema.names == [*before.names, "twice"]
    table.alter_columns(
        {"path": "twice", "rename": "double", "data_type": pa.int32()},
        {"path": "text", "nullable": True},
    )
    assert table.schema.field("double").type == pa.int32()
    assert table.search().where("id = 3").to_list()[0]["double"] == 6
    table.drop_columns(["double"])
    assert table.schema == before


def test_the_version_and_schema_are_cached(namespace: Namespace, table: Table) -> None:
    """A change by another object is visible after `refresh`, or after a change by this object."""
    assert (table.version, len(table.schema)) == (1, 3)
    namespace.table("fruits").drop_columns(["text"])
    assert (table.version, len(table.schema)) == (1, 3)
    table.refresh()
    assert (table.version, len(table.schema)) == (2, 2)
    table.delete("id = 1")
    assert table.version == 3


def test_optimize(table: Table) -> None:
    table.create_index("id", index_type="BTREE", name="by_id")
    for n in range(3):
        table.add({"id": [100 + n], "text": ["x"], "vector": VECTORS[:1]})
    assert table.index_stats("by_id").num_unindexed_rows == 3
    table.optimize()
    # Lance does not merge fragments that are covered by an index with other fragments.
    assert table.stats().fragment_stats.num_fragments == 2
    assert table.index_stats("by_id").num_unindexed_rows == 0
    assert len(table.list_versions()) > 4
    table.optimize(cleanup_older_than=timedelta())
    assert len(table.list_versions()) == 1
    table.checkout(table.version)
    with pytest.raises(InvalidInputError, match="read-only"):
        table.optimize()


def test_a_merge_step_by_step(table: Table) -> None:
    rows = {"id": [0, 99], "text": ["zero", "new"], "vector": VECTORS[:2]}
    merged = table.merge_insert("id").when_matched_update_all(where="target.id > 5").execute(rows)
    assert not merged.num_inserted_rows
    assert table.count_rows("text = 'zero'") == 0
    merge = table.merge_insert(["id"]).when_not_matched_by_source_delete("id > 50")
    merged = merge.when_not_matched_insert_all().execute(rows, timeout=timedelta(seconds=5))
    assert (merged.num_inserted_rows, merged.num_deleted_rows) == (1, 9)


def test_indices(table: Table) -> None:
    table.create_index("id", index_type="BTREE", name="by_id")
    assert [index.index_name for index in table.list_indices()] == ["by_id"]
    table.drop_index("by_id")
    assert table.list_indices() == []


def test_an_index_is_replaced_on_request(table: Table) -> None:
    for options in ({"name": "by_id"}, {}):
        table.create_index("id", index_type="BTREE", **options)
        with pytest.raises(TableIndexAlreadyExistsError):
            table.create_index("id", index_type="BITMAP", **options)
        table.create_scalar_index("id", index_type="BITMAP", replace=True, **options)
        (index,) = table.list_indices()
        assert (index.index_type or "").upper() == "BITMAP"
        table.drop_index(index.index_name)


def test_the_only_vector_column_is_indexed_by_default(table: Table) -> None:
    table.create_index(index_type="IVF_FLAT", num_partitions=2)
    assert [index.columns for index in table.list_indices()] == [["vector"]]
    table.drop_columns(["vector"])
    with pytest.raises(InvalidInputError, match="0 vector columns"):
        table.create_index()


def test_waiting_for_an_index(table: Table) -> None:
    table.create_index("id", index_type="BTREE", name="by_id")
    table.wait_for_index(["by_id"])
    table.add({"id": [100], "text": ["x"], "vector": VECTORS[:1]})
    with pytest.raises(TimeoutError, match="missing or incomplete: by_id, other"):
        table.wait_for_index(["by_id", "other"], timeout=timedelta(seconds=0.1))


def test_the_length_is_the_number_of_rows(table: Table) -> None:
    assert len(table) == 60
    table.delete("true")
    assert len(table) == 0
    assert table


def test_field_metadata_is_replaced(table: Table) -> None:
    table.replace_field_metadata("text", {"language": "en", "unit": "word"})
    table.replace_field_metadata("text", {"language": "de"})
    assert table.schema.field("text").metadata == {b"language": b"de"}


def test_drop(table: Table) -> None:
    table.drop()
    assert not table.exists()


def test_listings_do_not_require_a_request(namespace: Namespace, table: Table) -> None:
    assert namespace.list_tables().tables == ["fruits"]
    assert namespace.list_namespaces().namespaces == []
    assert namespace.query_table({"id": ["fruits"]}).read_all().num_rows == 10


def test_markup_in_data_is_escaped_in_notebooks(namespace: Namespace) -> None:
    bad = "<script>alert(1)</script>"
    table = namespace.table("t").create({bad: [bad, "y" * 1000]})
    shown = table._repr_html_() + table.search().limit(2)._repr_html_() + namespace._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "y" * 100 not in shown


@pytest.mark.parametrize("catalog", FILES, indirect=True)
def test_hybrid_search_returns_the_results_of_lancedb(table: Table) -> None:
    table.create_index("text", index_type="FTS")
    theirs = lancedb.connect(Path(table.location).parent).open_table("fruits")
    for words, n in (("banana", 3), ("apple cherry", 20), ("plum number5", 41), ("nothing", 5)):
        vector = VECTORS[n]
        for limit in (1, 7, 25):
            query = theirs.search(query_type="hybrid").vector(vector).text(words).limit(limit)
            expected = query.to_arrow()
            found = table.search(vector).text(words).limit(limit).to_arrow()
            for column in ("id", "_relevance_score"):
                assert found[column].to_pylist() == expected[column].to_pylist()
    found = table.search(VECTORS[3]).text("banana").where("id > 30").limit(5).to_arrow()
    query = theirs.search(query_type="hybrid").vector(VECTORS[3]).text("banana")
    expected = [row["id"] for row in query.where("id > 30", prefilter=True).limit(5).to_list()]
    assert found["id"].to_pylist() == expected
    page = table.search(VECTORS[3]).text("banana").offset(2).limit(3).to_arrow()
    whole = table.search(VECTORS[3]).text("banana").limit(5).to_arrow()
    assert page["id"].to_pylist() == whole["id"].to_pylist()[2:]
    assert "full-text search:" in table.search(VECTORS[3]).text("banana").explain_plan()


@pytest.mark.parametrize("catalog", FILES, indirect=True)
def test_a_search_returns_the_results_of_lancedb(table: Table) -> None:
    table.create_index("text", index_type="FTS")
    theirs = lancedb.connect(Path(table.location).parent).open_table("fruits")
    vector = VECTORS[3]
    for ours, expected in (
        (table.search(vector).limit(9), theirs.search(vector).limit(9)),
        (
            table.search(vector).distance_type("cosine"),
            theirs.search(vector).distance_type("cosine"),
        ),
        (
            table.search(vector).where("id > 20").limit(4),
            theirs.search(vector).where("id > 20", prefilter=True).limit(4),
        ),
        (table.search("cherry").limit(30), theirs.search("cherry", query_type="fts").limit(30)),
    ):
        ids = [row["id"] for row in expected.to_list()]
        assert ours.to_arrow()["id"].to_pylist() == ids
    assert table.head(7).equals(theirs.head(7))
    rows = theirs.search().where("id > 20").select(["id"]).limit(9).to_arrow()
    assert table.search().where("id > 20").select(["id"]).limit(9).to_arrow().equals(rows)


def test_a_search_writes_no_warnings(table: Table, capfd: pytest.CaptureFixture[str]) -> None:
    table.create_index("text", index_type="FTS")
    for chosen in (["id"], {"twice": "id * 2"}):
        near = table.search(VECTORS[3]).select(chosen).limit(1).to_arrow()
        assert near.column_names == [*chosen, "_distance"]
        worded = table.search("cherry").select(chosen).limit(1).to_arrow()
        assert worded.column_names == [*chosen, "_score"]
    assert without_access_log(capfd.readouterr().err) == []


def test_index_statistics_write_no_warnings(
    namespace: Namespace, capfd: pytest.CaptureFixture[str]
) -> None:
    table = namespace.table("t").create({"vector": GENERATOR.random((600, 8), dtype=np.float32)})
    table.create_index("vector", index_type="IVF_FLAT", name="near", distance_type="cosine")
    table.add({"vector": VECTORS[:10]})
    found = table.index_stats("near")
    assert (found.index_type, found.distance_type) == ("IVF_FLAT", "cosine")
    assert (found.num_indexed_rows, found.num_unindexed_rows, found.num_indices) == (600, 10, 1)
    assert without_access_log(capfd.readouterr().err) == []


def test_the_former_names_of_two_methods(namespace: Namespace) -> None:
    table = namespace.table("former").create(pa.table({"id": [1, 2], "s": ["a", "b"]}))
    assert (table.count(), table.count("id > 1")) == (2, 1)
    merged = table.merge([{"id": 2, "s": "B"}, {"id": 3, "s": "c"}], on="id")
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)
    assert table.count("s = 'B' or s = 'c'") == 2


def without_access_log(text: str) -> list[str]:
    """Return the lines without access log entries, which a server of an earlier test may write."""
    return [line for line in text.splitlines() if not line.startswith('{"time"')]
