"""Third-party servers without an installable package: Unity Catalog, Polaris, Gravitino and MinIO.

Go builds MinIO. Each of the others has a start script in the folder that ``LANCE_NS_TEST_SERVERS``
names, by default ``shared/servers`` next to the checkout. To use a running server instead, set
``LANCE_NS_TEST_UNITY``, ``LANCE_NS_TEST_POLARIS``, ``LANCE_NS_TEST_GRAVITINO`` or
``LANCE_NS_TEST_MINIO`` to its address. The scripts print settings after the address, as
``key=value`` separated by blanks; the variables accept the same format. MinIO requires
``access_key=... secret_key=...``. Use only servers that exist for tests: the tests delete all
contents.
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
    """A server has no configured address and cannot be started; the message states what to do."""


@frozen(kw_only=True)
class RealServer:
    """A running server."""

    uri: str
    """The address, without a trailing slash."""
    settings: Mapping[str, str] = field(factory=dict)
    """Other settings that the script printed: credentials, a warehouse, a folder."""


def is_there(name: str) -> bool:
    """Return whether a server is available, without starting it."""
    if os.environ.get(_variable(name)):
        return True
    return can_be_built() if name == "minio" else _script(name).is_file()


@cache
def running(name: str) -> RealServer:
    """Return a server that all tests of this process share.

    If it is started here, it stops when the process ends.

    Raises:
        MissingServerError: there is neither an address nor a script.
        RuntimeError: the server does not start; the message contains its output.
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
    port = free_port(following=1)  # Unity always uses the next port, the others get it as argument
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
