"""The command-line program ``lance-ns``.

Slow dependencies are never imported at the top of a module; each command imports them when it runs.
"""

from __future__ import annotations

import sys

from . import signals

__all__ = ["main"]


def main() -> None:
    """Run ``lance-ns`` with the process's command-line arguments, and exit with its status."""
    signals.handle()
    try:
        _run()
        status = 0
    except KeyboardInterrupt:
        status = 1
    except SystemExit as error:
        if isinstance(error.code, str):
            sys.stderr.write(f"{error.code}\n")
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    number = signals.stopped_by()
    # Typer exits with status 1 if it is interrupted outside of a command.
    signals.leave(128 + number if number is not None and status == 1 else status)


def _run() -> None:
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"error: lance-ns needs {error.name}: pip install 'lance-namespace-kit[cli]'",
        )
    run()
