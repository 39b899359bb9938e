"""The snippets of a tutorial run one after another in an empty directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .snippets import TUTORIALS, prints, read
from .test_shell_snippets import commands, environment, is_checked_only


@pytest.mark.parametrize("page", TUTORIALS)
def test_the_snippets_of_a_page_run_in_an_empty_directory(page: str, tmp_path: Path) -> None:
    blocks = [each for each in read(page, "python", "sh") if each.is_run]
    script = "\n".join(each.text for each in blocks if each.language == "python")
    lines = [line for each in blocks if each.language == "sh" for line in commands(each)]
    shell = [line for line in lines if not is_checked_only(line) and " serve " not in line]
    assert shell
    surroundings = environment(tmp_path)
    python, bash = [sys.executable, "-c", script], ["bash", "-ec", "\n".join(shell)]
    for command, expected in ((python, TUTORIALS[page]), (bash, "")):
        done = subprocess.run(
            command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert " WARN " not in done.stderr, "Lance warns about an example"
        assert prints(done.stdout, expected), done.stdout
