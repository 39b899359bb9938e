"""ListOperations lists exactly the operations that work; every other one fails with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError, UnsupportedError
from lance_namespace_client.operations import OPERATIONS, Body, Operation
from lance_namespace_impls.catalog.namespace import Namespace

from .catalogs import CATALOGS
from .home import make_home
from .subject import Subject
from .subjects import SUBJECTS, parameters

pytestmark = pytest.mark.xdist_group("spread")

# Each of these has the same operations as another backend, which is tested.
ALIKE = ("memory-two-levels", "memory-three-levels", "memory-any-depth", "rest", "nessie")
BACKENDS = CATALOGS | {
    name: entry.start
    for name, entry in SUBJECTS.items()
    if name not in ALIKE and not name.startswith("sql-postgresql")
}
REASON = re.compile(r"is not supported( by \w+)?: \w+ .+")
ROWS = pa.table({"x": [1, 2, 3]})
# A value for each field that some request requires.
NEEDED: dict[str, Any] = {
    "location": "nowhere",
    "new_table_name": "renamed",
    "on": "x",
    "updates": [["x", "1"]],
    "predicate": "x = 1",
    "k": 1,
    "vector": {},
    "query": {"k": 1, "vector": {}},
    "column": "x",
    "index_type": "BTREE",
    "index_name": "x_idx",
    "tag": "first",
    "version": 1,
    "name": "branch",
    "new_columns": [{"name": "y", "expression": "x + 1"}],
    "alterations": [{"path": "x"}],
    "columns": ["x"],
    "ranges": [{"start_version": 1, "end_version": 1}],
    "manifest_path": "nowhere",
    "entries": [],
    "operations": [],
    "actions": [{}],
    "kind": "query",
    "source_query": "",
    "output_schema": "",
    "metadata": {},
}


@pytest.fixture(params=parameters(BACKENDS))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each backend, including those that run the suite in their own tests."""
    with BACKENDS[request.param](tmp_path) as found:
        yield found


def test_lists_exactly_the_operations_that_work(subject: Subject) -> None:
    with subject.connect() as namespace:
        listed = namespace.list_operations({}).operations
        assert len(listed) == len(set(listed))
        works = {row.name for row in OPERATIONS.values() if _works(subject, namespace, row)}
        assert works == set(listed)


def _works(subject: Subject, namespace: Namespace, row: Operation[Any, Any]) -> bool:
    """Return whether an operation works on an existing table or namespace.

    An operation that does not work fails with code 0 and a reason.
    """
    home = make_home(subject, namespace)
    table = [*home, "flights"]
    namespace.create_table({"id": table}, ROWS)
    request = {wire.key: NEEDED[wire.key] for wire in row.request_type._wire if wire.required}
    if row.path.startswith("/v1/namespace/{id}"):
        request["id"] = list(home) if home else ["child"]
        if not subject.capabilities.has_namespaces(1):
            request["id"] = []
    elif "{id}" in row.path:
        request["id"] = table
    method = getattr(namespace, row.method_name)
    try:
        method(request, ROWS) if row.body is Body.ARROW else method(request)
    except UnsupportedError as error:
        assert REASON.search(str(error)), f"{row.name} gives no reason: {error}"
        return False
    except InvalidInputError:  # no identifier of the catalog is valid for some operations
        return row.name not in subject.capabilities.unsupported
    except LanceNamespaceError:
        return True
    return True
