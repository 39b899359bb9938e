"""Our server in a separate process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .process import bound_to_us

__all__ = ["first_line_of", "server_process"]

SERVE = """
import json, sys
from lance_namespace_impls import connect_config
from lance_namespace_impls.server import serve
serve(connect_config(json.load(sys.stdin)), port=0)
"""


@contextlib.contextmanager
def server_process(config: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server on a free port; yield its process and its address.

    Args:
        config: as for ``connect_config``. It is sent on standard input, because the process list
            would show it.
    """
    process = subprocess.Popen(
        [*bound_to_us(), sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(dict(config)))
        process.stdin.close()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start; see its output above")
        yield process, line.split()[2]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=120)
        process.stdout.close()


def first_line_of(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Start a command that serves, return the first line of its output, and stop it."""
    process = subprocess.Popen(
        ["bash", "-c", f"{'exec ' if command.startswith('lance-ns') else ''}{command}"],
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=300)
    assert line.startswith("Serving ")
    return line
