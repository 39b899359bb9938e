"""Repeated reads return the current state, and every check applies to each of them."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    PolicyFile,
    ServerOptions,
    TokenFile,
    new_token,
    serving,
)
from lance_namespace_impls.server.security import watched_file
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("exact_clock")
DESCRIBE, COUNT, EXISTS, QUERY = (
    f"/v1/table/t/{name}" for name in ("describe", "count_rows", "exists", "query")
)
ROWS = b'{"k": 9, "vector": {}, "filter": "id in (1, 2, 4) and (id < 9)"}'


@pytest.fixture
def namespace(tmp_path):
    with connect("dir", {"path": str(tmp_path / "root")}) as made:
        made.create_table({"id": ["t"]}, pa.table({"id": [1, 2, 3]}))
        yield made


class Client:
    """A client with one connection."""

    def __init__(self, uri):
        self.connection = http.client.HTTPConnection(urlsplit(uri).netloc, timeout=300)

    def post(self, path, body=b"{}", **headers):
        given = {"content-type": "application/json", **headers}
        self.connection.request("POST", path, body, given)
        answer = self.connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


@contextlib.contextmanager
def served(namespace, **options):
    with serving(namespace, ServerOptions(**options)) as uri:
        client = Client(uri)
        yield client
        client.connection.close()


CHANGES = {
    "insert": lambda n, root: n.insert_into_table({"id": ["t"]}, pa.table({"id": [4]})),
    "drop": lambda n, root: n.drop_table({"id": ["t"]}),
    "deregister": lambda n, root: n.deregister_table({"id": ["t"]}),
    "register": lambda n, root: n.register_table({"id": ["t"], "location": f"{root}/t.lance"}),
    "create": lambda n, root: n.create_table(
        {"id": ["t"], "mode": "overwrite"}, pa.table({"id": [1, 2]})
    ),
    "rename": lambda n, root: n.rename_table({"id": ["t"], "new_table_name": "other"}),
    "rename back": lambda n, root: n.rename_table({"id": ["other"], "new_table_name": "t"}),
    "properties": lambda n, root: n.alter_table(
        {"id": ["t"], "set_properties": {"n": str(random.random())}}
    ),
    "a property in its place": lambda n, root: (root / "t.lance/.lance-properties").write_text(
        json.dumps({"n": str(random.random())})
    ),
    "a second folder": lambda n, root: (root / "t").mkdir(),
    "no second folder": lambda n, root: (root / "t").rmdir(),
    "declared": lambda n, root: n.declare_table({"id": ["t"]}),
}


def ids(reader):
    return sorted(reader.read_all()["id"].to_pylist())


def test_every_response_is_current(namespace, tmp_path):
    """Any change, by another process or by hand, is visible in the next response."""
    random.seed(7)
    root = tmp_path / "root"
    rounds, again = examples(300), 0
    with served(namespace) as client, connect("dir", {"path": str(root)}) as other:
        for number in range(rounds):
            # A namespace without any open dataset.
            fresh = connect("dir", {"path": str(root)})
            for turn in range(3):
                new = b'{"k": 9, "vector": {}, "filter": "id < %d"}' % (1000 + 3 * number + turn)
                for path, method, body in (
                    (DESCRIBE, fresh.describe_table, b"{}"),
                    (DESCRIBE, fresh.describe_table, b'{"load_detailed_metadata": true}'),
                    (DESCRIBE, fresh.describe_table, b'{"check_declared": true}'),
                    (COUNT, fresh.count_table_rows, b"{}"),
                    (EXISTS, fresh.table_exists, b"{}"),
                    (QUERY, fresh.query_table, ROWS),
                    (QUERY, fresh.query_table, new),
                ):
                    try:
                        answer = method({"id": ["t"], **json.loads(body)})
                        wanted = ids(answer) if path == QUERY else answer.to_dict()
                    except LanceNamespaceError as error:
                        wanted = error.to_dict()["code"]
                    status, _, text = client.post(path, body)
                    if path == QUERY and status == 200:
                        found = ids(pa.ipc.open_file(text))
                    else:
                        found = json.loads(text or b"{}")
                    if status != 200:
                        found = found["code"]
                    elif path == COUNT:
                        found = {"count": found}
                    assert found == wanted, (path, body)
                    again += status == 200
            change = random.choice([*CHANGES.values()])
            with contextlib.suppress(LanceNamespaceError, OSError):
                change(other, root)
    assert again > 1.5 * rounds


def test_a_new_manifest_is_used(namespace, tmp_path):
    with served(namespace) as client:
        before = [client.post(DESCRIBE)[2] for _ in range(3)][-1]
        with connect("dir", {"path": str(tmp_path / "root")}) as other:
            other.migrate("manifest")
            other.drop_table({"id": ["t"]})
        assert client.post(DESCRIBE)[0] == 404, before


def test_a_caller_without_a_token_or_grant_is_rejected(namespace, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_file, "POLL_SECONDS", 0.0)
    ana, ben = new_token("ana"), new_token("ben")
    tokens, policy = tmp_path / "tokens.toml", tmp_path / "policy.toml"
    tokens.write_text(ana.entry + ben.entry)
    grant = '[[grant]]\nto = ["ana"]\nactions = ["read"]\non = [["%s"]]\n'
    policy.write_text(grant % "t")
    given = {"authorization": f"Bearer {ana.token}"}
    with served(namespace, callers=[TokenFile(tokens)], policy=PolicyFile(policy)) as client:
        assert [client.post(DESCRIBE, **given)[0] for _ in range(5)] == [200] * 5
        status, _, text = client.post(DESCRIBE)
        assert (status, json.loads(text)["code"]) == (401, 16)
        assert client.post(DESCRIBE, authorization=f"Bearer {ben.token}")[0] == 403
        policy.write_text(grant % "another")
        assert client.post(DESCRIBE, **given)[0] == 403
        policy.write_text(grant % "t")
        assert [client.post(DESCRIBE, **given)[0] for _ in range(3)] == [200] * 3
        tokens.write_text(ben.entry)
        assert client.post(DESCRIBE, **given)[0] == 401
        body = json.dumps({"identity": {"auth_token": ben.token}}).encode()
        assert client.post(DESCRIBE, body)[0] == 403


class Failing:
    """A policy that allows everything as long as `works` is true, and otherwise fails."""

    works = True

    def allows(self, caller, action, identifier):
        if not self.works:
            raise RuntimeError("the service of grants does not answer")
        return True

    allows_some = allows_all = allows


def test_a_failing_policy_is_an_error_and_not_cached(namespace):
    policy = Failing()
    with served(namespace, policy=policy) as client:
        first = [client.post(DESCRIBE)[0] for _ in range(3)]
        policy.works = False
        failed = [client.post(DESCRIBE)[0] for _ in range(2)]
        policy.works = True
        assert [*first, *failed, client.post(DESCRIBE)[0]] == [200, 200, 200, 500, 500, 200]
