"""REST clients on this project's server; pylance's server or the client's own is the control."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest

from lance_namespace_impls.server import ServerOptions, serving
from tests.servers.pylance import pylance_server

from .backends import Home, on_backends
from .java import java_calls
from .outcomes import compare
from .packages import run_module

NEED_NAMESPACES = {"create_and_drop_namespace"}

Calls: TypeAlias = Callable[[str, tuple[str, ...]], dict[str, str | None]]


def _python(
    module: str, wanted: tuple[str, ...], uri: str, levels: tuple[str, ...]
) -> dict[str, str | None]:
    found: dict[str, str | None] = run_module(module, wanted, uri, json.dumps(levels))
    return found


CLIENTS: dict[str, Calls] = {
    # The first pylance with its own REST client, with a matching pyarrow; and the latest pylance.
    "pylance 1.0.0": partial(_python, "pylance_calls", ("pylance==1.0.0", "pyarrow==22.0.0")),
    "pylance 14.0.2": partial(_python, "pylance_calls", ()),
    "lance-ray 0.5.0": partial(_python, "ray_calls", ()),
    "daft-lance 0.6.0": partial(_python, "daft_calls", ("daft==0.7.26", "daft-lance==0.6.0")),
    "Java lance-core 7.0.0": partial(java_calls, "core"),
    "Java REST client 0.7.7": partial(java_calls, "apache"),
}
OWN_SERVER = "Java lance-core 7.0.0"


@cache
def _control(client: str) -> dict[str, str | None]:
    with TemporaryDirectory() as folder:
        if client == OWN_SERVER:
            return CLIENTS[client](folder, ())
        with pylance_server(Path(folder)) as uri:
            return CLIENTS[client](uri, ())


@on_backends()
@pytest.mark.parametrize("client", CLIENTS)
def test_calls_behave_as_on_the_control_server(home: Home, client: str) -> None:
    # The clients write to storage directly, and have only the vended credentials.
    with serving(home.namespace, ServerOptions(vend_storage_options=True)) as uri:
        ours = CLIENTS[client](uri, home.identifier)
    unavailable = set() if home.nests else NEED_NAMESPACES
    compare(client, home.name, _control(client), ours, unavailable)
