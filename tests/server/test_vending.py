"""Vended credentials give access to one table only, in a store that applies session policies."""

from __future__ import annotations

import fnmatch
import json
import time
from pathlib import PurePosixPath
from urllib.parse import parse_qs, unquote

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    AssumeRole,
    PolicyFile,
    ServerOptions,
    TokenFile,
    new_token,
    serving,
)
from tests.servers.s3 import GuardedS3

ROLE = "arn:aws:iam::123456789012:role/tables"
OPERATOR = "operator-key"
ACTIONS = {"GET": "s3:GetObject", "HEAD": "s3:GetObject", "PUT": "s3:PutObject"}


def matches(pattern, text):
    """Match as IAM does: ``*`` and ``?`` are wildcards, ``${*}`` and ``${?}`` are literals."""
    escaped, at = "", 0
    while at < len(pattern):
        if pattern.startswith("${", at):
            char = pattern[at + 2]
            escaped += f"[{char}]"
            at += 4
        else:
            escaped += "[[]" if pattern[at] == "[" else pattern[at]
            at += 1
    return fnmatch.fnmatchcase(text, escaped)


def session_policy_of(access_key):
    """Return the session policy of a temporary access key, or None for other keys."""
    from moto.sts.models import sts_backends

    for backends in sts_backends.values():
        for backend in backends.values():
            role = backend.get_assumed_role_from_access_key(access_key)
            if role is not None:
                return json.loads(role.policy)
    return None


def allowed(policy, asked):
    """Return whether a session policy allows a request to S3, by the rules of AWS."""
    bucket, _, key = unquote(asked.path).lstrip("/").partition("/")
    query = parse_qs(asked.query, keep_blank_values=True)
    if not key:
        action, resource = "s3:ListBucket", f"arn:aws:s3:::{bucket}"
    else:
        action = ACTIONS.get(asked.method, "s3:PutObject" if asked.method == "POST" else "")
        action = action or "s3:DeleteObject"
        resource = f"arn:aws:s3:::{bucket}/{key}"
    if "delete" in query and not key:
        return False
    for statement in policy["Statement"]:
        actions = statement["Action"]
        actions = [actions] if isinstance(actions, str) else actions
        if action not in actions or not matches(statement["Resource"], resource):
            continue
        prefixes = statement.get("Condition", {}).get("StringLike", {}).get("s3:prefix")
        given = query.get("prefix", [""])[0]
        if prefixes is None or any(matches(prefix, given) for prefix in prefixes):
            return True
    return False


@pytest.fixture(scope="module")
def store():
    """Yield a store that restricts temporary keys to the permissions of their session policy."""

    def refuses(asked):
        if asked.access_key is None:
            return True
        policy = session_policy_of(asked.access_key)
        return policy is not None and not allowed(policy, asked)

    with GuardedS3() as found:
        found.refuses = refuses
        yield found


GRANTS = """
[[grant]]
to = ["reader"]
actions = ["read"]
on = [["mine"], ["a*b"]]

[[grant]]
to = ["writer"]
actions = ["read", "write", "manage"]
on = [["**"]]

[[grant]]
to = ["manager"]
actions = ["manage"]
on = [["**"]]
"""


@pytest.fixture(scope="module")
def served(store, tmp_path_factory):
    root = f"s3://{store.bucket}/tables"
    properties = {
        "path": root,
        **{f"storage.{k}": v for k, v in store.options(OPERATOR).items()},
    }
    made = {name: new_token(name) for name in ("reader", "writer", "manager")}
    files = tmp_path_factory.mktemp("files")
    tokens, grants = files / "tokens.toml", files / "grants.toml"
    tokens.write_text("\n".join(each.entry for each in made.values()))
    grants.write_text(GRANTS)
    options = ServerOptions(
        callers=[TokenFile(tokens)],
        policy=PolicyFile(grants),
        vend_role=AssumeRole(ROLE, endpoint=store.uri),
    )
    with connect("dir", properties) as namespace:
        for name in ("mine", "mine2", "a*b", "axb", "written"):
            namespace.create_table({"id": [name]}, pa.table({"a": [1, 2]}))
        with serving(namespace, options) as uri:

            def client(name):
                return connect("rest", {"uri": uri, "auth_token": made[name].token})

            yield client, store, root


def described(client, who, table):
    with client(who) as namespace:
        answer = namespace.describe_table({"id": [table]})
        return answer.location, answer.storage_options


def test_a_reader_reads_its_table_and_nothing_else(served):
    client, store, root = served
    location, options = described(client, "reader", "mine")
    assert options["aws_access_key_id"] != OPERATOR
    assert options["aws_session_token"]
    store.asked.clear()
    assert lance.dataset(location, storage_options=options).to_table()["a"].to_pylist() == [1, 2]
    used = {asked.access_key for asked in store.asked}
    assert options["aws_access_key_id"] in used
    for neighbour in ("mine2", "axb"):
        with pytest.raises(Exception, match=r"(?i)denied|forbidden|403|not found"):
            lance.dataset(f"{root}/{neighbour}.lance", storage_options=options)
    before = store.objects()
    with pytest.raises(Exception, match=r"(?i)denied|forbidden|403"):
        lance.write_dataset(pa.table({"a": [3]}), location, mode="append", storage_options=options)
    assert store.objects() == before


def test_a_writer_writes_only_its_table(served):
    client, store, root = served
    location, options = described(client, "writer", "written")
    lance.write_dataset(pa.table({"a": [3]}), location, mode="append", storage_options=options)
    assert lance.dataset(location, storage_options=options).count_rows() == 3
    before = store.objects()
    with pytest.raises(Exception, match=r"(?i)denied|forbidden|403"):
        lance.write_dataset(
            pa.table({"a": [3]}), f"{root}/mine2.lance", mode="append", storage_options=options
        )
    assert store.objects() == before


def test_a_wildcard_in_a_name_is_literal(served):
    client, _, root = served
    location, options = described(client, "reader", "a*b")
    assert lance.dataset(location, storage_options=options).count_rows() == 2
    with pytest.raises(Exception, match=r"(?i)denied|forbidden|403|not found"):
        lance.dataset(f"{root}/axb.lance", storage_options=options)


def test_credentials_are_valid_for_an_hour_and_one_caller(served):
    client, _, _ = served
    _, first = described(client, "reader", "mine")
    left = int(first["expires_at_millis"]) / 1000 - time.time()
    assert 3000 < left <= 3605
    assert described(client, "reader", "mine")[1] == first
    assert described(client, "writer", "mine")[1]["aws_access_key_id"] != first["aws_access_key_id"]


def test_credentials_are_vended_only_on_request_and_with_read_access(served):
    client, _, _ = served
    with client("writer") as namespace:
        answer = namespace.describe_table({"id": ["mine"], "vend_credentials": False})
        assert not {k for k in answer.storage_options if "key" in k or "token" in k}
    with client("manager") as namespace:
        answer = namespace.declare_table({"id": ["fresh"]})
        assert not {k for k in answer.storage_options or () if "key" in k or "token" in k}
    with client("writer") as namespace:
        answer = namespace.declare_table({"id": ["fresh2"]})
        assert answer.storage_options["aws_session_token"]
        location = f"{PurePosixPath(answer.location).name}"
        lance.write_dataset(
            pa.table({"a": [1]}), answer.location, storage_options=answer.storage_options
        )
        assert namespace.count_table_rows({"id": ["fresh2"]}).count == 1
        assert location.startswith("fresh2")


def test_an_unavailable_token_service_is_code_17(store):
    properties = {
        "path": f"s3://{store.bucket}/other",
        **{f"storage.{k}": v for k, v in store.options(OPERATOR).items()},
    }
    with connect("dir", properties) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1]}))
        away = ServerOptions(vend_role=AssumeRole(ROLE, endpoint="http://127.0.0.1:9"))
        with (
            serving(namespace, away) as uri,
            connect("rest", {"uri": uri, "max_retries": "0"}) as c,
        ):
            with pytest.raises(Exception) as found:
                c.describe_table({"id": ["t"]})
            assert found.value.code == 17
            assert c.table_exists({"id": ["t"]}) is not None


def test_an_invalid_role_is_rejected():
    with pytest.raises(InvalidInputError, match="not the ARN"):
        AssumeRole("tables")


def test_the_policy_allows_one_prefix():
    policy = json.loads(AssumeRole("arn:aws-cn:iam::1:role/r").policy("b", "x/${y}?*", "read"))
    below = "x/${$}{y}${?}${*}"
    assert policy["Statement"][0]["Resource"] == f"arn:aws-cn:s3:::b/{below}/*"
    assert policy["Statement"][0]["Action"] == ["s3:GetObject"]
    assert policy["Statement"][1]["Condition"] == {"StringLike": {"s3:prefix": [f"{below}/*"]}}
