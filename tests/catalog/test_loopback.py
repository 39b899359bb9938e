"""The server for loopback connections is found among the installed entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.catalog import loopback
from lance_namespace_impls.catalog.loopback import LoopbackServer, find_loopback_server
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server.loopback import serve_on_loopback


@contextmanager
def others(namespace: Namespace, caller: str) -> Iterator[LoopbackServer]:
    yield LoopbackServer("http://127.0.0.1:1", caller)


def install(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = EntryPoints(EntryPoint(n, v, loopback.ENTRY_POINTS) for n, v in points.items())
    monkeypatch.setattr(loopback, "entry_points", lambda group: found.select(group=group))


def test_the_server_of_this_distribution_is_found() -> None:
    assert find_loopback_server() is serve_on_loopback


def test_a_server_of_another_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, other=f"{__name__}:others")
    assert find_loopback_server() is others


def test_without_a_server_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(InvalidInputError, match=r"pip install 'lance-namespace-kit\[server\]'"):
        find_loopback_server()


def test_a_missing_dependency_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("lance_namespace_impls.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="uvicorn") as caught:
        find_loopback_server()
    assert "pip install 'lance-namespace-kit[server]'" in caught.value.message


def test_an_entry_point_with_a_missing_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hollow", ModuleType("hollow"))
    install(monkeypatch, other="hollow:serve")
    with pytest.raises(InvalidInputError, match="hollow:serve"):
        find_loopback_server()
