"""A program for lancedb runs on a namespace after its import and five more lines are replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import sys
from datetime import timedelta
import pyarrow as pa
import lancedb
folder = sys.argv[1]
db = lancedb.connect(folder)
words = ["red apple", "green apple", "red car", "blue car", "the sea", "a lake"]
schema = pa.schema({"id": pa.int64(), "text": pa.string(), "vector": pa.list_(pa.float32(), 4)})
rows = [
    {"id": n, "text": words[n % 6], "vector": [float(n), float(n % 7), 1.0, 0.0]}
    for n in range(300)
]
table = db.create_table("notes", rows, schema=schema)
print(table.name, table.count_rows(), table.schema.names, table.version)
table.add([{"id": 300, "text": "a moon", "vector": [300.0, 1.0, 1.0, 0.0]}])
print(table.count_rows("id >= 299"))
query = [7.0, 0.0, 1.0, 0.0]
near = table.search(query).where("id < 100").limit(3).select(["id"])
print([row["id"] for row in near.to_list()])
print(table.search(query).metric("cosine").limit(2).to_arrow().column("id").to_pylist())
print(table.search().where("id IN (3, 4)").to_pandas()["text"].tolist())
print(sorted(row["id"] for row in table.take_offsets([5, 2]).to_list()))
print(table.search().where("id < 3").limit(2).offset(1).to_polars()["id"].to_list())
table.create_scalar_index("id", index_type="BTREE")
table.create_index("vector", config=lancedb.index.IvfFlat(num_partitions=2))
table.create_fts_index("text", with_position=True)
print(sorted(list(each.columns) for each in table.list_indices()))
print(table.index_stats("id_idx").num_unindexed_rows)
found = table.search("moon", query_type="fts").limit(5).to_list()
print([row["id"] for row in found])
merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
merged = merge.execute(
    [
        {"id": 300, "text": "the moon", "vector": [1.0, 1.0, 1.0, 1.0]},
        {"id": 301, "text": "a star", "vector": [2.0, 1.0, 1.0, 1.0]},
    ]
)
print(merged.num_updated_rows, merged.num_inserted_rows)
table.update(where="id = 301", values={"text": "a sun"})
table.update(where="id = 300", values_sql={"id": "id + 1000"})
print(sorted(table.search().where("id > 299").to_pandas()["text"]))
table.delete("id >= 301")
print(table.count_rows())
table.tags.create("cleaned", table.version)
print(list(table.tags.list()), table.tags.get_version("cleaned") == table.version)
table.add_columns({"double": "id * 2"})
table.alter_columns({"path": "double", "rename": "twice"})
print(table.schema.names, table.head(2).column("twice").to_pylist())
table.drop_columns(["twice"])
print(table.schema.names)
versions = table.list_versions()
print(len(versions) > 5)
table.checkout(1)
print(table.count_rows(), "double" in table.schema.names)
table.checkout("cleaned")
print(table.count_rows())
table.checkout_latest()
table.restore(1)
print(table.count_rows())
table.optimize(cleanup_older_than=timedelta(days=7))
print(len(table), table.to_arrow().num_rows, table.to_pandas().shape)
print(db.open_table("notes").count_rows())
db.drop_table("notes")
"""
IMPORT = ("import lancedb\n", "from lance_namespace_impls import connect\n")
REPLACED = {
    "db = lancedb.connect(folder)\n": 'db = connect("dir", {"path": folder})\n',
    'table = db.create_table("notes", rows, schema=schema)\n': (
        'table = db.table("notes").create(rows, schema=schema)\n'
    ),
    'table.create_index("vector", config=lancedb.index.IvfFlat(num_partitions=2))\n': (
        'table.create_index("vector", index_type="IVF_FLAT", num_partitions=2)\n'
    ),
    'print(db.open_table("notes").count_rows())\n': 'print(db.table("notes").count_rows())\n',
    'db.drop_table("notes")\n': "table.drop()\n",
}  # fmt: skip


def printed(program: str, folder: Path) -> list[str]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_lancedb_program_runs_with_few_lines_replaced(tmp_path: Path) -> None:
    program = PROGRAM.replace(*IMPORT)
    for old, new in REPLACED.items():
        assert program.count(old) == 1, old
        program = program.replace(old, new)
    assert len(REPLACED) <= 5
    assert len(PROGRAM.splitlines()) >= 60
    theirs = printed(PROGRAM, tmp_path / "theirs")
    assert printed(program, tmp_path / "ours") == theirs
    assert len(theirs) > 20
