"""A Glue double per process, reset before each test, and connections to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import REGION, GlueServer

Connect = Callable[..., GlueNamespace]
LANCE: dict[str, Any] = {
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"table_type": "lance"},
    "StorageDescriptor": {"Location": "s3://bucket/t"},
}
KEYS = {"access_key_id": "AKIATESTKEY", "secret_access_key": "not-a-real-secret"}


@pytest.fixture(scope="session")
def server() -> Iterator[GlueServer]:
    running = GlueServer().start()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def isolated_aws_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ignore the machine's own AWS configuration, and disable botocore's instance metadata."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def glue(server: GlueServer) -> Iterator[GlueServer]:
    """The double, reset; every request and response of the test must match the service's model."""
    server.reset()
    yield server
    assert server.problems == []


@pytest.fixture
def properties(glue: GlueServer, tmp_path: Path) -> dict[str, Any]:
    return {
        "endpoint": glue.endpoint,
        "region": REGION,
        "root": str(tmp_path / "root"),
        "max_retries": 0,
        **KEYS,
    }


@pytest.fixture
def connected(properties: dict[str, Any]) -> Iterator[Connect]:
    """Return a callable that connects to the double; None removes one of the usual properties."""
    made: list[GlueNamespace] = []

    def connect_with(**changes: Any) -> GlueNamespace:
        namespace = connect("glue", properties | changes)
        assert isinstance(namespace, GlueNamespace)
        made.append(namespace)
        return namespace

    yield connect_with
    for namespace in made:
        namespace.close()


@pytest.fixture
def namespace(connected: Connect) -> GlueNamespace:
    return connected()


def aws_client(server: GlueServer, service: str) -> Any:
    """Return boto3's own client of a service of the double."""
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=REGION,
        aws_access_key_id=KEYS["access_key_id"],
        aws_secret_access_key=KEYS["secret_access_key"],
    )


@contextmanager
def user_keys(server: GlueServer, *statements: dict[str, str]) -> Iterator[dict[str, str]]:
    """Create a user with a policy of these statements, and yield properties with its keys."""
    iam, user = aws_client(server, "iam"), {"UserName": "reader"}
    iam.create_user(**user)
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    if statements:
        iam.put_user_policy(**user, PolicyName="own", PolicyDocument=policy)
    key = iam.create_access_key(**user)["AccessKey"]
    yield {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
    iam.delete_access_key(**user, AccessKeyId=key["AccessKeyId"])
    if statements:
        iam.delete_user_policy(**user, PolicyName="own")
    iam.delete_user(**user)


@pytest.fixture
def client(glue: GlueServer) -> Any:
    """boto3's own client of the double."""
    return aws_client(glue, "glue")


@pytest.fixture
def database(client: Any) -> str:
    """A database in the root, without a location."""
    client.create_database(DatabaseInput={"Name": "db"})
    return "db"
