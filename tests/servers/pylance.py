"""pylance's own REST server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lance.namespace import RestAdapter

__all__ = ["pylance_server"]


@contextlib.contextmanager
def pylance_server(root: Path) -> Iterator[str]:
    """Serve a directory on a free port; give the address."""
    adapter = RestAdapter("dir", {"root": str(root)}, port=0)
    adapter.start()
    try:
        yield f"http://127.0.0.1:{adapter.port}"
    finally:
        adapter.stop()
