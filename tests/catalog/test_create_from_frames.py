"""Rows that are in Python become a table in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lance_namespace_impls import connect

COLUMNS = {"n": [1, 2], "s": ["a", None]}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(pd.DataFrame(COLUMNS), id="pandas"),
        pytest.param(pl.DataFrame(COLUMNS), id="polars"),
        pytest.param(pl.LazyFrame(COLUMNS), id="lazy"),
        pytest.param(pa.table(COLUMNS), id="arrow"),
        pytest.param([{"n": 1, "s": "a"}, {"n": 2, "s": None}], id="dicts"),
        pytest.param(COLUMNS, id="columns"),
    ],
)
def test_a_table_of_what_is_in_python(tmp_path: Path, rows: Any) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, rows)
    assert lake.table("t").to_arrow().to_pydict() == COLUMNS
