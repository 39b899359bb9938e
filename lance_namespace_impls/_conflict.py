"""Refuses to run beside the package of the same import name."""

from __future__ import annotations

import os
import sys

NAMESAKE = "lance_namespace_impls-"


def refuse_namesake() -> None:
    """Raise ImportError where the package `lance-namespace-impls` is installed as well.

    Both would write into one folder, and which files win depends on the order of installing.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue  # a path entry that is no readable folder holds no package
        if any(n.startswith(NAMESAKE) and n.endswith((".dist-info", ".egg-info")) for n in names):
            raise ImportError(
                f"lance-namespace-impls in {folder} has the import name lance_namespace_impls too: "
                "run 'pip uninstall lance-namespace-impls' and reinstall lance-namespace-kit, or "
                "keep the two in environments of their own"
            )
