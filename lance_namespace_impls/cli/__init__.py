"""The command ``lance-ns``.

Nothing heavy is imported here: what a command needs loads when the command runs.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run ``lance-ns`` with the arguments of the process and exit with its status."""
    try:
        if os.environ.get("_LANCE_NS_COMPLETE"):
            from .shell import answer_shell

            status = answer_shell()
            if status is not None:
                sys.exit(status)
        from .app import run
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"error: lance-ns needs {error.name}: pip install 'lance-namespace-kit[cli]'",
        )
    run()
