"""Pickles for workers contain no secret in plain text and can be opened only with the key."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pyspark import TaskContext
from pyspark.cloudpickle import dumps, loads

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.distributed.secrets import (
    ENVIRONMENT,
    Sealed,
    make_key,
    require_key,
    share_in_thread,
)
from lance_namespace_impls.distributed.target import Target
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource

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
def test_a_pickle_contains_no_secret_and_restores_the_object(key: str, make: Any) -> None:
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


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of the user's key, with no key in the environment."""
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "lance-namespace-kit"


def test_another_key_or_no_key_is_rejected(
    key: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, key)
    pickled = dumps(Sealed({"a": "other"}))
    monkeypatch.setenv(ENVIRONMENT, Fernet.generate_key().decode())
    with pytest.raises(InvalidInputError, match=ENVIRONMENT):
        loads(pickled)
    monkeypatch.delenv(ENVIRONMENT)
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_text("no folder can be here")
    for act in (require_key, lambda: dumps(target()), lambda: loads(pickled)):
        with pytest.raises(InvalidInputError, match=ENVIRONMENT):
            act()


def test_processes_of_a_user_share_a_private_key(cache: Path) -> None:
    pickled = dumps(target())
    assert (cache / "spark.key").stat().st_mode & 0o777 == 0o600
    opens = f"import pickle; print(pickle.loads({pickled!r}).namespace.properties)"
    done = subprocess.run([sys.executable, "-c", opens], capture_output=True, text=True, check=True)
    assert SECRET in done.stdout


def test_the_sending_process_opens_a_pickle_that_a_task_returns(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark plans and commits in a process that lacks the session's key, which tasks have."""
    pickled = dumps(target())
    monkeypatch.setenv(ENVIRONMENT, Fernet.generate_key().decode())
    sent_back = dumps(loads(pickled))
    monkeypatch.delenv(ENVIRONMENT)
    assert loads(sent_back).namespace.properties == target().namespace.properties


class Context:
    """A fake session context: settings, which event logs show, and thread-local properties."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.local: dict[str, str] = {}
        context = SimpleNamespace(conf=lambda: SimpleNamespace(set=self.settings.__setitem__))
        self._jsc = SimpleNamespace(sc=lambda: context)
        self.setLocalProperty = self.local.__setitem__
        self.getLocalProperty = self.local.get


def test_the_tasks_of_a_thread_have_the_key_and_the_settings_do_not_show_it(
    key: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context()
    monkeypatch.setenv(ENVIRONMENT, key)
    share_in_thread(context)  # type: ignore[arg-type]
    pickled = dumps(target())
    assert key not in repr(context.settings)
    assert list(context.settings) == list(context.local)
    # A worker on another machine has neither the environment nor the folder of this process.
    monkeypatch.delenv(ENVIRONMENT)
    shutil.rmtree(cache, ignore_errors=True)
    monkeypatch.setattr(TaskContext, "get", lambda: context)
    assert loads(pickled).namespace.properties == target().namespace.properties


def test_a_key_that_others_can_read_is_not_used(cache: Path) -> None:
    dumps(target())
    (cache / "spark.key").chmod(0o640)
    with pytest.raises(InvalidInputError, match="no folder to store a key"):
        require_key()
