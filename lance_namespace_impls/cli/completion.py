"""Shell completion for implementations, profiles, and names in a catalog."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from ..core.profiles import config_path, read_profiles
from .choice import choose, find_modules_here, key_values

__all__ = ["complete_id", "complete_impl", "complete_profile"]

FRESH_SECONDS = 60
"""Maximum age, in seconds, of a catalog's cached names."""
WAIT_SECONDS = 3
"""Maximum time, in seconds, to wait for a catalog."""
MOST_NAMES = 500
"""Maximum number of namespaces, and of tables, that are requested."""


class Given(Protocol):
    """A partial command line, such as Typer's context."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Values of the options and arguments."""


def _cache_folder() -> Path:
    """Return the folder of the completion cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "lance-ns"


def complete_impl(incomplete: str) -> list[str]:
    """Return the implementations that start with a prefix."""
    from ..registry import implementations

    return [name for name in sorted(implementations()) if name.startswith(incomplete)]


def complete_profile(ctx: Given, incomplete: str) -> list[str]:
    """Return the profiles that start with a prefix."""
    try:
        known = read_profiles(config_path(ctx.params.get("config")))
    except Exception:  # noqa: BLE001 - a message would appear inside the line being typed
        return []
    return [name for name in known if name.startswith(incomplete)]


def complete_id(ctx: Given, incomplete: str) -> list[str]:
    """Return the namespaces and tables with a prefix; namespaces end with the delimiter."""
    delimiter = ctx.params.get("delimiter") or "$"
    parent, found, _ = incomplete.rpartition(delimiter)
    try:
        names = _names(ctx.params, parent.split(delimiter) if found else [])
    except Exception:  # noqa: BLE001 - as above
        return []
    prefix = parent + found
    tables = [prefix + name for name in names["tables"]]
    namespaces = [prefix + name + delimiter for name in names["namespaces"]]
    return [name for name in (*namespaces, *tables) if name.startswith(incomplete)]


def _names(params: Mapping[str, Any], parent: list[str]) -> dict[str, list[str]]:
    import hashlib  # imported here, because most runs do not need it

    chosen = choose(params.get("impl"), params.get("profile"), params.get("config"))
    chosen |= key_values(params.get("property"), "--property")
    key = hashlib.sha256(json.dumps([chosen, parent], sort_keys=True, default=str).encode())
    cache = _cache_folder() / f"{key.hexdigest()}.json"
    kept: dict[str, Any] = json.loads(cache.read_text("utf-8")) if cache.exists() else {}
    if kept and 0 <= time.time() - kept["time"] < FRESH_SECONDS:
        return kept
    try:
        with _at_most(WAIT_SECONDS):
            found = _ask(chosen, parent)
    except TimeoutError:
        return kept or {"namespaces": [], "tables": []}
    _keep(cache, {"time": time.time(), **found})
    return found


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError inside the block after a time limit.

    This is implemented with a signal, because a thread would still be running when the interpreter
    exits.
    """

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ask(chosen: dict[str, Any], parent: list[str]) -> dict[str, list[str]]:
    from ..registry import connect_config

    find_modules_here(chosen["impl"])
    with connect_config(chosen) as namespace:
        return {
            "namespaces": list(islice(namespace.iter_namespaces(parent), MOST_NAMES)),
            "tables": list(islice(namespace.iter_tables(parent), MOST_NAMES)),
        }


def _keep(cache: Path, document: Mapping[str, Any]) -> None:
    """Cache a document for later completions; without a writable cache, they are slower."""
    partial = cache.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial.write_text(json.dumps(document), "utf-8")
        partial.replace(cache)
