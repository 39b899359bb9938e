"""Every failure is a protocol error with the right code."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError, ClientError
from moto.core.authorization import enable_iam_authentication

from lance_namespace_client.errors import (
    ForbiddenError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)
from lance_namespace_impls.core.instrumentation import UPSTREAM_OBSERVER, UpstreamCall
from lance_namespace_impls.glue import GlueNamespace

from ..servers.glue import GlueServer
from .conftest import LANCE, Connect, user_keys

# The eight operations of the specification, each with a request that is sent to Glue.
EIGHT: dict[str, dict[str, Any]] = {
    "create_namespace": {"id": ["new"]},
    "list_namespaces": {"id": []},
    "describe_namespace": {"id": ["db"]},
    "drop_namespace": {"id": ["db"]},
    "declare_table": {"id": ["db", "new"], "location": "s3://bucket/new"},
    "list_tables": {"id": ["db"]},
    "describe_table": {"id": ["db", "t"]},
    "deregister_table": {"id": ["db", "t"]},
}


def test_the_message_names_operation_and_object(namespace: GlueNamespace, glue: GlueServer) -> None:
    glue.fail("*", "InternalServiceException", status=500, message="the\nreason")
    with pytest.raises(InternalError, match=r"^DescribeTable db\$t: .*the reason") as caught:
        namespace.describe_table({"id": ["db", "t"]})
    assert isinstance(caught.value.__cause__, ClientError)


def test_throttled_calls_are_retried_as_configured(
    connected: Connect, glue: GlueServer, database: str
) -> None:
    glue.fail("GetTable", "ThrottlingException", times=1)
    glue.add_tables(database, {"t": LANCE})
    answer = connected(max_retries=2).describe_table({"id": [database, "t"]})
    assert answer.location == "s3://bucket/t"
    assert glue.count("GetTable") == 2


# --- a policy that denies access


@pytest.fixture
def keys_without_permissions(glue: GlueServer) -> Iterator[dict[str, str]]:
    """Keys of a user whose policy denies all Glue actions, with moto's authorization enabled."""
    nothing = {"Effect": "Deny", "Action": "glue:*", "Resource": "*"}
    with user_keys(glue, nothing) as keys, enable_iam_authentication():
        yield keys


@pytest.mark.requirement(
    "glue.create-namespace.denied",
    "glue.list-namespaces.denied",
    "glue.describe-namespace.denied",
    "glue.drop-namespace.denied",
    "glue.declare-table.denied",
    "glue.list-tables.denied",
    "glue.describe-table.denied",
    "glue.deregister-table.denied",
)
@pytest.mark.parametrize("operation", EIGHT)
def test_a_denying_policy_is_code_16(
    connected: Connect,
    database: str,
    keys_without_permissions: dict[str, str],
    operation: str,
) -> None:
    namespace = connected(**keys_without_permissions)
    with pytest.raises(ForbiddenError, match="not authorized to perform: glue:") as caught:
        getattr(namespace, operation)(EIGHT[operation])
    assert (caught.value.code, caught.value.status) == (16, 403)


@pytest.mark.requirement("glue.config.secret-access-key")
def test_unknown_keys_are_code_16(
    connected: Connect, keys_without_permissions: dict[str, str]
) -> None:
    with pytest.raises(UnauthenticatedError):
        connected(access_key_id="AKIAUNKNOWN").list_tables({"id": ["db"]})
    with pytest.raises(UnauthenticatedError):
        connected(**{**keys_without_permissions, "secret_access_key": "wrong"}).list_tables(
            {"id": ["db"]}
        )


# --- failures before a request is sent


NO_KEYS = {"access_key_id": None, "secret_access_key": None}


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"region": None, "endpoint": None}, InvalidInputError, "set 'region'"),
        ({"region": "not a region", "endpoint": None}, InvalidInputError, "region"),
        (NO_KEYS, UnauthenticatedError, "set 'access_key_id'"),
        ({"endpoint": "not an address"}, InvalidInputError, "set another 'endpoint'"),
        ({"endpoint": "http://"}, InvalidInputError, "set another 'endpoint'"),
        ({"endpoint": "ftp//x"}, InvalidInputError, "set another 'endpoint'"),
        ({**NO_KEYS, "profile_name": "none"}, InvalidInputError, "set another 'profile_name'"),
    ],
)
def test_impossible_connection_settings(
    connected: Connect, changes: dict[str, Any], error: type[LanceNamespaceError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        connected(**changes).list_tables({"id": ["db"]})
    assert isinstance(caught.value.__cause__, BotoCoreError | ValueError)


def test_a_broken_configuration_file(connected: Connect, tmp_path: Path) -> None:
    (tmp_path / "aws-config").write_text("this is no configuration\n")
    with pytest.raises(InvalidInputError):
        connected().list_tables({"id": ["db"]})


def test_a_request_that_botocore_rejects(namespace: GlueNamespace, database: str) -> None:
    with pytest.raises(InvalidInputError, match="Parameter validation failed"):
        namespace.declare_table({"id": [database, "t"], "properties": {"": "x"}})


# --- an unavailable service


@contextmanager
def silent_port(backlog_full: bool) -> Iterator[int]:
    """Yield a port that accepts connections but never responds, or that accepts none at all."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = []
        for _ in range(8 if backlog_full else 0):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            waiting.append(one)
        yield port
        for one in waiting:
            one.close()


def requests_sent(namespace: GlueNamespace) -> list[str]:
    """Return a list that collects the URL of every request that boto3 sends, with retries."""
    sent: list[str] = []

    def keep(request: AWSPreparedRequest, **_: object) -> None:
        sent.append(request.url)

    namespace._glue().meta.events.register("before-send.glue", keep)
    return sent


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.requirement(
    "glue.create-namespace.unavailable",
    "glue.list-namespaces.unavailable",
    "glue.describe-namespace.unavailable",
    "glue.drop-namespace.unavailable",
    "glue.declare-table.unavailable",
    "glue.list-tables.unavailable",
    "glue.describe-table.unavailable",
    "glue.deregister-table.unavailable",
)
@pytest.mark.parametrize("operation", EIGHT)
def test_a_closed_port_is_code_17(connected: Connect, operation: str) -> None:
    namespace = connected(endpoint=f"http://127.0.0.1:{closed_port()}")
    sent = requests_sent(namespace)
    with pytest.raises(ServiceUnavailableError, match="Could not connect") as caught:
        getattr(namespace, operation)(EIGHT[operation])
    assert caught.value.code == 17
    assert len(sent) == 1


@pytest.mark.parametrize("backlog_full", [True, False], ids=["connect", "read"])
def test_a_silent_endpoint_is_code_17_within_the_timeout(
    connected: Connect, backlog_full: bool
) -> None:
    with silent_port(backlog_full) as port:
        namespace = connected(
            endpoint=f"http://127.0.0.1:{port}", connect_timeout=0.5, read_timeout=0.5
        )
        sent = requests_sent(namespace)
        started = time.monotonic()
        with pytest.raises(ServiceUnavailableError) as caught:
            namespace.list_tables({"id": ["db"]})
        took = time.monotonic() - started
    # The default of both timeouts is a minute.
    assert 0.4 < took < 10
    assert len(sent) == 1
    kind = "Connect timeout" if backlog_full else "Read timeout"
    assert re.search(kind, caught.value.message)


def test_connecting_is_not_retried_by_default(
    connected: Connect,
) -> None:
    with silent_port(backlog_full=True) as port:
        namespace = connected(
            endpoint=f"http://127.0.0.1:{port}", connect_timeout=0.5, max_retries=None
        )
        sent = requests_sent(namespace)
        with pytest.raises(ServiceUnavailableError, match="Connect timeout"):
            namespace.list_tables({"id": ["db"]})
    assert len(sent) == 1  # boto3's own default is five attempts


def test_secrets_are_redacted_in_glue_errors(namespace: GlueNamespace, glue: GlueServer) -> None:
    glue.fail("*", "InternalServiceException", status=500, message="key not-a-real-secret is bad")
    with pytest.raises(InternalError) as caught:
        namespace.list_tables({"id": ["db"]})
    assert "not-a-real-secret" not in str(caught.value)
    assert "***" in str(caught.value)


# --- upstream observers


def test_each_call_is_reported_to_the_observer(
    connected: Connect, glue: GlueServer, database: str
) -> None:
    seen: list[tuple[str, str, str]] = []

    @contextmanager
    def observe(system: str, name: str) -> Iterator[UpstreamCall]:
        call = UpstreamCall()
        yield call
        seen.append((system, name, call.result))

    def watched(namespace: GlueNamespace) -> list[tuple[str, str, str]]:
        seen.clear()
        token = UPSTREAM_OBSERVER.set(observe)
        try:
            namespace.list_tables({"id": [database]})
        except (ServiceUnavailableError, ThrottlingError):
            pass
        finally:
            UPSTREAM_OBSERVER.reset(token)
        return list(seen)

    namespace = connected()
    found = ("glue", "GetDatabase", "ok")
    missing = ("glue", "GetCatalog", "EntityNotFoundException")
    assert watched(namespace) == [missing, found, ("glue", "GetTables", "ok")]
    glue.fail("GetTables", "ThrottlingException")
    assert watched(namespace)[-1] == ("glue", "GetTables", "ThrottlingException")
    away = connected(endpoint=f"http://127.0.0.1:{closed_port()}")
    assert {call[2] for call in watched(away)} == {"EndpointConnectionError"}
