"""The client and the command line with servers that implement less of the protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    UnsupportedError,
)
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.rest import RestNamespace
from tests.servers.scripted import Answer, Script

from .conftest import OpenClient

ROWS = pa.table({"x": [1]})
UNKNOWN_MODE = Answer(400, {"error": "Unknown create mode: ExistOk", "code": 13})
MADE = Answer(200, {"properties": {}})


@pytest.fixture
def namespace(server: Script, open_client: OpenClient) -> Any:
    return open_client(server.uri)


def modes(server: Script) -> list[str]:
    """Return the modes of the received requests, from the query or the body."""
    found = []
    for asked in server.asked:
        query = dict(part.split("=") for part in asked.line.split()[1].partition("?")[2].split("&"))
        found.append(query.get("mode") or json.loads(asked.body)["mode"])
    return found


def test_a_mode_is_sent_again_once_in_snake_case(server: Script, namespace: Any) -> None:
    server.play(UNKNOWN_MODE, MADE, MADE, MADE)
    request = {"id": ["n"], "mode": "ExistOk"}
    namespace.create_namespace(request)
    namespace.create_namespace(request)
    namespace.create_table({"id": ["t"], "mode": "ExistOk"}, ROWS)
    assert modes(server) == ["ExistOk", "exist_ok", "exist_ok", "exist_ok"]


PAGE = Answer(200, {"namespaces": ["a"], "tables": ["a"], "page_token": "x"})
END = Answer(200, {"namespaces": [], "tables": []})


@pytest.mark.parametrize("kind", ["namespaces", "tables"])
def test_a_listing_that_repeats_its_page_token_is_an_error(
    server: Script, namespace: Any, kind: str
) -> None:
    server.play(*[PAGE] * 2, END)
    with pytest.raises(InternalError, match=f"List{kind.title()}: .* 'x' twice"):
        list(getattr(namespace, f"iter_{kind}")())


@pytest.mark.parametrize("more", [{}, {"mode": "Create"}, {"mode": "Overwrite"}])
def test_an_error_that_no_other_spelling_fixes_is_raised_immediately(
    server: Script, namespace: Any, more: dict[str, str]
) -> None:
    request = {"id": ["n"], **more}
    server.play(UNKNOWN_MODE, MADE)
    with pytest.raises(InvalidInputError, match="Unknown create mode"):
        namespace.create_namespace(request)
    assert len(server.asked) == 1


def test_capabilities_are_left_to_the_server() -> None:
    found = RestNamespace.capabilities
    assert (found.namespace_depth, found.cascade, found.rename_across) == (None, True, True)
    assert all(found.holds_tables(depth) for depth in range(5))


def test_rows_are_sent_again_if_possible(server: Script, namespace: Any) -> None:
    server.play(UNKNOWN_MODE, MADE)
    namespace.create_table({"id": ["t"], "mode": "ExistOk"}, ROWS)
    assert modes(server) == ["ExistOk", "exist_ok"]
    sent = server.asked[1].body
    assert pa.ipc.open_stream(sent).read_all() == ROWS


def test_consumed_rows_are_not_sent_again(server: Script, namespace: Any) -> None:
    server.play(UNKNOWN_MODE)
    with pytest.raises(InvalidInputError, match="Unknown create mode"):
        namespace.create_table({"id": ["t"], "mode": "ExistOk"}, ROWS.to_reader())
    assert modes(server) == ["ExistOk"]


def test_another_error_is_raised_and_no_spelling_is_remembered(
    server: Script, namespace: Any
) -> None:
    bad = Answer(400, {"error": "the name is bad", "code": 13})
    server.play(bad, Answer(400, {"error": "again", "code": 13}), MADE)
    request = {"id": ["n"], "mode": "ExistOk"}
    with pytest.raises(InvalidInputError, match="the name is bad"):
        namespace.create_namespace(request)
    namespace.create_namespace(request)
    assert modes(server) == ["ExistOk", "exist_ok", "ExistOk"]


@pytest.mark.parametrize("mode", ["Create", "overwrite", "EXIST_OK", "exist_ok"])
def test_a_mode_with_one_spelling_is_sent_once(server: Script, namespace: Any, mode: str) -> None:
    server.play(UNKNOWN_MODE)
    with pytest.raises(InvalidInputError):
        namespace.create_namespace({"id": ["n"], "mode": mode})
    assert modes(server) == [mode]


@pytest.mark.parametrize(
    ("status", "code", "third"),
    [(404, 1, "exist_ok"), (409, 2, "exist_ok"), (403, 15, "ExistOk"), (500, 18, "ExistOk")],
)
def test_whether_another_failure_shows_that_the_mode_was_accepted(
    server: Script, namespace: Any, status: int, code: int, third: str
) -> None:
    server.play(UNKNOWN_MODE, Answer(status, {"error": "no parent", "code": code}), MADE)
    request = {"id": ["n"], "mode": "ExistOk"}
    with pytest.raises(LanceNamespaceError) as failed:
        namespace.create_namespace(request)
    assert failed.value.code == code
    namespace.create_namespace(request)
    assert modes(server) == ["ExistOk", "exist_ok", third]


@pytest.mark.parametrize(
    "call",
    [
        lambda ns: ns.describe_table({"id": ["t"]}),
        lambda ns: ns.count_table_rows({"id": ["t"]}),
        lambda ns: ns.namespace_exists({"id": ["n"]}),
        lambda ns: ns.insert_into_table({"id": ["t"]}, ROWS),
        lambda ns: ns.query_table({"id": ["t"], "k": 1, "vector": {"single_vector": [1.0]}}),
    ],
    ids=["describe", "count", "exists", "insert", "query"],
)
@pytest.mark.parametrize("body", [b"<html>Not Found</html>", b"", b'{"message": "no"}'])
def test_a_missing_route_is_not_a_missing_object(
    server: Script, namespace: Any, call: Callable[[Any], Any], body: bytes
) -> None:
    server.play(Answer(404, body))
    with pytest.raises(UnsupportedError, match="does not have this operation"):
        call(namespace)


# --- the command line


def run(server: Script, *arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments, "--impl", "rest", "-p", f"uri={server.uri}"])


NO_TABLES_HERE = [
    Answer(400, {"error": "Expected 2-level namespace but got: 0", "code": 13}),
    Answer(404, b"<html>"),
]


@pytest.mark.parametrize("refusal", NO_TABLES_HERE, ids=["13", "0"])
@pytest.mark.parametrize("level", [(), ("n",)], ids=["root", "below"])
def test_ls_if_the_server_cannot_list_tables(
    server: Script, refusal: Answer, level: tuple[str, ...]
) -> None:
    namespaces = Answer(200, {"namespaces": ["a", "b"]})
    server.play(namespaces, refusal, namespaces, refusal)
    with pytest.warns(UserWarning, match="tables cannot be listed here: "):
        shown = run(server, "ls", *level)
    assert (shown.exit_code, shown.stdout.split()) == (0, ["namespace", "a", "namespace", "b"])
    with pytest.warns(UserWarning, match="tables cannot be listed here: "):
        document = json.loads(run(server, "ls", *level, "--json").stdout)
    assert (document["namespaces"], document["tables"]) == (["a", "b"], None)


@pytest.mark.parametrize("refusal", NO_TABLES_HERE, ids=["13", "0"])
def test_ls_of_only_tables_fails(server: Script, refusal: Answer) -> None:
    server.play(refusal)
    assert run(server, "ls", "--tables").exit_code != 0


def test_ls_of_a_missing_namespace_fails(server: Script) -> None:
    gone = Answer(404, {"error": "no such namespace", "code": 1})
    server.play(gone, gone)
    assert run(server, "ls", "n").exit_code != 0
