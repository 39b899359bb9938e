"""The command ``lance-ns``.

The module is named after the distribution; no other package can overwrite it.
"""

from __future__ import annotations

import sys

from lance_namespace_namesake import REINSTALL, refuse_namesake

__all__ = ["main", "refuse_namesake"]


def main() -> None:
    """Run ``lance-ns`` with the process's command-line arguments, and exit with its status."""
    try:
        refuse_namesake()
    except ImportError as error:
        sys.exit(f"error: {error}")
    from importlib.util import find_spec  # slow to import and rarely needed

    spec = find_spec("lance_namespace_impls")
    if spec is None or spec.origin is None:  # a package folder without __init__.py has no origin
        sys.exit(f"error: the installation of lance-namespace-kit is incomplete; run '{REINSTALL}'")
    from lance_namespace_impls.cli import main as run

    run()


if __name__ == "__main__":
    main()
