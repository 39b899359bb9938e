"""Servers that run in separate processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import httpx
from attrs import define, field

from .ports import free_port

__all__ = ["ANSWER_SECONDS", "START_SECONDS", "ServerProcess", "bound_to_us", "wait_until"]

# Long enough for a busy machine; only hanging servers reach these limits.
START_SECONDS = 900
ANSWER_SECONDS = 600
STOP_SECONDS = 20


def bound_to_us() -> list[str]:
    """Return a command prefix that ends a command with this process, even if this one is killed.

    Start every server with it, from a thread that lives as long as the server: the kernel
    sends the signal when the thread ends that started the process.
    """
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def wait_until(condition: Callable[[], object], seconds: float = 120, step: float = 0.02) -> None:
    """Wait for a condition, and fail if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(step)


@define(kw_only=True)
class ServerProcess(ABC):
    """A server process that starts on entry and stops on exit.

    Args:
        folder: an empty folder for its data and its log.
    """

    NOT_YET: ClassVar[tuple[type[Exception], ...]] = (httpx.HTTPError,)

    folder: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command that runs the server."""

    @abstractmethod
    def look(self) -> None:
        """Send a request, which raises one of `NOT_YET` until the server is ready."""

    def environment(self) -> Mapping[str, str]:
        """Return additional environment variables of the server."""
        return {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start on the same port as before, and wait until the server is ready.

        Raises:
            RuntimeError: the server does not start; the message contains the end of its log.
        """
        self.port = self.port or free_port()
        with open(self.folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                [*bound_to_us(), *self.command()],
                cwd=self.folder,
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.look()
                return
            except self.NOT_YET as error:
                if self._process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                self.kill()
                log_text = (self.folder / "server.log").read_text(errors="replace")
                raise RuntimeError(
                    f"{type(self).__name__} does not start:\n{log_text[-3000:]}"
                ) from error

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the server without a graceful shutdown."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __exit__(self, *raised: object) -> None:
        self.stop()
