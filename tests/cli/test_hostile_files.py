"""Malicious and damaged files: the command rejects them and creates no table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status
from tests.server.attacks.hostile_arrow import STORABLE, bad_bodies, bomb, file_of, good, stream_of

FORMS = {"arrow": file_of, "arrows": stream_of}


def create(tmp_path, file):
    place = ["--impl", "dir", "-p", f"path={tmp_path / 'tables'}"]
    return CliRunner().invoke(app, ["create", *place, "t", "--data", str(file)])


def refused(tmp_path, file):
    result = create(tmp_path, file)
    assert result.exit_code != 0
    assert result.exit_code == Status.INVALID, result.output
    assert not list((tmp_path / "tables").glob("t*"))
    return result.output


@pytest.mark.parametrize("lie", STORABLE)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_inconsistent_content(tmp_path, lie, form):
    file = tmp_path / f"rows.{form}"
    file.write_bytes(bad_bodies(FORMS[form])[lie])
    assert "not valid" in " ".join(refused(tmp_path, file).split())


@pytest.mark.parametrize("form", FORMS)
def test_a_decompression_bomb(tmp_path, form):
    file = tmp_path / f"rows.{form}"
    file.write_bytes(FORMS[form](bomb(), compression="zstd"))
    refused(tmp_path, file)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_valid_file(tmp_path, form, compression):
    file = tmp_path / f"rows.{form}"
    file.write_bytes(FORMS[form](good(), compression=compression))
    result = create(tmp_path, file)
    assert result.exit_code == 0, result.output


def test_a_truncated_file(tmp_path):
    file = tmp_path / "rows.arrow"
    file.write_bytes(file_of(good())[:-20])
    refused(tmp_path, file)


def test_parquet_with_text_that_is_not_utf8(tmp_path):
    file = tmp_path / "rows.parquet"
    text = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, pa.array([0, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff\xfe")],
    )
    parquet.write_table(pa.table({"a": text}), file)
    refused(tmp_path, file)
