"""Random imports, exports, appends and frames against pandas, polars, pyarrow and DuckDB.

The slow test runs for `RANDOM_FILES_SECONDS` (default 60), starting at `RANDOM_FILES_SEED` (default
random). A failure names the seed of its case. That seed with `RANDOM_FILES_SECONDS=0` runs only
this case. To run for an hour::

    RANDOM_FILES_SECONDS=3600 pytest tests/spark/test_random_files.py -m slow -s
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow import types as is_

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.cli.commands.read import FileFormat, _write_file
from lance_namespace_impls.cli.rows import row_file
from lance_namespace_impls.distributed.casts import uniform
from lance_namespace_impls.ingest.file_import import import_files, preview_files
from lance_namespace_impls.ingest.readers import lines

from . import random_files

SEEDS = 25
"""Number of cases of each kind in a normal test run."""


class Lake:
    """A folder with tables that files are imported into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.properties = {"path": str(folder / "lake")}
        self.namespace = connect("dir", self.properties)

    def load(self, name: str, *files: Path, mode: str = "create", **options: str) -> None:
        """Import files, and check that a preview reports the same."""
        arguments: dict[str, Any] = {
            "impl": "dir",
            "properties": self.properties,
            "table": [name],
            "sources": [str(file) for file in files],
            "mode": mode,
            "options": options,
        }
        try:
            shown = preview_files(**arguments, cores=1)
        except LanceNamespaceError as error:
            with pytest.raises(type(error)):
                import_files(None, **arguments, cores=1)
            raise
        import_files(None, **arguments, cores=1)
        assert shown.schema.names == self.rows(name).schema.names

    def rows(self, name: str) -> pa.Table:
        return self.namespace.table(name).search().to_arrow()

    def create(self, name: str, rows: Any) -> None:
        self.namespace.table(name).create(rows, mode="overwrite")


@contextmanager
def blocks(rng: random.Random) -> Iterator[None]:
    """Read text in blocks of a random size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", rng.choice((1, 7, rng.randrange(1, 300), 8 << 20)))
        yield


def division(rng: random.Random) -> dict[str, str]:
    return rng.choice(({}, {"task_bytes": str(rng.randrange(1, 200))}))


def check_csv(rng: random.Random, lake: Lake) -> None:
    """Import CSV into a table of strings and into a typed table, then append or overwrite rows."""
    file = random_files.csv_file(rng, lake.folder)
    for name, found in random_files.readers_of_csv(file):
        known = [[cell or "" for cell in row] for row in file.rows]
        assert found == known, f"{name} does not read the file as it was written"
    options = file.options | division(rng)
    texts = ", ".join(f"{name}: string" for name in file.columns)
    lake.load("texts", file.path, **options, types=texts)
    assert [list(row.values()) for row in lake.rows("texts").to_pylist()] == file.rows
    lake.load("typed", file.path, **options)
    check_typed(lake.rows("typed"), file.rows, file.columns)

    more = random_files.csv_file(rng, lake.folder, file.columns)
    mode = rng.choice(("append", "overwrite"))
    options = more.options | division(rng)
    before = lake.rows("typed")
    try:
        lake.load("typed", more.path, mode=mode, **options)
    except LanceNamespaceError as error:
        assert (mode, error.code) == ("append", 20), error
        assert_values(before, lake.rows("typed"))
        assert not agrees(lake, before.schema, more), f"refused for no reason: {error}"
        return
    kept = file.rows if mode == "append" else []
    check_typed(lake.rows("typed"), [*kept, *more.rows], file.columns)


def agrees(lake: Lake, schema: pa.Schema, file: random_files.CsvFile) -> bool:
    """Return whether a table of this file alone has the same types."""
    if not file.rows:
        return True
    lake.load("alone", file.path, mode="overwrite", **file.options)
    return bool(lake.rows("alone").schema.equals(schema))


def check_typed(found: pa.Table, rows: list[list[str | None]], columns: list[str]) -> None:
    assert found.num_rows == len(rows)
    for index, name in enumerate(columns):
        kind = found.schema.field(name).type
        if is_.is_timestamp(kind) and kind.unit == "ns":
            values = [
                None if each is None else pd.Timestamp(each) for each in found[name].to_pylist()
            ]
        else:
            values = found[name].to_pylist()
        for row, value in zip(rows, values, strict=True):
            assert random_files.means(row[index], value, kind), (name, kind, row[index], value)


def check_json(rng: random.Random, lake: Lake) -> None:
    """Import JSON into a new table, then append or overwrite rows."""
    shapes = {f"c{index}": random_files.json_shape(rng) for index in range(rng.randrange(1, 5))}
    expected: list[Any] = []
    for mode in ("create", rng.choice(("append", "overwrite"))):
        path, rows = random_files.json_file(rng, lake.folder, shapes)
        if not any(rows):
            continue
        before = lake.rows("t") if expected else None
        try:
            lake.load("t", path, mode=mode if expected else "create", **division(rng))
        except LanceNamespaceError as error:
            assert error.code == 20, error
            if before is not None:
                assert_values(before, lake.rows("t"))
            return
        expected = [*expected, *rows] if mode == "append" else rows
        found = lake.rows("t")
        kind = pa.struct(list(found.schema))
        known = [random_files.normal(random_files.fill(row, kind)) for row in expected]
        assert [random_files.normal(row) for row in found.to_pylist()] == known


def check_parquet(rng: random.Random, lake: Lake) -> None:
    """Import Parquet into a new table, then append rows of other types."""
    rows = random_files.table(rng)
    path = random_files.parquet_file(rng, lake.folder, rows)
    expected = parquet.read_table(path)
    for name, found in random_files.readers_of_parquet(path, expected):
        columns = expected.select(found.column_names)
        assert not random_files.differences(columns, found), f"{name} reads the file otherwise"
    if not _is_stored(expected.schema):
        return
    lake.load("t", path, **division(rng))
    found = lake.rows("t")
    assert found.schema.types == [uniform(kind) for kind in expected.schema.types]
    assert not random_files.differences(expected, found)

    more = _like(rng, rows)
    path = random_files.parquet_file(rng, lake.folder, more)
    given = parquet.read_table(path)
    try:
        lake.load("t", path, mode="append")
    except LanceNamespaceError as error:
        assert error.code == 20, error
        assert_values(found, lake.rows("t"))
        assert not given.schema.equals(expected.schema), f"refused for no reason: {error}"
        return
    tail = lake.rows("t").slice(found.num_rows)
    for name in given.column_names:
        assert_same_numbers(given[name], tail[name])


def _is_stored(schema: pa.Schema) -> bool:
    return not any(is_.is_null(kind) for kind in schema.types)


def _like(rng: random.Random, rows: pa.Table) -> pa.Table:
    """Return rows with the same columns, some of them with another type."""
    count = rng.randrange(9)
    kinds = [
        each if rng.random() < 0.6 else random_files.kind(rng, 0) for each in rows.schema.types
    ]
    columns = [random_files.column(rng, each, count) for each in kinds]
    return pa.table(columns, names=rows.column_names)


def assert_same_numbers(given: pa.ChunkedArray, kept: pa.ChunkedArray) -> None:
    """Check that values are the same in another type, by casting them back."""
    target = uniform(given.type)
    if is_.is_dictionary(target):
        target = target.value_type
    if given.type.equals(kept.type):
        back = kept
    elif kept.null_count == len(kept):
        back = pa.chunked_array([pa.nulls(len(kept), target)])  # Arrow crashes casting such lists
    elif is_.is_float16(kept.type):
        back = kept.cast(pa.float64()).cast(target)
    else:
        # Arrow crashes when it casts lists without values that Lance has read, but not their copy.
        back = kept.take(pa.array(range(len(kept)), pa.int64())).cast(target)
    values = random_files.values_of(given)
    if is_.is_integer(kept.type) or is_.is_decimal(kept.type):
        # These types have no negative zero.
        values = [("float", "0.0") if each == ("float", "-0.0") else each for each in values]
    assert values == random_files.values_of(back), (given.type, kept.type)


def check_frames(rng: random.Random, lake: Lake) -> None:
    """Create a table from a frame of one library, then append or overwrite with one of another."""
    flat = rng.random() < 0.7
    rows = random_files.table(rng, flat=flat)
    forms: list[Callable[[pa.Table], Any]] = [
        lambda rows: rows,
        lambda rows: pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches()),
        lambda rows: rows.combine_chunks(),
    ]
    if flat:
        forms += [
            lambda rows: rows.to_pandas(types_mapper=pd.ArrowDtype),
            lambda rows: pl.from_arrow(rows),
        ]
    if flat and not _fits_polars(rows.schema):
        forms.pop()
    first = rng.choice(forms)(rows)
    lake.create("t", first)
    assert_values(rows, lake.rows("t"))
    more = pa.table(
        [random_files.column(rng, kind, 4) for kind in rows.schema.types], names=rows.column_names
    )
    mode = rng.choice(("append", "overwrite"))
    lake.namespace.table("t").add(rng.choice(forms)(more), mode=mode)
    expected = pa.concat_tables([rows, more]) if mode == "append" else more
    assert_values(expected, lake.rows("t"))


def _fits_polars(schema: pa.Schema) -> bool:
    """Return whether polars stores values of these types unchanged."""
    return all(
        is_.is_integer(kind) or is_.is_boolean(kind) or is_.is_string(kind) or is_.is_date32(kind)
        or is_.is_float32(kind) or is_.is_float64(kind) or is_.is_binary(kind)
        for kind in schema.types
    )  # fmt: skip


def assert_values(expected: pa.Table, found: pa.Table) -> None:
    differing = random_files.differences(expected, found)
    assert not differing, differing[:3]


def check_export(rng: random.Random, lake: Lake) -> None:
    """Export rows, import them again, and read them with other readers."""
    format = rng.choice(list(FileFormat))
    rows = random_files.table(rng, flat=format is FileFormat.CSV or rng.random() < 0.5)
    lake.create("one", rows)
    expected = lake.rows("one")
    lake.create("two", expected.schema.empty_table())
    file = lake.folder / f"out.{format}"
    if rng.random() < 0.5 and rows.num_rows:
        lake.namespace.table("one").add(rows)
        expected = lake.rows("one")
    try:
        with lake.namespace.table("one").search().to_batches() as reader:
            written = max(_write_file(reader, file, format), default=0)
    except LanceNamespaceError as error:
        assert format is FileFormat.CSV
        assert "bytes that are not text" in error.message
        return
    assert written == expected.num_rows
    if format is FileFormat.ARROW:
        assert_values(expected, pa.ipc.open_file(file.open("rb")).read_all())
        with row_file(file, None) as source:
            assert_values(expected, source.reader().read_all())
        return
    lake.load("two", file, mode="append", **division(rng))
    assert lake.rows("two").schema.equals(expected.schema)
    assert_values(expected, lake.rows("two"))
    if format is FileFormat.PARQUET:
        # Parquet has no seconds: Arrow reads milliseconds back.
        found = parquet.read_table(file)
        columns = zip(found.columns, expected.schema, strict=True)
        found = pa.table({each.name: column.cast(each.type) for column, each in columns})
        assert_values(expected, found)


def check_invalid(rng: random.Random, lake: Lake) -> None:
    """Check that damaged or mistyped files are imported or rejected, without any other error."""
    match rng.randrange(3):
        case 0:
            path = random_files.csv_file(rng, lake.folder).path
            options = {}
        case 1:
            path = random_files.json_file(
                rng, lake.folder, {"c0": random_files.json_shape(rng), "c1": "text"}
            )[0]
            options = {}
        case _:
            path = random_files.parquet_file(rng, lake.folder, random_files.table(rng))
            options = {}
    kinds = ("int8", "int64", "float32", "float16", "string", "binary", "date32", "timestamp[us]",
             "timestamp[ns, UTC]", "decimal(5, 2)", "bool", "float32[2]", "list<int8>", "time64[us]",
             "time32[s]", "duration[us]", "large_string", "uint64", "date64", "null")  # fmt: skip
    if rng.random() < 0.6:
        options["types"] = f"c0: {rng.choice(kinds)}"
    if rng.random() < 0.6:
        path.write_bytes(random_files.damaged(rng, path.read_bytes()))
    rows = pa.table({"c0": pa.array([], random_files.kind(rng)), "c1": pa.array([], pa.string())})
    lake.create("old", rows)
    for name, mode in (("new", "create"), ("old", "append"), ("old", "overwrite")):
        before = lake.rows("old")
        chosen = dict(options)
        if mode == "append":
            chosen.pop("types", None)
        try:
            lake.load(name, path, mode=mode, **chosen)
        except LanceNamespaceError as error:
            assert error.code in (12, 13, 20), f"{error.code}: {error}"
            assert_values(before, lake.rows("old"))
            continue
        lake.rows(name).validate(full=True)


CHECKS = (check_csv, check_json, check_parquet, check_frames, check_export, check_invalid)


def run(check: Callable[[random.Random, Lake], None], seed: int, folder: Path) -> None:
    """Run one case, and name its seed if it fails."""
    case = folder / f"{check.__name__}-{seed}"
    case.mkdir()
    rng = random.Random(f"{check.__name__} {seed}")
    try:
        with blocks(rng):
            check(rng, Lake(case))
    except Exception as error:
        error.add_note(f"{check.__name__}: RANDOM_FILES_SEED={seed} RANDOM_FILES_SECONDS=0; {case}")
        raise
    shutil.rmtree(case)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_some_files(tmp_path: Path, check: Callable[[random.Random, Lake], None]) -> None:
    for seed in range(SEEDS):
        run(check, seed, tmp_path)


@pytest.mark.slow
def test_random_files(tmp_path: Path) -> None:
    seconds = float(os.environ.get("RANDOM_FILES_SECONDS", "60"))
    seed = int(os.environ.get("RANDOM_FILES_SEED", random.SystemRandom().randrange(10**9)))
    print(f"RANDOM_FILES_SEED={seed}", flush=True)
    end = time.monotonic() + seconds
    done: Counter[str] = Counter()
    while not done or time.monotonic() < end:
        for check in CHECKS:
            done[check.__name__] += 1
            run(check, seed, tmp_path)
        seed += 1
    print(json.dumps(done))
