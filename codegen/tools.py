"""The external tools that codegen needs, in versions that produce the same output on every machine."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# pyproject.toml pins the same versions.
VERSIONS = {"openapi-python-client": "0.29.1", "ruff": "0.17.5"}


class ToolError(Exception):
    """Raised if a tool is missing, has another version, or fails."""


def check_tools() -> None:
    """Check that the tools are installed.

    Raises:
        ToolError: a tool is missing or has another version.
    """
    for name, wanted in VERSIONS.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise ToolError(
                f"codegen needs {name} {wanted}, found {found}: "
                "pip install 'lance-namespace-kit[codegen]'"
            )


def format_python(
    texts: Mapping[str, str], line_length: int, *, first_party: str | None = None
) -> dict[str, str]:
    """Sort imports and `__all__`, remove unused imports, and format the code.

    Args:
        texts: the texts by file name.
        line_length: maximum length of a line of code.
        first_party: package whose imports are separated from those of third parties.

    Raises:
        ToolError: ruff rejects the code.
    """
    from ruff import find_ruff_bin

    settings = ["--isolated", "--target-version", "py311", "--line-length", str(line_length)]
    if first_party is not None:
        settings += ["--config", f"lint.isort.known-first-party=['{first_party}']"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8", newline="\n")
        for command in (
            ["check", "--quiet", "--fix", "--select", "F401", "--exclude", "*.pyi"],
            ["check", "--quiet", "--fix", "--select", "I,RUF022"],
            ["format", "--quiet"],
        ):
            done = subprocess.run(
                [find_ruff_bin(), *command, *settings, "--no-cache", str(root)],
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )
            if done.returncode:
                raise ToolError(
                    f"ruff {command[0]} rejected the generated code:\n{done.stdout}{done.stderr}"
                )
        return {name: (root / name).read_text(encoding="utf-8") for name in texts}
