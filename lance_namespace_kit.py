"""The command ``lance-ns``.

Named like the distribution, so that no other package can overwrite it.
"""

from __future__ import annotations

import sys

from lance_namespace_namesake import REINSTALL, refuse_namesake

__all__ = ["main", "refuse_namesake"]


def main() -> None:
    """Run ``lance-ns`` with the arguments of the process and exit with its status."""
    try:
        refuse_namesake()
    except ImportError as error:
        sys.exit(f"error: {error}")
    from importlib.util import find_spec  # slow to import, and seldom needed

    spec = find_spec("lance_namespace_impls")
    if spec is None or spec.origin is None:  # without its __init__.py a folder has no origin
        sys.exit(f"error: the installation of lance-namespace-kit is incomplete: run '{REINSTALL}'")
    from lance_namespace_impls.cli import main as run

    run()


if __name__ == "__main__":
    main()
