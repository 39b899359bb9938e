"""Dictionary-encoded columns whose dictionaries differ between batches, over REST."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import file_chunks
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Any]:
    with (
        connect("dir", {"path": str(tmp_path)}) as local,
        serving(local) as uri,
        connect("rest", {"uri": uri}) as namespace,
    ):
        yield namespace


def rows(*values: str | None) -> pa.Table:
    return pa.table({"kind": pa.array(values, pa.dictionary(pa.int8(), pa.string()))})


def test_rows_with_different_dictionaries_are_queried(remote: Any) -> None:
    table = remote.table("t").create(rows("red", None, "green"))
    table.add(rows("blue", "red"))
    table.add(rows(None))
    table.add(rows("red", "white", "blue"))
    found = table.to_arrow()
    expected = ["red", None, "green", "blue", "red", None, "red", "white", "blue"]
    assert found.schema.equals(rows().schema)
    assert found["kind"].to_pylist() == expected
    assert table.search().limit(5).to_list() == [{"kind": each} for each in expected[:5]]


def test_a_dictionary_that_outgrows_its_index_type_is_an_error() -> None:
    batches = [rows(*map(str, range(start, start + 100))).to_batches()[0] for start in (0, 100)]
    reader = pa.RecordBatchReader.from_batches(rows().schema, batches)
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        list(file_chunks(reader))
