"""Calls of lancedb that change rows, columns, indices and versions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from lancedb import index

from .lancedb_call import LONG, ROWS, Lance, call, failing, ids, rows

# --- changing rows


@call
def add(it: Lance) -> None:
    assert it.table.add(rows(ROWS, 8)).version > 0
    assert it.table.count_rows() == ROWS + 8


@call
def add_overwrite(it: Lance) -> None:
    it.table.add(rows(0, 8), mode="overwrite")
    assert it.table.count_rows() == 8


@call
def add_other_columns(it: Lance) -> None:
    failing(lambda: it.table.add(pa.table({"nowhere": [1]})))
    assert it.table.count_rows() == ROWS


@call
def update(it: Lance) -> None:
    found = it.table.update(where="id < 3", values={"title": "new"})
    assert (found.rows_updated, it.table.count_rows("title = 'new'")) == (3, 3)


@call
def update_by_expression(it: Lance) -> None:
    it.table.update(where="id < 3", values_sql={"price": "price + 1000"})
    assert it.table.count_rows("price >= 1000") == 3


@call
def delete(it: Lance) -> None:
    found = it.table.delete("id < 10")
    assert (found.num_deleted_rows, it.table.count_rows()) == (10, ROWS - 10)


@call
def merge_insert(it: Lance) -> None:
    merge = it.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    found = merge.execute(rows(ROWS - 4, 8))
    assert (found.num_updated_rows, found.num_inserted_rows) == (4, 4)
    assert it.table.count_rows() == ROWS + 4


@call
def merge_insert_new_only(it: Lance) -> None:
    it.table.merge_insert("id").when_not_matched_insert_all().execute(rows(ROWS - 4, 8))
    assert it.table.count_rows() == ROWS + 4


@call
def merge_update_on_condition(it: Lance) -> None:
    changed = rows(0, 8).set_column(3, "title", pa.array(["new"] * 8))
    merge = it.table.merge_insert("id").when_matched_update_all(where="target.id < 3")
    merge.execute(changed)
    assert it.table.count_rows("title = 'new'") == 3


@call
def merge_delete_the_rest(it: Lance) -> None:
    merge = it.table.merge_insert("id").when_not_matched_by_source_delete("id < 100")
    found = merge.when_matched_update_all().execute(rows(50, 8))
    assert (found.num_deleted_rows, it.table.count_rows()) == (92, ROWS - 92)


# --- columns


@call
def add_columns(it: Lance) -> None:
    assert it.table.add_columns({"twice": "id * 2"}).version > 1
    assert it.table.count_rows("twice = id * 2") == ROWS


@call
def add_columns_of_nulls(it: Lance) -> None:
    point = pa.struct([("it's", pa.list_(pa.float32(), 2)), ("day", pa.date32())])
    fields = [pa.field("note", pa.string()), pa.field("at", pa.timestamp("ms", "UTC"))]
    it.table.add_columns([*fields, pa.field("point", point), pa.field("n", pa.uint8())])
    assert it.table.count_rows("note IS NULL AND at IS NULL") == ROWS
    assert it.table.schema.field("at").type == pa.timestamp("ms", "UTC")
    assert it.table.schema.field("point").type == point


@call
def alter_columns_rename(it: Lance) -> None:
    it.table.alter_columns({"path": "title", "rename": "name"})
    assert "name" in it.table.schema.names


@call
def alter_columns_type(it: Lance) -> None:
    it.table.alter_columns({"path": "price", "data_type": pa.float32()})
    assert it.table.schema.field("price").type == pa.float32()


@call
def alter_columns_nullable(it: Lance) -> None:
    it.table.alter_columns({"path": "id", "nullable": True})
    assert it.table.schema.field("id").nullable


@call
def drop_columns(it: Lance) -> None:
    it.table.drop_columns(["title", "price"])
    assert not {"title", "price"} & set(it.table.schema.names)


@call
def update_field_metadata(it: Lance) -> None:
    it.table.update_field_metadata({"path": "id", "metadata": {"unit": "one"}})
    assert it.table.schema.field("id").metadata == {b"unit": b"one"}


# --- indices


def _indexed(it: Lance, column: str, config: Any, kind: str) -> None:
    it.table.create_index(column, config=config)
    it.table.wait_for_index([f"{column}_idx"], LONG)
    found = {each.name: each for each in it.table.list_indices()}[f"{column}_idx"]
    assert (found.index_type, list(found.columns)) == (kind, [column])


@call
def index_ivf_pq(it: Lance) -> None:
    _indexed(it, "vector", index.IvfPq(num_partitions=2, num_sub_vectors=2), "IvfPq")


@call
def index_ivf_pq_by_default(it: Lance) -> None:
    _indexed(it, "vector", index.IvfPq(num_bits=8), "IvfPq")


@call
def index_hnsw_sq(it: Lance) -> None:
    _indexed(it, "vector", index.HnswSq(distance_type="cosine", num_partitions=1), "IvfHnswSq")


@call
def index_btree(it: Lance) -> None:
    _indexed(it, "id", index.BTree(), "BTree")
    assert ids(it.table.search().where("id = 300")) == [300]


@call
def index_bitmap(it: Lance) -> None:
    _indexed(it, "text", index.Bitmap(), "Bitmap")


@call
def index_label_list(it: Lance) -> None:
    _indexed(it, "labels", index.LabelList(), "LabelList")
    assert it.table.count_rows("array_has_any(labels, ['l1'])") == 171


@call
def index_text(it: Lance) -> None:
    _indexed(it, "text", index.FTS(ngram_min_length=2, stem=False), "FTS")


@call
def index_replaced(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.add(rows(ROWS, 8))
    it.table.create_index("id", config=index.BTree())
    assert it.table.index_stats("id_idx").num_unindexed_rows == 0


@call
def index_not_replaced(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree(), name="by_id")
    failing(lambda: it.table.create_scalar_index("id", replace=False, name="by_id"), "exists")


@call
def index_stats(it: Lance) -> None:
    it.table.create_index("vector", config=index.IvfFlat(num_partitions=2, distance_type="dot"))
    it.table.add(rows(ROWS, 8))
    found = it.table.index_stats("vector_idx")
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (ROWS, 8)
    assert (found.index_type, found.distance_type) == ("IVF_FLAT", "dot")


@call
def index_stats_that_are_missing(it: Lance) -> None:
    assert it.table.index_stats("nowhere") is None


@call
def drop_index(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.drop_index("id_idx")
    assert list(it.table.list_indices()) == []


@call
def prewarm_index(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.prewarm_index("id_idx")
    failing(lambda: it.table.prewarm_index("nowhere"))


# --- versions, tags and branches


@call
def list_versions(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    assert [each["version"] for each in it.table.list_versions()] == [1, 2]


@call
def checkout(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    it.table.checkout(1)
    assert (it.table.version, it.table.count_rows()) == (1, ROWS)
    assert len(it.table.search().to_list()) == ROWS
    failing(lambda: it.table.delete("true"))
    it.table.checkout_latest()
    assert it.table.count_rows() == ROWS + 1


@call
def checkout_that_is_missing(it: Lance) -> None:
    assert it.table.version == 1
    failing(lambda: it.table.checkout(77))


@call
def restore(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    it.table.restore(1)
    assert (it.table.version, it.table.count_rows()) == (3, ROWS)


@call
def tags(it: Lance) -> None:
    it.table.tags.create("v1", 1)
    it.table.add(rows(ROWS, 1))
    it.table.tags.create("v2", 2)
    assert {name: tag["version"] for name, tag in it.table.tags.list().items()} == {
        "v1": 1,
        "v2": 2,
    }
    it.table.tags.update("v1", 2)
    assert it.table.tags.get_version("v1") == 2
    it.table.tags.delete("v2")
    assert set(it.table.tags.list()) == {"v1"}


@call
def checkout_tag(it: Lance) -> None:
    it.table.tags.create("first", 1)
    it.table.add(rows(ROWS, 1))
    it.table.checkout("first")
    assert it.table.count_rows() == ROWS


@call
def branches(it: Lance) -> None:
    branch = it.table.branches.create("dev")
    branch.add(rows(ROWS, 8))
    assert (branch.count_rows(), it.table.count_rows()) == (ROWS + 8, ROWS)
    assert "dev" in it.table.branches.list()
    assert it.table.branches.checkout("dev").count_rows("id >= 512") == 8
    it.table.branches.delete("dev")
    assert "dev" not in it.table.branches.list()


# --- maintenance


@call
def optimize(it: Lance) -> None:
    it.table.add(rows(ROWS, 8))
    it.table.optimize()
    assert it.table.count_rows() == ROWS + 8


@call
def uses_v2_manifest_paths(it: Lance) -> None:
    assert it.table.uses_v2_manifest_paths()
