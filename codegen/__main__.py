"""Runs the codegen command; reports what to install if a tool is missing."""

from __future__ import annotations

import sys

try:
    from .command import main
except ModuleNotFoundError as error:
    sys.exit(f"codegen needs {error.name}: pip install 'lance-namespace-kit[codegen]'")

if __name__ == "__main__":
    sys.exit(main())
