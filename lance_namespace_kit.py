"""The command ``lance-ns``, and the check that the package of the same import name is not there.

This module is named like the distribution, so that no other package can be in its place.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main", "refuse_namesake"]

OURS = "lance_namespace_kit-"
NAMESAKE = "lance_namespace_impls-"
REINSTALL = "pip install --force-reinstall --no-deps lance-namespace-kit"


def refuse_namesake() -> None:
    """Raise where the package `lance-namespace-impls` is installed as well.

    Both write into one folder, and which files are left depends on the order of installing.

    Raises:
        ImportError: both are installed; the message has the command that removes the other one.
    """
    installed: dict[str, str] = {}
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue  # a path entry that is no readable folder holds no package
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                for package in (OURS, NAMESAKE):
                    if name.startswith(package):
                        installed.setdefault(package, os.path.abspath(folder))
    if len(installed) == 2:
        raise ImportError(
            f"lance-namespace-impls in {installed[NAMESAKE]} and lance-namespace-kit have one import "
            "name, lance_namespace_impls: run 'pip uninstall -y lance-namespace-impls && "
            f"{REINSTALL}', or keep the two in environments of their own"
        )


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
