"""What goes to workers holds no secret in the clear, and is opened with the key alone."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from pyspark.cloudpickle import dumps, loads

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource
from lance_namespace_impls.spark.sealing import ENVIRONMENT, Sealed, make_key, require_key
from lance_namespace_impls.spark.target import Target

SECRET = "hidden-6f1d2a"
OPTIONS = {"impl": "dir", "root": "/data/lance", "storage.aws_secret_access_key": SECRET}


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setenv(ENVIRONMENT, Fernet.generate_key().decode())
    return make_key()


def target() -> Target:
    properties = {key: value for key, value in OPTIONS.items() if key != "impl"}
    return Target(namespace=connect("dir", properties), table=("t",))


def source() -> LanceNamespaceDataSource:
    return LanceNamespaceDataSource({**OPTIONS, "path": "t"})


@pytest.mark.parametrize("make", [target, source])
def test_a_pickle_holds_no_secret_and_becomes_the_same_again(key: str, make: Any) -> None:
    pickled = dumps(make())
    assert SECRET.encode() not in pickled
    assert key.encode() not in pickled
    found = loads(pickled)
    if isinstance(found, Target):
        assert found.namespace.properties == target().namespace.properties
        assert found.namespace is loads(pickled).namespace
    else:
        assert found.options == source().options
    assert SECRET.encode() not in dumps(found)


def test_without_secrets_no_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    plain = Target(namespace=connect("dir", {"path": "/data/lance"}), table=("t",))
    assert loads(dumps(plain)).table == ("t",)
    assert loads(dumps(LanceNamespaceDataSource({"impl": "dir", "root": "/d", "path": "t"})))


def test_another_key_or_none_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = dumps(Sealed({"a": "other"}))
    monkeypatch.setenv(ENVIRONMENT, Fernet.generate_key().decode())
    with pytest.raises(InvalidInputError, match=ENVIRONMENT):
        loads(pickled)
    monkeypatch.delenv(ENVIRONMENT)
    for act in (require_key, lambda: dumps(target()), lambda: loads(pickled)):
        with pytest.raises(InvalidInputError, match=ENVIRONMENT):
            act()
