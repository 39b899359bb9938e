"""The snippets of a tutorial run one after the other in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .snippets import read
from .test_shell_snippets import commands, environment, is_checked_only


@pytest.mark.parametrize("page", ["docs/getting-started.md", "docs/cookbook.md"])
def test_the_snippets_of_a_page_run_in_an_empty_folder(page: str, tmp_path: Path) -> None:
    blocks = [each for each in read(page, "python", "sh") if each.is_run]
    script = "\n".join(each.text for each in blocks if each.language == "python")
    lines = [line for each in blocks if each.language == "sh" for line in commands(each)]
    shell = [line for line in lines if not is_checked_only(line) and " serve " not in line]
    assert shell
    surroundings = environment(tmp_path)
    for command in ([sys.executable, "-c", script], ["bash", "-ec", "\n".join(shell)]):
        done = subprocess.run(
            command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
