"""Servers written by others that are no packages to install: Unity Catalog, Polaris, Gravitino, MinIO.

MinIO is built by Go. The others are started by a script each, from the folder that
``LANCE_NS_TEST_SERVERS`` names, or ``../shared/servers`` beside the checkout. Or a server runs already,
where ``LANCE_NS_TEST_UNITY``, ``LANCE_NS_TEST_POLARIS``, ``LANCE_NS_TEST_GRAVITINO`` or
``LANCE_NS_TEST_MINIO`` is its address. What the script says after the address, ``key=value`` and blanks
between, can follow the address there too: for MinIO ``access_key=... secret_key=...`` has to. Such a
server must be there for tests alone: they empty it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import field, frozen

from .minio import USER, Minio, can_be_built
from .ports import free_port
from .process import START_SECONDS, bound_to_us

__all__ = ["MissingServerError", "RealServer", "is_there", "running"]

FOLDER_VARIABLE = "LANCE_NS_TEST_SERVERS"
STOP_SECONDS = 30


class MissingServerError(RuntimeError):
    """A server that is neither at an address nor to be started; the message says what to do."""


@frozen(kw_only=True)
class RealServer:
    """A server that answers."""

    uri: str
    """Its address, without a trailing slash."""
    settings: Mapping[str, str] = field(factory=dict)
    """What it says beside the address: credentials, a warehouse, a folder."""


def is_there(name: str) -> bool:
    """Return whether a server can be had, without starting it."""
    if os.environ.get(_variable(name)):
        return True
    return can_be_built() if name == "minio" else _script(name).is_file()


@cache
def running(name: str) -> RealServer:
    """Return one server to all tests of this process; one that is started here stops at its end.

    Raises:
        MissingServerError: there is neither an address nor a script.
        RuntimeError: it does not start; the message holds what it says.
    """
    given = os.environ.get(_variable(name))
    if given:
        return _read(given.split())
    if name == "minio":
        return _start_minio()
    script = _script(name)
    if not script.is_file():
        raise MissingServerError(
            f"there is no {name} server: set {_variable(name)} to the address of one, or "
            f"{FOLDER_VARIABLE} to the folder that holds {name}/start.sh"
        )
    return _start(name, script)


def _variable(name: str) -> str:
    return f"LANCE_NS_TEST_{name.upper()}"


def _script(name: str) -> Path:
    chosen = os.environ.get(FOLDER_VARIABLE)
    checkout = Path(__file__).resolve().parents[2]
    folder = Path(chosen) if chosen else checkout.parent / "shared" / "servers"
    return folder / name / "start.sh"


def _start_minio() -> RealServer:
    if not can_be_built():
        raise MissingServerError("there is no minio server: install Go, which builds it")
    folder = tempfile.TemporaryDirectory(prefix="minio-")
    server = Minio(folder=Path(folder.name))
    server.start()
    atexit.register(folder.cleanup)
    atexit.register(server.stop)
    return RealServer(uri=server.uri, settings=USER)


def _start(name: str, script: Path) -> RealServer:
    folder = tempfile.TemporaryDirectory(prefix=f"{name}-")
    port = free_port(following=1)  # Unity takes the one after, the others are told of it
    arguments = [str(port), "disable" if name == "unity" else str(port + 1), f"{folder.name}/state"]
    log = Path(folder.name, "start.log")
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [*bound_to_us(), str(script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={"START_SECONDS": str(START_SECONDS), **os.environ},
        )
    assert process.stdout is not None
    word, *said = process.stdout.readline().split() or [""]
    if word != "ready":
        status = process.wait(STOP_SECONDS)
        text = log.read_text(errors="replace")
        folder.cleanup()
        raise RuntimeError(f"{script} ended with status {status}:\n{text[-3000:]}")

    def stop() -> None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        folder.cleanup()

    atexit.register(stop)
    return _read(said)


def _read(said: list[str]) -> RealServer:
    return RealServer(
        uri=said[0].rstrip("/"), settings=dict(item.split("=", 1) for item in said[1:])
    )
