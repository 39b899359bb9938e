"""Vended credentials give access to one table only, in MinIO, which evaluates their policies."""

from __future__ import annotations

from uuid import uuid4

import botocore.session
import lance
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    AssumeRole,
    PolicyFile,
    ServerOptions,
    TokenFile,
    new_token,
    serving,
)
from tests.servers.real import running

pytestmark = pytest.mark.real("minio")

# MinIO ignores the role: credentials belong to the calling user, limited by the session policy.
ROLE = "arn:aws:iam::123456789012:role/any"
GRANTS = """
[[grant]]
to = ["reader"]
actions = ["read"]
on = [["**"]]

[[grant]]
to = ["writer"]
actions = ["read", "write"]
on = [["**"]]
"""
DENIED = r"(?i)denied|forbidden|403"


@pytest.fixture(scope="module")
def store():
    """Create a bucket on a running server; yield the address, the bucket and a user's keys."""
    found = running("minio")
    bucket = f"vended-{uuid4().hex[:8]}"
    keys = {
        "aws_access_key_id": found.settings["access_key"],
        "aws_secret_access_key": found.settings["secret_key"],
    }
    client = botocore.session.get_session().create_client(
        "s3", endpoint_url=found.uri, region_name="us-east-1", **keys
    )
    client.create_bucket(Bucket=bucket)
    yield found.uri, bucket, keys
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for each in page.get("Contents", ()):
            client.delete_object(Bucket=bucket, Key=each["Key"])
    client.delete_bucket(Bucket=bucket)


@pytest.fixture(scope="module")
def described(store, tmp_path_factory):
    """Yield a function that describes a table as a caller, and the namespace.

    The function returns the location and the storage options.
    """
    uri, bucket, keys = store
    plain = {"aws_endpoint": uri, "allow_http": "true", "aws_region": "us-east-1"}
    properties = {f"storage.{key}": value for key, value in {**plain, **keys}.items()}
    made = {name: new_token(name) for name in ("reader", "writer")}
    tokens, grants = (tmp_path_factory.mktemp("files") / name for name in ("tokens", "grants"))
    tokens.write_text("\n".join(each.entry for each in made.values()))
    grants.write_text(GRANTS)
    options = ServerOptions(
        callers=[TokenFile(tokens)],
        policy=PolicyFile(grants),
        vend_role=AssumeRole(ROLE, endpoint=uri),
    )
    with connect("dir", {"path": f"s3://{bucket}/tables", **properties}) as namespace:
        for name in ("mine", "mine2", "axb"):
            namespace.create_table({"id": [name]}, pa.table({"a": [1, 2]}))
        with serving(namespace, options) as address:

            def ask(who, table):
                with connect("rest", {"uri": address, "auth_token": made[who].token}) as client:
                    answer = client.describe_table({"id": [table]})
                return answer.location, answer.storage_options

            yield ask, namespace


def listed(store, options, prefix):
    given = {key: options[key] for key in options if key.startswith("aws_") and "key" in key}
    client = botocore.session.get_session().create_client(
        "s3",
        endpoint_url=store[0],
        region_name="us-east-1",
        aws_session_token=options["aws_session_token"],
        **given,
    )
    return client.list_objects_v2(Bucket=store[1], Prefix=prefix).get("Contents", ())


def test_a_reader_reads_its_table_and_nothing_else(described, store):
    ask, namespace = described
    location, options = ask("reader", "mine")
    assert options["aws_access_key_id"] != store[2]["aws_access_key_id"]
    assert lance.dataset(location, storage_options=options).to_table()["a"].to_pylist() == [1, 2]
    assert listed(store, options, "tables/mine.lance/")
    for neighbour in ("mine2", "axb"):
        with pytest.raises(Exception, match=rf"{DENIED}|not found"):
            lance.dataset(location.replace("mine", neighbour), storage_options=options)
    for prefix in ("", "tables/", "tables/mine2.lance/"):
        with pytest.raises(Exception, match=DENIED):
            listed(store, options, prefix)
    with pytest.raises(Exception, match=DENIED):
        lance.write_dataset(pa.table({"a": [3]}), location, mode="append", storage_options=options)
    assert namespace.count_table_rows({"id": ["mine"]}).count == 2


def test_a_writer_writes_only_its_table(described):
    ask, namespace = described
    location, options = ask("writer", "mine2")
    lance.write_dataset(pa.table({"a": [3]}), location, mode="append", storage_options=options)
    assert namespace.count_table_rows({"id": ["mine2"]}).count == 3
    for other in ("mine", "axb"):
        with pytest.raises(Exception, match=DENIED):
            lance.write_dataset(
                pa.table({"a": [3]}),
                location.replace("mine2", other),
                mode="append",
                storage_options=options,
            )
        assert namespace.count_table_rows({"id": [other]}).count == 2
