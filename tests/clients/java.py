"""Runs the Java clients, which are downloaded from Maven."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.servers.java import java_command
from tests.servers.maven import jars

__all__ = ["java_calls"]

CALLS = Path(__file__).with_name("JavaCalls.java")
JARS = (
    "org.lance:lance-core:7.0.0",
    "org.lance:lance-namespace-apache-client:0.7.7",
    "org.slf4j:slf4j-nop:2.0.17",
)
TIMEOUT = 3600


def java_calls(client: str, uri: str, levels: tuple[str, ...]) -> dict[str, str | None]:
    """Return each call with its failure, or None.

    Args:
        client: ``core`` or ``apache``.
        uri: the server's address; if it is a directory, lance-core serves it.
        levels: the namespace of the tables.
    """
    path = os.pathsep.join(map(str, jars(JARS)))
    # Arrow accesses internals of the JDK. Java compiles the source file when it runs it.
    java = [str(java_command()), "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", path]
    done = subprocess.run(
        [*java, str(CALLS), client, uri, json.dumps(levels)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found
