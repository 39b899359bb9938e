"""Tables as Python objects, in process and over REST, and beside LanceDB on the same files."""

from __future__ import annotations

from collections.abc import Iterator
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
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.objects.table import Table
from lance_namespace_impls.server import serving

WORDS = ("apple banana", "banana", "cherry", "apple apple", "banana cherry", "plum")
GENERATOR = np.random.default_rng(7)
VECTORS = GENERATOR.random((60, 8), dtype=np.float32)
ROWS = {
    "id": list(range(60)),
    "text": [f"{WORDS[n % 6]} number{n}" for n in range(60)],
    "vector": VECTORS,
}


@pytest.fixture(params=["in process", "over REST"])
def namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    with connect("dir", {"path": str(tmp_path)}) as directory:
        if request.param == "in process":
            yield directory
            return
        with (
            serving(directory) as uri,
            connect("rest", {"uri": uri}) as client,
        ):
            yield client


@pytest.fixture
def table(namespace: Namespace) -> Table:
    return namespace.table("fruits").create(ROWS)


def test_it_is_a_name_until_it_is_asked(namespace: Namespace) -> None:
    missing = namespace.table("missing")
    assert missing.name == "missing"
    assert repr(missing) == "Table('missing')"
    assert not missing.exists()
    with pytest.raises(TableNotFoundError, match="missing"):
        missing.count()


@pytest.mark.parametrize("wrong", ["", [], "a..b"])
def test_a_name_that_cannot_be(namespace: Namespace, wrong: str) -> None:
    with pytest.raises(InvalidInputError):
        namespace.table(wrong)


def test_a_name_with_a_dot_is_a_list(namespace: Namespace) -> None:
    assert namespace.table("db.events").id == ("db", "events")
    assert namespace.table(["v1.2"]).id == ("v1.2",)


def test_looking_at_it(table: Table) -> None:
    assert table.exists()
    assert table.schema == pa.schema(
        {"id": pa.int64(), "text": pa.string(), "vector": pa.list_(pa.float32(), 8)}
    )
    assert table.count() == len(table) == 60
    assert table.count("id < 10") == 10
    assert table.head(3)["id"].to_pylist() == [0, 1, 2]
    assert table.head(0).schema == table.schema
    assert table.location.endswith("fruits.lance")
    assert table.describe(details=True).version == 1
    assert table.stats().num_rows == 60


def test_all_rows_in_every_form(table: Table) -> None:
    ids = list(range(60))
    assert table.to_arrow()["id"].to_pylist() == ids
    assert table.to_pandas()["id"].tolist() == ids
    assert table.to_polars()["id"].to_list() == ids
    assert [row["id"] for row in table.search().to_list()] == ids
    with table.to_reader() as reader:
        assert sum(batch.num_rows for batch in reader) == 60


def test_a_scan(table: Table) -> None:
    found = table.search().where("id > 10").where("id < 20 OR id = 50").select(["id"])
    assert found.to_arrow().to_pydict() == {"id": [*range(11, 20), 50]}
    assert found.offset(2).limit(3).to_arrow()["id"].to_pylist() == [13, 14, 15]
    assert found.select({"double": "id * 2"}).limit(1).to_list() == [{"double": 22}]
    assert "_rowid" in found.with_row_id().to_arrow().column_names


def test_a_step_leaves_the_query_as_it_was(table: Table) -> None:
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
def test_neither_vector_nor_words(table: Table, wrong: object) -> None:
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


def test_plain_numbers_take_the_table_s_types(namespace: Namespace) -> None:
    kinds = {"small": pa.int16(), "part": pa.float32(), "vector": pa.list_(pa.float32(), 2)}
    table = namespace.table("t").create(pa.schema(kinds).empty_table())
    table.add([{"small": 1, "part": 0.5, "vector": [1, 2]}])
    table.add({"small": [2], "part": [1], "vector": [[1.5, 2]]})
    table.merge(pd.DataFrame({"small": [2], "part": [7], "vector": [[0, 0]]}), on="small")
    assert table.to_arrow().to_pydict() == {
        "small": [1, 2],
        "part": [0.5, 7],
        "vector": [[1, 2], [0, 0]],
    }
    for wrong in ({"small": 70_000}, {"vector": [1, 2, 3]}, {"part": "x"}):
        with pytest.raises(TableSchemaValidationError, match=f"column '{next(iter(wrong))}'"):
            table.add([{"small": 3, "part": 1.0, "vector": [1, 2], **wrong}])
    assert table.count() == 2


def test_a_list_of_lists_is_told_how_to_become_vectors(namespace: Namespace) -> None:
    plain = namespace.table("plain").create([{"id": 1, "vector": [1.0, 2.0]}])
    with pytest.raises(InvalidInputError, match=r"fixed-size list.*numpy"):
        plain.search([1.0, 2.0]).to_arrow()
    with pytest.raises(InvalidInputError, match=r"fixed-size list.*numpy"):
        plain.search([1.0, 2.0], column="vector").to_arrow()


def test_rows_that_are_none(namespace: Namespace) -> None:
    for wrong in (3, "text", [1, 2], {"a": [1, 2], "b": [1]}, {"a": [1, "x"]}):
        with pytest.raises(InvalidInputError, match="rows"):
            namespace.table("t").create(wrong)
    assert not namespace.table("t").exists()


def test_writing(table: Table) -> None:
    merged = table.merge({"id": [0, 99], "text": ["zero", "new"], "vector": VECTORS[:2]}, on="id")
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)
    assert table.update({"text": "it's"}, where="id < 2") == 2
    assert table.update(sql={"id": "id + 1000"}, where="id = 99") == 1
    table.delete("id BETWEEN 10 AND 19")
    assert table.count() == 51
    assert table.count("text = 'it''s'") == 2
    assert table.count("id = 1099") == 1
    with pytest.raises(TableAlreadyExistsError):
        table.create(ROWS)
    table.create({"id": [1]}, mode="overwrite")
    assert table.to_arrow().to_pydict() == {"id": [1]}


def test_versions_and_tags(table: Table) -> None:
    table.tag("first")
    table.delete("id > 9")
    assert [each.version for each in table.versions()] == [1, 2]
    first = table.checkout("first")
    assert (first.count(), table.count(), table.checkout(2).count()) == (60, 10, 10)
    with pytest.raises(InvalidInputError, match="version 1, which is read-only"):
        first.delete("true")
    table.tag("first", 2)
    assert table.tags()["first"].version == 2
    first.restore()
    assert table.count() == 60
    table.untag("first")
    with pytest.raises(TableTagNotFoundError):
        table.checkout("first")


def test_indices(table: Table) -> None:
    table.create_index("id", "BTREE", name="by_id")
    assert [index.index_name for index in table.indices()] == ["by_id"]
    table.drop_index("by_id")
    assert table.indices() == []


def test_drop(table: Table) -> None:
    table.drop()
    assert not table.exists()


def test_lists_need_no_request(namespace: Namespace, table: Table) -> None:
    assert namespace.list_tables().tables == ["fruits"]
    assert namespace.list_namespaces().namespaces == []
    assert namespace.query_table({"id": ["fruits"]}).read_all().num_rows == 10


def test_notebooks_see_no_markup_of_others(namespace: Namespace) -> None:
    bad = "<script>alert(1)</script>"
    table = namespace.table("t").create({bad: [bad, "y" * 1000]})
    shown = table._repr_html_() + table.search().limit(2)._repr_html_() + namespace._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "y" * 100 not in shown


def test_hybrid_search_finds_what_lancedb_finds(table: Table, tmp_path: Path) -> None:
    table.create_index("text", "FTS")
    theirs = lancedb.connect(tmp_path).open_table("fruits")
    for words, n in (("banana", 3), ("apple cherry", 20), ("plum number5", 41), ("nothing", 5)):
        vector = VECTORS[n]
        for limit in (1, 7, 25):
            query = theirs.search(query_type="hybrid").vector(vector).text(words).limit(limit)
            expected = query.to_arrow()
            found = table.search(vector, text=words).limit(limit).to_arrow()
            for column in ("id", "_relevance_score"):
                assert found[column].to_pylist() == expected[column].to_pylist()
    found = table.search(VECTORS[3], text="banana").where("id > 30").limit(5).to_arrow()
    query = theirs.search(query_type="hybrid").vector(VECTORS[3]).text("banana")
    expected = [row["id"] for row in query.where("id > 30", prefilter=True).limit(5).to_list()]
    assert found["id"].to_pylist() == expected
    page = table.search(VECTORS[3], text="banana").offset(2).limit(3).to_arrow()
    whole = table.search(VECTORS[3], text="banana").limit(5).to_arrow()
    assert page["id"].to_pylist() == whole["id"].to_pylist()[2:]
    assert "full-text search:" in table.search(VECTORS[3], text="banana").explain()


def test_a_search_finds_what_lancedb_finds(table: Table, tmp_path: Path) -> None:
    table.create_index("text", "FTS")
    theirs = lancedb.connect(tmp_path).open_table("fruits")
    vector = VECTORS[3]
    for ours, expected in (
        (table.search(vector).limit(9), theirs.search(vector).limit(9)),
        (table.search(vector).metric("cosine"), theirs.search(vector).distance_type("cosine")),
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


def test_a_search_warns_of_nothing(table: Table, capfd: pytest.CaptureFixture[str]) -> None:
    table.create_index("text", "FTS")
    for chosen in (["id"], {"twice": "id * 2"}):
        near = table.search(VECTORS[3]).select(chosen).limit(1).to_arrow()
        assert near.column_names == [*chosen, "_distance"]
        worded = table.search("cherry").select(chosen).limit(1).to_arrow()
        assert worded.column_names == [*chosen, "_score"]
    assert capfd.readouterr().err == ""


def test_statistics_of_an_index_warn_of_nothing(
    namespace: Namespace, capfd: pytest.CaptureFixture[str]
) -> None:
    table = namespace.table("t").create({"vector": GENERATOR.random((600, 8), dtype=np.float32)})
    table.create_index("vector", "IVF_FLAT", name="near", distance_type="cosine")
    table.add({"vector": VECTORS[:10]})
    found = namespace.describe_table_index_stats({"id": ["t"], "index_name": "near"})
    assert (found.index_type, found.distance_type) == ("IVF_FLAT", "cosine")
    assert (found.num_indexed_rows, found.num_unindexed_rows, found.num_indices) == (600, 10, 1)
    assert capfd.readouterr().err == ""
