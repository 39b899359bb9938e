"""pylance's own REST client on our server, oldest and newest, with pylance's server as the control."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lance_namespace_impls.server import serving
from tests.servers.pylance import pylance_server

from .backends import BACKENDS, Home
from .outcomes import compare
from .packages import packages

CALLS = Path(__file__).with_name("pylance_calls.py")
TIMEOUT = 600
# The first that has a client of the protocol of its own, and the last; each with what it asks of pyarrow.
VERSIONS = {"1.0.0": ("pylance==1.0.0", "pyarrow==22.0.0"), "14.0.2": ()}
NEED_NAMESPACES = {"create_and_drop_namespace"}


@cache
def _interpreter(version: str) -> dict[str, str]:
    """Return the environment that has a version; none is needed for the one that is installed."""
    wanted = VERSIONS[version]
    return {**os.environ, **({"PYTHONPATH": str(packages(*wanted))} if wanted else {})}


def _calls(version: str, uri: str, levels: tuple[str, ...]) -> dict[str, str | None]:
    done = subprocess.run(
        [sys.executable, str(CALLS), uri, json.dumps(levels)],
        env=_interpreter(version),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


@cache
def _control(version: str) -> dict[str, str | None]:
    with TemporaryDirectory() as folder, pylance_server(Path(folder)) as uri:
        return _calls(version, uri, ())


@pytest.fixture(params=sorted(BACKENDS))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    with BACKENDS[request.param](tmp_path) as home:
        yield home


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_its_client_does_what_it_does_on_its_own_server(home: Home, version: str) -> None:
    with serving(home.namespace) as uri:
        ours = _calls(version, uri, home.identifier)
    not_ours = set() if home.nests else NEED_NAMESPACES
    compare(f"pylance {version}", home.impl, _control(version), ours, not_ours)
