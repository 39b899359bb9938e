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
    field = "        purge: {description: Whether to delete the files., type: boolean}\n"
    head = "    DropTableRequest:\n"
    start = text.index("      properties:\n", text.index(head)) + len("      properties:\n")
    (tmp_path / "newest.yaml").write_text(text[:start] + field + text[start:], "utf-8")
    return tmp_path


def test_it_runs_on_a_schedule() -> None:
    # YAML reads the key `on` as true.
    assert WORKFLOW[True]["schedule"] == [{"cron": "17 5 * * 1"}]


def test_it_downloads_the_document_from_its_current_path() -> None:
    assert WORKFLOW["env"]["UPSTREAM"].endswith("/lance-namespace/main/docs/src/spec.yaml")


def test_changes_are_merged_and_the_client_is_generated(project: Path) -> None:
    merged = run("Merge", project)
    assert merged.returncode == 0, merged.stderr
    changes = (project / "temp" / "changes.txt").read_text("utf-8")
    assert "DropTableRequest.purge: only upstream" in changes
    generated = run("Regenerate", project)
    assert generated.returncode == 0, generated.stderr
    request = project / "src" / "my_client" / "models" / "drop_table_request.py"
    assert "purge: bool | None" in request.read_text("utf-8")


def test_an_unreadable_upstream_document_fails_the_step(project: Path) -> None:
    before = (project / "my.yaml").read_text("utf-8")
    (project / "newest.yaml").write_text("no: {document", "utf-8")
    assert run("Merge", project).returncode != 0
    (project / "newest.yaml").unlink()
    assert run("Merge", project).returncode != 0
    assert (project / "my.yaml").read_text("utf-8") == before
