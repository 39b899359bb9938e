"""Checks that the other package with the same import name is not installed.

This is a top-level module named after the distribution: no other package can overwrite it, and
every package of the distribution can import it.
"""

from __future__ import annotations

import os
import sys

__all__ = ["REINSTALL", "refuse_namesake"]

OURS = "lance_namespace_kit-"
NAMESAKE = "lance_namespace_impls-"
REINSTALL = "pip install --force-reinstall --no-deps lance-namespace-kit"


def refuse_namesake() -> None:
    """Raise ImportError if the package `lance-namespace-impls` is also installed.

    Both install into the same folder; which files survive depends on the order of installation.

    Raises:
        ImportError: both are installed; the message contains the command that removes the other
            package.
    """
    installed: dict[str, str] = {}
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue  # a path entry that is not a readable folder contains no packages
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                for package in (OURS, NAMESAKE):
                    if name.startswith(package):
                        installed.setdefault(package, os.path.abspath(folder))
    if len(installed) == 2:
        raise ImportError(
            f"lance-namespace-impls in {installed[NAMESAKE]} and lance-namespace-kit have the same "
            "import name, lance_namespace_impls: run 'pip uninstall -y lance-namespace-impls && "
            f"{REINSTALL}', or install them in separate environments"
        )
