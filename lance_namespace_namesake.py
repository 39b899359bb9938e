"""The check that the package with the same import name is not installed too.

A module of its own with a name of this distribution: another package cannot overwrite it, and every
package of the distribution can import it.
"""

from __future__ import annotations

import os
import sys

__all__ = ["REINSTALL", "refuse_namesake"]

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
