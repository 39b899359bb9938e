"""Every field of every request has its documented effect, in process and over REST."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lance_namespace_client import models
from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_client.model import Model, Wire
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.rest import RestConfig, RestNamespace
from lance_namespace_impls.server.http.requests import Headers, read_request
from lance_namespace_impls.server.http.routing import RouteTable

from .fields.changes import CHANGE_ROWS
from .fields.entries import ENTRY_ROWS
from .fields.indices import INDEX_ROWS
from .fields.namespaces import NAMESPACE_ROWS
from .fields.refs import REF_ROWS
from .fields.row import SAME, Code, Differs, Row, Stage, agrees, models_within
from .fields.search import NOT_IN_PLANS, PLAN_ROWS, QUERY_ROWS, TEXT_ROWS

TABLE = [
    *NAMESPACE_ROWS,
    *ENTRY_ROWS,
    *REF_ROWS,
    *CHANGE_ROWS,
    *INDEX_ROWS,
    *QUERY_ROWS,
    *TEXT_ROWS,
]

OF_ALL = frozenset({"identity", "context"})
"""Fields that every request has; one test covers them for all operations."""
REFUSED_WHOLE = {
    "AddVirtualColumnEntry": "AddColumnsEntry.virtual_column",
    "AddVirtualColumnOutputEntry": "AddColumnsEntry.virtual_column",
    "AlterVirtualColumnEntry": "AlterColumnsEntry.virtual_column",
}
"""Models that are always rejected, whatever they contain, and the row that shows it."""


@pytest.fixture(scope="module")
def direct() -> Iterator[Namespace]:
    with connect("memory", {}) as namespace:
        yield namespace


@pytest.fixture(scope="module")
def far(direct: Namespace) -> Iterator[Namespace]:
    """The same namespace over REST."""
    from lance_namespace_impls.server import Reach, ServerOptions, serving

    options = ServerOptions(reach=Reach(storage_options={"region"}))
    with serving(direct, options) as uri, connect("rest", {"uri": uri}) as remote:
        yield remote


FIRST = {row.key: row for row in reversed(TABLE)}
"""One row per field, which is also run over REST: other values of a field are sent the same way."""


def check(row: Row, namespace: Namespace, direct: Namespace) -> None:
    without = row.run(Stage(namespace, direct), having=False)
    having = row.run(Stage(namespace, direct), having=True)
    assert agrees(without, row.without), f"without {row.field}: {without}"
    assert agrees(having, row.having), f"with {row.field}: {having}"
    assert bool(row.why) is (row.having == row.without), "what has no effect has a reason"


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_field_has_its_documented_effect(row: Row, direct: Namespace) -> None:
    check(row, direct, direct)


@pytest.mark.parametrize("row", FIRST.values(), ids=str)
def test_a_field_has_its_documented_effect_over_rest(
    row: Row, far: Namespace, direct: Namespace
) -> None:
    check(row, far, direct)


@pytest.mark.parametrize("row", PLAN_ROWS, ids=str)
def test_a_plan_shows_the_fields_of_its_query(row: Row, direct: Namespace) -> None:
    without = row.run(Stage(direct, direct), having=False)
    if row.without is SAME:
        assert not isinstance(without, Code), without
        assert row.run(Stage(direct, direct), having=False) == without
    else:
        assert agrees(without, row.without), without
    having = row.run(Stage(direct, direct), having=True)
    if isinstance(row.having, Differs):
        assert not isinstance(having, Code), having
        assert having != without
    elif row.having is SAME:
        assert having == without
        assert row.why
    else:
        assert agrees(having, row.having), having


# --- every field has a row

MANAGED = {
    "CreateTableVersion": "tests/catalog/test_managed.py",
    "BatchCreateTableVersions": "tests/catalog/test_managed.py",
    "BatchCommitTables": "tests/catalog/test_managed.py",
    "DescribeTransaction": "tests/catalog/test_managed.py",
    "AlterTransaction": "tests/catalog/test_managed.py",
}
"""Operations for tables that the catalog manages, and the test file that covers their fields."""


def _supported() -> set[str]:
    with connect("memory", {}) as namespace:
        return set(namespace.list_operations({}).operations)


SUPPORTED = _supported()
UNSUPPORTED = sorted(set(OPERATIONS) - SUPPORTED)


def fields_of(name: str, wires: tuple[Wire, ...]) -> Iterator[tuple[str, str]]:
    """Yield the fields that need a row, and add the models nested in them to `seen`."""
    for wire in wires:
        if wire.key in OF_ALL:
            continue
        yield name, wire.key
        for inner in models_within(wire.decode):
            if inner not in REFUSED_WHOLE:
                seen.setdefault(inner, getattr(models, inner)._wire)


seen: dict[str, tuple[Wire, ...]] = {}


def needed(operations: set[str]) -> set[tuple[str, str]]:
    seen.clear()
    found = {
        pair for name in operations for pair in fields_of(name, OPERATIONS[name].request_type._wire)
    }
    done: set[str] = set()
    while rest := seen.keys() - done:
        for name in rest:
            found |= set(fields_of(name, seen[name]))
            done.add(name)
    return found


def test_every_field_has_a_row() -> None:
    there = {row.key for row in (*TABLE, *PLAN_ROWS)} | {
        (of, name) for name in NOT_IN_PLANS for of in ("AnalyzeTableQueryPlan", "QueryTableRequest")
    }
    wanted = needed(SUPPORTED - MANAGED.keys())
    assert sorted(wanted - there) == [], "fields that no row of tests/tables/fields is about"
    assert sorted(there - wanted) == [], "rows of fields that no request has"


@pytest.mark.parametrize("name", MANAGED)
def test_every_field_of_a_managed_operation_is_in_its_test(name: str) -> None:
    text = Path(MANAGED[name]).read_text("utf-8")
    missing = [field for _, field in needed({name}) if f'"{field}"' not in text]
    assert missing == [], f"fields that {MANAGED[name]} is not about"


@pytest.mark.parametrize("model", REFUSED_WHOLE)
def test_a_model_that_is_always_rejected_has_a_row(model: str) -> None:
    of, _, field = REFUSED_WHOLE[model].partition(".")
    rows = [row for row in TABLE if row.key == (of, field)]
    assert rows and all(row.having.code == 0 for row in rows)


def test_a_new_field_fails_without_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    request = OPERATIONS["DropTable"].request_type
    monkeypatch.setattr(request, "_wire", (*request._wire, Wire("purge", "purge", lambda v, w: v)))
    with pytest.raises(AssertionError, match="purge"):
        test_every_field_has_a_row()


# --- operations that are unsupported, whatever the request contains


def some_value(wire: Wire) -> Any:
    """Return a value that a field accepts."""
    for value in ("query", "udtf", ["x"], 1, {"k": "v"}, True, {}, [], [{}], [["x", "1"]]):
        try:
            wire.decode(value, wire.key)
        except InvalidInputError:
            continue
        return value
    return {inner.key: some_value(inner) for inner in _inner(wire) if inner.required}


def _inner(wire: Wire) -> tuple[Wire, ...]:
    name = next(models_within(wire.decode))
    found: type[Model] = getattr(models, name)
    return found._wire


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, wire.key) for name in UNSUPPORTED for wire in OPERATIONS[name].request_type._wire],
)
def test_no_field_makes_an_unsupported_operation_work(
    name: str, key: str, direct: Namespace
) -> None:
    row = OPERATIONS[name]
    wires = {wire.key: wire for wire in row.request_type._wire}
    given = {each: some_value(wire) for each, wire in wires.items() if wire.required}
    for request in (given, {**given, key: some_value(wires[key])}):
        with pytest.raises(UnsupportedError, match=r"is not supported( by \w+)?: \w+"):
            Stage(direct, direct).call(name, request)


# --- identity and context


@pytest.mark.parametrize("name", OPERATIONS)
def test_identity_and_context_are_sent_as_headers(name: str) -> None:
    """In process, the catalog's own credentials count; a server reads the caller's from headers."""
    row = OPERATIONS[name]
    given = {wire.key: some_value(wire) for wire in row.request_type._wire if wire.required}
    given |= {field: ["t"] if field == "id" else "x" for field in row.path_fields}
    given |= {p.field: ["x"] for p in row.query if p.required}
    identity = {"api_key": "the-key", "auth_token": "the-token"}
    more = {"identity": identity, "context": {"header.x-mine": "1", "note": "2"}}
    routes = RouteTable()
    with RestNamespace(RestConfig(uri="http://localhost")) as client:
        without = client._build(row, row.request_type.from_dict(given), None)
        having = client._build(row, row.request_type.from_dict(given | more), None)
    sent = {"x-api-key": "the-key", "authorization": "Bearer the-token", "x-mine": "1"}
    assert not sent.keys() & without.headers.keys()
    assert {key: having.headers[key] for key in sent} == sent
    found = routes.find(urlsplit(str(having.url)).path)
    assert found is not None
    endpoint = found.methods[having.method]
    body = b"" if row.body is Body.ARROW else having.read()
    query = having.url.query
    read = read_request(endpoint, found.segments, query, Headers(having.headers.raw), body)
    assert read.identity.to_dict() == identity
    assert read.context["header.x-mine"] == "1"
