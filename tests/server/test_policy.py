"""Authorization by the grants in a policy file, which also filters listings."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import stream_chunks
from lance_namespace_client.errors import (
    InvalidInputError,
    PermissionDeniedError,
    ServiceUnavailableError,
)
from lance_namespace_client.operations import OPERATIONS, Action, Body
from lance_namespace_impls import connect
from lance_namespace_impls.server import Caller, PolicyFile, ServerOptions, find_policy, serving
from lance_namespace_impls.server.security import watched_file
from lance_namespace_impls.server.security.authorization import Guard
from tests.servers.http_client import http_client

GRANTS = """
[[grant]]
to = ["root"]
actions = ["read", "write", "manage"]
on = [["**"]]

[[grant]]
to = ["willy", "group:writers"]
actions = ["read", "write", "manage"]
on = [["prod", "**"], ["shared", "t1"]]

[[grant]]
to = ["rita"]
actions = ["read"]
on = [["prod", "*"], ["deep", "x", "y", "t"]]

[[grant]]
to = ["mover"]
actions = ["manage"]
on = [["**"]]

[[grant]]
to = ["mover"]
actions = ["read"]
on = [["shared", "**"]]
"""


class Names:
    """Reads a token as the caller's name, followed by group names after colons."""

    waits = False

    def find(self, credentials):
        if not credentials.tokens:
            return None
        name, *groups = credentials.tokens[0].split(":")
        return Caller(name, frozenset(groups))


@contextlib.contextmanager
def client_of(namespace, policy, **options):
    made = ServerOptions(callers=[Names()], policy=policy, lancedb_databases={"all": ()}, **options)
    with serving(namespace, made) as uri, http_client(uri, timeout=300) as client:
        yield client


def is_denied(answer):
    return answer.status_code == 403 and answer.json()["code"] == 15


def by(name, **more):
    return {"headers": {"x-api-key": name, **more}}


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    file = tmp_path_factory.mktemp("policy") / "policy.toml"
    file.write_text(GRANTS)
    return PolicyFile(file)


@contextlib.contextmanager
def serving_objects(policy):
    with connect("memory") as namespace:
        for names in (["prod"], ["prod", "in"], ["shared"], ["other"], ["deep"], ["deep", "x"]):
            namespace.create_namespace({"id": names})
        namespace.create_namespace({"id": ["deep", "x", "y"]})
        for names in (["prod", "t"], ["shared", "t1"], ["shared", "t2"], ["other", "t"]):
            namespace.declare_table({"id": names})
        namespace.declare_table({"id": ["deep", "x", "y", "t"]})
        with client_of(namespace, policy) as client:
            yield namespace, client


@pytest.fixture(scope="module")
def served(policy):
    """Yield a namespace and a client of its server for tests that change nothing."""
    with serving_objects(policy) as found:
        yield found


@pytest.fixture
def changed(policy):
    """Yield a namespace and a client of its server for a test that changes objects."""
    with serving_objects(policy) as found:
        yield found


def decides(tmp_path, *patterns):
    file = tmp_path / "one.toml"
    file.write_text(f'[[grant]]\nto = ["a"]\nactions = ["read"]\non = {list(map(list, patterns))}')
    return PolicyFile(file)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (["prod", "**"], ["prod", "prod/t", "prod/a/b"], ["", "Prod", "prods/t"]),
        (["prod", "*"], ["prod/t", "prod/*"], ["prod", "prod/a/b"]),
        (["**", "t"], ["t", "a/t", "a/b/t"], ["", "t/a"]),
        (["a", "**", "t"], ["a/t", "a/t/t", "a/x/y/t"], ["a", "t", "a/t/x"]),
        (["s", "t*"], ["s/t*"], ["s/t1", "s/t"]),
        ([], [""], ["a"]),
        (["**"], ["", "a", "a/**"], []),
    ],
)
def test_patterns(tmp_path, pattern, yes, no):
    policy = decides(tmp_path, pattern)
    for texts, wanted in ((yes, True), (no, False)):
        for text in texts:
            found = policy.allows(Caller("a"), Action.READ, tuple(text.split("/")) if text else ())
            assert found is wanted, text
    assert not policy.allows(Caller("b"), Action.READ, ("prod", "t"))
    assert not policy.allows(None, Action.READ, ("prod", "t"))


def test_a_callers_name_is_not_a_group(policy):
    assert policy.allows(Caller("x", frozenset({"writers"})), Action.WRITE, ("shared", "t1"))
    assert not policy.allows(Caller("group:writers"), Action.READ, ("shared", "t1"))
    assert not policy.allows(Caller("writers"), Action.READ, ("shared", "t1"))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[[grants]]", "unknown key 'grants'"),
        ("grant = 1", "write [[grant]], in double brackets"),
        ("[[grant]]\nto = []\nactions = ['read']\non = [['a']]", "grant 1: to must be a list"),
        ("[[grant]]\nto = 'a'\nactions = ['read']\non = [['a']]", "grant 1: to must be a list"),
        ("[[grant]]\nto = ['a']\nactions = ['admin']\non = [['a']]", "unknown action 'admin'"),
        (
            "[[grant]]\nto = ['a']\nactions = ['read']\non = ['a']",
            "'on' must be a list of patterns",
        ),
        (
            "[[grant]]\nto = ['a']\nactions = ['read']\non = [['a', '']]",
            "a pattern must contain only non-empty strings",
        ),
        (
            "[[grant]]\nto = ['a']\nactions = ['read']\non = [['a']]\nnot = 1",
            "has an unknown key 'not'",
        ),
        ("[[grant]]\nto = ['a']\nactions = ['read']", "'on' must be a list of patterns"),
        ("[[grant]]\nto = ['a']\nactions = ['read']\non = []", "'on' must be a list of patterns"),
        ("[[grant]]\nto = ['a']\nactions = []\non = [['a']]", "grant 1: actions must be a list"),
        (
            "[[grant]]\nto = [1]\nactions = ['read']\non = [['a']]",
            "grant 1: to must contain only non-empty strings",
        ),
        ("grant = [1]", "write [[grant]], in double brackets"),
        ("[[grant]]\nto = ['']", "grant 1: to must contain only non-empty strings"),
        ("[[grant", "Expected"),
    ],
)
def test_an_invalid_policy_file_is_rejected(tmp_path, text, wrong):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match="the policy") as caught:
        PolicyFile(file)
    assert wrong in str(caught.value)


def test_a_changed_policy_file_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(watched_file, "POLL_SECONDS", 0.0)
    policy = decides(tmp_path, ["a"])
    assert policy.allows(Caller("a"), Action.READ, ("a",))
    decides(tmp_path, ["a", "much", "longer"])
    assert not policy.allows(Caller("a"), Action.READ, ("a",))
    (tmp_path / "one.toml").write_text("broken")
    assert policy.allows(Caller("a"), Action.READ, ("a", "much", "longer"))


# Fields that some operations require.
NEEDED = {"k": 1, "vector": {}, "query": {"k": 1, "vector": {}}, "tag": "t", "version": 1}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_denied_on_every_route(served, name):
    """Callers without a grant are denied, whether or not the object exists."""
    _, client = served
    operation = OPERATIONS[name]
    rows = b"".join(stream_chunks(pa.table({"a": [1]}).to_reader()))
    seen = set()
    for text in ("other$t", "other$absent"):
        fields = dict.fromkeys(operation.path_fields, "t") | {"id": text}
        path, by_name = operation.path.format_map(fields), f"/{name}"
        body = {"json": {"id": text.split("$"), **NEEDED}}
        if operation.body is Body.ARROW:
            body, by_name = {"content": rows}, f"/{name}?id={text}"
        on_route = {} if operation.http_method == "GET" else body
        for who, dialect in itertools.product(
            ("nobody", "rita"), ({}, {"x-lancedb-database": "all"})
        ):
            if who == "rita" and not operation.path_fields:
                continue
            caller = by(who, **dialect)
            got = client.request(operation.http_method, path, **on_route, **caller)
            assert is_denied(got), (who, dialect, got.text)
            if not dialect:
                seen.add((who, got.json()["error"]))
            got = client.post(by_name, **body, **caller)
            assert is_denied(got), (who, dialect, got.text)
    assert len(seen) <= 2, seen


def test_the_existence_of_a_database_is_not_disclosed(served):
    _, client = served
    texts = [
        client.post("/v1/table/t/describe", **by("rita", **{"x-lancedb-database": name}))
        for name in ("other", "absent")
    ]
    assert all(map(is_denied, texts))
    assert texts[0].text == texts[1].text
    seen = client.get("/v1/table", **by("rita", **{"x-lancedb-database": "prod"}))
    assert seen.json()["tables"] == ["t"]


def test_listings_contain_only_readable_objects(served):
    _, client = served

    def listed(path, who):
        data = client.get(path, **by(who)).json()
        return data.get("namespaces", data.get("tables", data.get("code")))

    assert listed("/v1/namespace/$/list", "rita") == ["deep", "prod"]
    assert listed("/v1/namespace/deep/list", "rita") == ["x"]
    assert listed("/v1/namespace/deep$x$y/table/list", "rita") == ["t"]
    assert listed("/v1/table", "rita") == ["deep$x$y$t", "prod$t"]
    assert listed("/v1/table?delimiter=.", "rita") == ["deep.x.y.t", "prod.t"]
    assert listed("/v1/namespace/shared/table/list", "willy") == ["t1"]
    assert listed("/v1/namespace/shared/table/list", "rita") == 15
    assert len(listed("/v1/table", "root")) == 5
    assert client.post("/v1/namespace/deep/exists", json={}, **by("rita")).status_code == 200
    assert is_denied(client.post("/v1/namespace/deep/describe", json={}, **by("rita")))


def test_pages_do_not_disclose_hidden_objects(changed):
    namespace, client = changed
    for number in range(20):
        namespace.declare_table({"id": ["shared", f"s{number:02}"]})
    page = client.get("/v1/table?limit=1", **by("willy")).json()
    assert page["tables"] == ["prod$t"]
    rest = client.get(f"/v1/table?limit=1&page_token={page['page_token']}", **by("willy")).json()
    assert rest["tables"] == ["shared$t1"]
    assert "page_token" not in rest
    rest = client.get("/v1/table?page_token=prod$t", **by("willy")).json()
    assert rest["tables"] == ["shared$t1"]


@pytest.mark.parametrize(
    ("path", "key", "names"),
    [
        ("/v1/namespace/$/list", "namespaces", ["deep", "prod"]),
        ("/v1/namespace/prod/table/list", "tables", ["s", "t", "u"]),
        ("/v1/table", "tables", ["deep$x$y$t", "prod$s", "prod$t", "prod$u"]),
    ],
)
def test_a_filtered_listing_is_paged(changed, path, key, names):
    namespace, client = changed
    for name in "us":
        namespace.declare_table({"id": ["prod", name]})
    found, more = [], {}
    while more is not None:
        page = client.get(path, params={"limit": 1, **more}, **by("rita")).json()
        assert len(page[key]) == 1
        found += page[key]
        more = {"page_token": page["page_token"]} if "page_token" in page else None
    assert found == names


def test_a_missing_object_with_a_grant_is_reported(served):
    _, client = served
    answer = client.get("/v1/namespace/prod$gone/table/list", **by("rita"))
    missing = client.get("/v1/namespace/prod$gone/table/list", **by("root")).json()
    assert answer.status_code == 404 and answer.json() == missing


def test_declared_tables_can_be_excluded_from_a_filtered_listing(served):
    _, client = served
    for query, tables in (("", ["t"]), ("?include_declared=false", [])):
        listed = client.get(f"/v1/namespace/prod/table/list{query}", **by("rita"))
        assert listed.json()["tables"] == tables


def test_a_failed_listing_names_no_hidden_objects(served, monkeypatch):
    namespace, client = served

    def fail(request):
        raise ServiceUnavailableError("table other$t cannot be read")

    monkeypatch.setattr(namespace, "list_all_tables", fail)
    answer = client.get("/v1/table", **by("rita"))
    assert answer.status_code == 503
    assert "other" not in answer.text


def test_a_rename_needs_grants_on_both_names_and_adds_no_rights(changed):
    _, client = changed

    def rename(who, source, target):
        body = {"new_table_name": target[-1], "new_namespace_id": target[:-1]}
        return client.post(f"/v1/table/{'%24'.join(source)}/rename", json=body, **by(who))

    assert is_denied(rename("willy", ["prod", "t"], ["other", "new"]))
    assert is_denied(rename("willy", ["other", "t"], ["prod", "new"]))
    assert is_denied(rename("mover", ["other", "t"], ["shared", "new"]))
    assert rename("mover", ["other", "t"], ["other", "new"]).status_code == 200
    assert rename("willy", ["prod", "t"], ["prod", "in", "new"]).status_code == 200


def test_a_rename_to_the_root_can_stay_in_the_namespace(tmp_path):
    """If the root cannot contain tables, an empty list means the table's current namespace."""
    file = tmp_path / "policy.toml"
    file.write_text(
        "[[grant]]\nto = ['ann']\nactions = ['manage']\non = [['*'], ['n', 't'], ['n', 'mine']]"
    )
    rename = OPERATIONS["RenameTable"]
    with connect("rest", {"uri": "http://127.0.0.1:9"}) as namespace:
        guard = Guard(PolicyFile(file), namespace)

        def check(new):
            request = {"id": ["n", "t"], "new_namespace_id": [], "new_table_name": new}
            guard.check(rename, rename.request_type.from_dict(request), Caller("ann"))

        check("mine")
        with pytest.raises(PermissionDeniedError):
            check("others")
        with pytest.raises(PermissionDeniedError):
            check("n")  # allowed in the root, but not in the table's current namespace


def test_a_rename_without_a_namespace_stays_in_it(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text("[[grant]]\nto = ['ann']\nactions = ['manage']\non = [['n', '*'], ['m', 'x']]")
    rename = OPERATIONS["RenameTable"]
    with connect("rest", {"uri": "http://127.0.0.1:9"}) as namespace:
        guard = Guard(PolicyFile(file), namespace)
        for changed, is_allowed in (
            ({}, True),
            ({"new_namespace_id": ["n"]}, True),
            ({"new_namespace_id": ["m"]}, False),
            ({"new_namespace_id": ["m"], "new_table_name": "x"}, True),
        ):
            given = {"id": ["n", "t"], "new_table_name": "u", **changed}
            request = rename.request_type.from_dict(given)
            refused = pytest.raises(PermissionDeniedError)
            with contextlib.nullcontext() if is_allowed else refused:
                guard.check(rename, request, Caller("ann"))


def test_a_rename_needs_a_grant_on_the_new_name(tmp_path):
    file = tmp_path / "exact.toml"
    actions = "actions = ['read', 'write', 'manage']"
    file.write_text(f"[[grant]]\nto = ['ana']\n{actions}\non = [['n', 't'], ['n', 'u']]\n")
    with connect("memory") as namespace:
        namespace.create_namespace({"id": ["n"]})
        namespace.declare_table({"id": ["n", "t"]})
        with client_of(namespace, PolicyFile(file)) as client:
            for name, status in (("v", 403), ("u", 200)):
                body = {"new_table_name": name}
                assert (
                    client.post("/v1/table/n%24t/rename", json=body, **by("ana")).status_code
                    == status
                )
            assert list(namespace.iter_tables(["n"])) == ["u"]


def test_an_invalid_page_token_is_code_13(served):
    _, client = served
    page = client.get("/v1/table?limit=1", **by("willy")).json()
    token = page["page_token"] + "=" * (-len(page["page_token"]) % 4)
    fingerprint, _ = json.loads(base64.urlsafe_b64decode(token))
    made_up = base64.urlsafe_b64encode(json.dumps([fingerprint, [1, 2]]).encode()).decode()
    answer = client.get("/v1/table", params={"page_token": made_up}, **by("willy"))
    assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_a_batch_needs_every_object(served):
    namespace, client = served
    good, bad = {"id": ["prod", "new"]}, {"id": ["other", "new"]}
    body = {"operations": [{"declare_table": good}, {"declare_table": bad}]}
    assert is_denied(client.post("/v1/table/batch-commit", json=body, **by("willy")))
    entries = [{**each, "version": 2, "manifest_path": "x"} for each in (good, bad)]
    path = "/v1/table/version/batch-create"
    assert is_denied(client.post(path, json={"entries": entries}, **by("willy")))
    assert namespace.list_tables({"id": ["prod"]}).tables == ["t"]


def test_a_location_of_another_table_is_denied(changed):
    namespace, client = changed
    secret = namespace.describe_table({"id": ["other", "t"]}).location
    for what in ("register", "declare"):
        answer = client.post(f"/v1/table/prod%24x/{what}", json={"location": secret}, **by("willy"))
        assert is_denied(answer), what
    assert client.post("/v1/table/prod%24x/declare", json={}, **by("willy")).status_code == 200


def test_a_cascade_needs_grants_on_all_descendants(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text('[[grant]]\nto = ["a"]\nactions = ["manage"]\non = [["n"], ["m", "**"]]')
    with connect("memory") as namespace, client_of(namespace, PolicyFile(file)) as client:
        for name in "nm":
            namespace.create_namespace({"id": [name]})
            namespace.declare_table({"id": [name, "t"]})
        sent = {"json": {"behavior": "CASCADE"}, **by("a")}
        assert is_denied(client.post("/v1/namespace/n/drop", **sent))
        assert client.post("/v1/namespace/m/drop", **sent).status_code == 200
        assert namespace.list_all_tables({}).tables == ["n$t"]


class Mondays:
    """A policy that allows all callers to read the object ``monday``."""

    def allows(self, caller, action, identifier):
        return action is Action.READ and identifier == ("monday",)

    def allows_some(self, caller, action, identifier):
        return action is Action.READ and identifier in ((), ("monday",))

    def allows_all(self, caller, action, identifier):
        return False


def test_a_policy_class(changed):
    namespace, _ = changed
    namespace.declare_table({"id": ["monday"]})
    namespace.declare_table({"id": ["tuesday"]})
    with client_of(namespace, find_policy(f"{__name__}:Mondays")) as client:
        assert client.get("/v1/table", **by("x")).json()["tables"] == ["monday"]
        assert is_denied(client.post("/v1/table/tuesday/exists", **by("x")))
    for wrong in (
        f"{__name__}:Absent",
        "no.such.module:X",
        f"{__name__}:Names",
        "absent.toml",
        "module:",
        ":Class",
    ):
        with pytest.raises(InvalidInputError, match=re.escape(wrong)):
            find_policy(wrong)


def test_read_only_restricts_a_policy(served, policy):
    namespace, _ = served
    with client_of(namespace, policy, read_only=True) as client:
        assert client.post("/v1/table/prod%24t/exists", **by("willy")).status_code == 200
        assert is_denied(client.post("/v1/table/prod%24t/drop", **by("willy")))
        assert is_denied(client.post("/v1/table/other%24t/exists", **by("willy")))


def test_a_changed_file_with_the_same_time_is_read_again(tmp_path, monkeypatch):
    """Some tools copy a file with its modification time, or set the same time on all files."""
    monkeypatch.setattr(watched_file, "POLL_SECONDS", 0.0)
    file = tmp_path / "policy.toml"
    grant = "[[grant]]\nto = ['ann']\nactions = ['read']\non = [['%s']]"
    file.write_text(grant % "a")
    os.utime(file, (0, 0))
    policy = PolicyFile(file)
    assert policy.allows(Caller("ann"), Action.READ, ("a",))
    file.write_text(grant % "b")
    os.utime(file, (0, 0))
    assert not policy.allows(Caller("ann"), Action.READ, ("a",))
