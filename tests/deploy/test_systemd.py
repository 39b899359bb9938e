"""The systemd unit: its options exist, and systemd rates its sandbox."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from .commands import DEPLOY, parsed, unknown_variables

UNIT = DEPLOY / "systemd" / "lance-ns.service"
ENVIRONMENT = DEPLOY / "systemd" / "lance-ns.env"
PAGE = (DEPLOY.parent / "docs" / "deploy.md").read_text()
MOST_EXPOSURE = 30
"""Tenths of the score of ``systemd-analyze security``."""


def settings(section: str) -> dict[str, list[str]]:
    """Return the settings of a section; each may occur several times."""
    text = re.sub(r"\\\n\s*", " ", UNIT.read_text())
    body = text.partition(f"\n[{section}]\n")[2].partition("\n[")[0]
    found: dict[str, list[str]] = {}
    for line in body.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def variables(text: str) -> dict[str, str]:
    """Return the variables of an environment file, including those in comments."""
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", text, re.MULTILINE))


def command() -> list[str]:
    (line,) = settings("Service")["ExecStart"]
    options = variables(ENVIRONMENT.read_text())["LANCE_NS_OPTIONS"]
    return shlex.split(line.replace("$LANCE_NS_OPTIONS", options))


def test_the_command_exists() -> None:
    program, *arguments = command()
    assert Path(program).name == "lance-ns"
    options = parsed(arguments)
    assert options["workers"] >= 2  # SIGHUP replaces workers only if there are several


def test_all_files_of_the_command_are_loaded() -> None:
    loaded = [each.split(":")[0] for each in settings("Service")["LoadCredential"]]
    used = re.findall(r"%d/([\w.]+)", " ".join(command()))
    assert sorted(loaded) == sorted(used)


def test_the_environment_file_has_only_variables_that_exist() -> None:
    (path,) = settings("Service")["EnvironmentFile"]
    assert Path(path).name == ENVIRONMENT.name
    text = ENVIRONMENT.read_text()
    own = {"LANCE_NS_OPTIONS", "CATALOG_PASSWORD"}
    assert not unknown_variables(variables(text).keys() - own)
    assert "$LANCE_NS_OPTIONS" in UNIT.read_text()
    assert "password" in text and "${CATALOG_PASSWORD}" in PAGE


def test_the_server_may_stop_before_systemd_kills_it() -> None:
    from lance_namespace_impls.server.workers.supervisor import STOP_SECONDS

    (seconds,) = settings("Service")["TimeoutStopSec"]
    assert int(seconds) > STOP_SECONDS


@pytest.mark.slow
@pytest.mark.needs("systemd-analyze")
def test_systemd_rates_the_sandbox_below_3() -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager"]
    run = subprocess.run(
        [*command, f"--threshold={MOST_EXPOSURE - 1}", str(UNIT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-500:] + run.stderr
    score = re.search(r"Overall exposure level for lance-ns.service: ([\d.]+)", run.stdout)
    assert score and float(score[1]) < MOST_EXPOSURE / 10


@pytest.mark.slow
@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_all_settings(tmp_path: Path) -> None:
    program = tmp_path / "lance-ns"
    program.touch(mode=0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/lance-ns/bin/lance-ns", str(program)))
    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
