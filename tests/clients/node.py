"""Installs packages from npm, and runs @lancedb/lancedb with Node."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

from tests.servers.cache import cache_folder, fetching

__all__ = ["modules", "node_calls"]

LANCEDB = "0.37.1"
PACKAGES = {"@lancedb/lancedb": LANCEDB, "apache-arrow": "18.1.0"}
CALLS = Path(__file__).with_name("lancedb_calls.mjs")
TIMEOUT = 3600


@cache
def modules(name: str, description: str) -> Path:
    """Return a directory with the packages of a package.json, downloaded once per machine.

    Args:
        name: name of the directory in the cache.
        description: content of the package.json.
    """
    target = cache_folder() / "node" / name
    with fetching(target) as folder:
        if folder is not None:
            (folder / "package.json").write_text(description)
            command = ["npm", "install", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIMEOUT)
    return target


def node_calls(uri: str, host: str | None = None) -> dict[str, str | None]:
    """Make all calls of the Node client; return the failure of each call, or None.

    Args:
        uri: the URI to connect to.
        host: address of the server for ``db://``.
    """
    installed = modules(LANCEDB, json.dumps({"dependencies": PACKAGES}))
    command = ["node", str(CALLS), str(installed), uri, *([host] if host else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return outcomes
