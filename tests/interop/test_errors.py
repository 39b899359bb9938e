"""The interop classes fail with the errors that programs for the official interface expect."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import lance_namespace
import lancedb
import pyarrow as pa
import pytest
from lance_namespace import errors as official
from lance_namespace_urllib3_client import models as official_models

from lance_namespace_client.errors import ErrorCode, error_for
from lance_namespace_impls import connect
from lance_namespace_impls.interop import _official_errors
from lance_namespace_impls.server import serving

IMPL = "lance_namespace_impls.interop.DirectoryNamespace"
ROWS = pa.table({"x": [1]})
# The texts that pylance's own namespace starts its messages with.
TITLES = {
    0: "Unsupported",
    1: "Namespace not found",
    2: "Namespace already exists",
    3: "Namespace not empty",
    4: "Table not found",
    5: "Table already exists",
    6: "Table index not found",
    7: "Table index already exists",
    8: "Table tag not found",
    9: "Table tag already exists",
    10: "Transaction not found",
    11: "Table version not found",
    12: "Table column not found",
    13: "Invalid input",
    14: "Concurrent modification",
    15: "Permission denied",
    16: "Unauthenticated",
    17: "Service unavailable",
    18: "Internal error",
    19: "Invalid table state",
    20: "Table schema validation error",
    21: "Throttling",
    22: "Table branch not found",
    23: "Table branch already exists",
}


def test_every_code_has_a_title() -> None:
    assert set(TITLES) == {int(code) for code in ErrorCode}
    assert {int(code): raised(int(code), "x does y").partition(":")[0] for code in TITLES} == TITLES


def raised(code: int, message: str) -> str:
    with pytest.raises(official.LanceNamespaceError) as caught, _official_errors():
        raise error_for(code, message)
    assert int(caught.value.code) == code
    return str(caught.value)


def test_a_title_is_not_repeated() -> None:
    assert raised(4, "Table not found: t") == "Table not found: t"


@pytest.fixture
def namespace(tmp_path: Path) -> Any:
    return lance_namespace.connect(IMPL, {"path": str(tmp_path)})


def test_creating_a_table_twice_is_a_value_error(namespace: Any) -> None:
    request = official_models.DeclareTableRequest(id=["t"])
    namespace.declare_table(request)
    with pytest.raises(ValueError, match=r"^Table already exists: .*t") as caught:
        namespace.declare_table(request)
    assert isinstance(caught.value, official.TableAlreadyExistsError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (type(caught.value), str(caught.value))


@pytest.fixture(params=["interop", "rest"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "interop":
        yield lancedb.connect_namespace(IMPL, {"path": str(tmp_path)})
        return
    with connect("dir", {"path": str(tmp_path)}) as found, serving(found) as uri:
        yield lancedb.connect_namespace("rest", {"uri": uri})


def test_lancedb_reports_a_missing_table(database: Any) -> None:
    with pytest.raises(official.TableNotFoundError, match="Table not found: nope"):
        database.open_table("nope")


def test_lancedb_reports_an_existing_table(database: Any) -> None:
    database.create_table("t", ROWS)
    # For a Python class, lancedb's binding passes on only the text of an error, not its type.
    with pytest.raises((ValueError, RuntimeError), match=r"[Tt]able .*already exists"):
        database.create_table("t", ROWS)
    assert database.create_table("t", ROWS, exist_ok=True).count_rows() == 1
