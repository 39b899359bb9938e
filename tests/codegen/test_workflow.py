"""The example workflow that regenerates a client when the protocol changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT

WORKFLOW = yaml.safe_load((ROOT / "examples" / "regenerate.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in WORKFLOW["jobs"]["regenerate"]["steps"] if "name" in step}


def run(step: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, with a file as the upstream document."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "UPSTREAM": (folder / "newest.yaml").as_uri(),
        "RUNNER_TEMP": str(folder / "temp"),
    }
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", STEPS[step]["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "temp").mkdir()
    text = (ROOT / "rest.yaml").read_text("utf-8")
    (tmp_path / "my.yaml").write_text(text, "utf-8")
    newest = text.replace("    DescribeTableRequest:", "    DescribeTheTableRequest:", 1)
    (tmp_path / "newest.yaml").write_text(newest, "utf-8")
    return tmp_path


def test_it_runs_on_a_schedule() -> None:
    # YAML reads the key `on` as true.
    assert WORKFLOW[True]["schedule"] == [{"cron": "17 5 * * 1"}]


def test_it_downloads_the_document_from_its_current_path() -> None:
    assert WORKFLOW["env"]["UPSTREAM"].endswith("/lance-namespace/main/docs/src/spec.yaml")


def test_the_differences_are_reported_and_the_client_is_generated(project: Path) -> None:
    compared = run("Compare", project)
    assert compared.returncode == 0, compared.stderr
    told = (project / "temp" / "differences.txt").read_text("utf-8")
    assert "model DescribeTheTableRequest: only upstream" in told
    assert (project / "upstream.yaml").read_text() == (project / "newest.yaml").read_text()
    made = run("Regenerate", project)
    assert made.returncode == 0, made.stderr
    assert (project / "src" / "my_client" / "rest.py").is_file()


def test_an_unreadable_upstream_document_fails_the_step(project: Path) -> None:
    (project / "newest.yaml").write_text("no: {document", "utf-8")
    assert run("Compare", project).returncode != 0
    (project / "newest.yaml").unlink()
    assert run("Compare", project).returncode != 0
