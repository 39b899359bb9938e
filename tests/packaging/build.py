"""Build the published packages from this source tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal

__all__ = ["ROOT", "built"]

ROOT = Path(__file__).parents[2]


def built(what: Literal["wheel", "sdist"], out: Path) -> Path:
    """Build the wheel or the source distribution into an empty folder, and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", what, "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = out.glob({"wheel": "*.whl", "sdist": "*.tar.gz"}[what])
    return found
