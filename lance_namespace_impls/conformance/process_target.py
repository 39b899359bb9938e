"""A target in a separate interpreter: any Python namespace, including the official ones."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_namespace_client.operations import OPERATIONS

from .exchange import Reply, Step

__all__ = ["CouldNotStartError", "ProcessTarget"]

ANSWER_SECONDS = 120.0
STOP_SECONDS = 10.0


class CouldNotStartError(Exception):
    """The target cannot be reached or started; the message names the cause."""


class ProcessTarget:
    """A Python class that runs in a separate interpreter.

    Args:
        target: ``module:Class``; the properties are its keyword arguments.
        properties: its properties.
        python: interpreter; the current one by default.

    Raises:
        CouldNotStartError: the interpreter does not start, or the class cannot be instantiated.
    """

    kind = "process"

    def __init__(
        self, target: str, properties: Mapping[str, str], python: str | None = None
    ) -> None:
        self.name = target
        self._properties = dict(properties)
        self._python = python or sys.executable
        self._start()

    def _start(self) -> None:
        worker = Path(__file__).with_name("worker.py")
        try:
            self._process = subprocess.Popen(
                [self._python, str(worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise CouldNotStartError(f"--python {self._python}: {error}") from error
        started = self._ask({"target": self.name, "properties": self._properties})
        if not started.get("ready"):
            self.close()
            failed = started.get("failed") or started.get("broken")
            raise CouldNotStartError(f"--class {self.name}: {failed}")

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        deadline = threading.Timer(ANSWER_SECONDS, process.kill)
        deadline.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError as error:
            return {"broken": f"the interpreter is no longer running: {error}"}
        finally:
            deadline.cancel()
        if not line:
            return {"broken": f"the interpreter exited with status {process.wait()}"}
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the interpreter."""
        process = self._process
        if process.stdin is not None:
            with suppress(BrokenPipeError):  # it has already exited
                process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def call(self, step: Step) -> Reply:
        """Return the reply of the namespace to one call."""
        operation = OPERATIONS[step.operation]
        if self._process.poll() is not None:  # only the call that ended it fails
            self.close()
            self._start()
        started = time.monotonic()
        found = self._ask(
            {
                **step.to_dict(),
                "method": operation.method_name,
                "model": operation.request,
            }
        )
        seconds = time.monotonic() - started
        if found.get("broken"):
            return Reply(step=step, broken=found["broken"], seconds=seconds)
        if found.get("no_route"):
            return Reply(step=step, code=0, message="no such method", no_route=True)
        if found.get("code") is not None:
            return Reply(step=step, code=found["code"], message=found["message"], seconds=seconds)
        if found.get("data") is not None:
            try:
                table = pa.ipc.open_file(base64.b64decode(found["data"])).read_all()
            except (pa.ArrowException, OSError) as error:
                return Reply(step=step, broken=f"not an Arrow IPC file: {error}", seconds=seconds)
            return Reply(step=step, rows=table, seconds=seconds)
        if "value" in found:
            answer = {operation.answer_field or "value": found["value"]}
            return Reply(step=step, answer=answer, seconds=seconds)
        answer = {k: v for k, v in found["answer"].items() if v is not None}
        return Reply(step=step, answer=answer, seconds=seconds)
