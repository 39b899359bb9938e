"""pylance's own REST server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from lance.namespace import RestAdapter

__all__ = ["pylance_server"]


@contextlib.contextmanager
def pylance_server(root: Path, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve a directory on a free port; yield the address.

    Args:
        root: the directory.
        more: further properties of pylance's directory namespace.
    """
    adapter = RestAdapter("dir", {"root": str(root), **(more or {})}, port=0)
    adapter.start()
    try:
        yield f"http://127.0.0.1:{adapter.port}"
    finally:
        adapter.stop()
