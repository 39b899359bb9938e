"""A user who installs the wheel can check a server with a pytest test of three lines."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.build import built

SERVER = Path(__file__).with_name("third_party") / "server.py"
TEST = """\
from lance_namespace_impls import conformance
def test_server():
    conformance.require(conformance.check_url("{address}"))
"""


@pytest.fixture
def address() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    process.terminate()
    process.wait()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project, next to a folder with the wheel installed without dependencies."""
    wheel = built("wheel", tmp_path / "wheels")
    target = tmp_path / "site"
    pip = [uv, "pip"] if (uv := shutil.which("uv")) else [sys.executable, "-m", "pip"]
    install = [
        *pip,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(install, check=True)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_a_fault_fails_the_test_with_a_helpful_message(project: Path, address: str):
    (project / "test_server.py").write_text(TEST.format(address=address))
    packages = sysconfig.get_path("purelib")
    # -S skips the .pth files of the environment, so that the wheel is imported, not the checkout.
    environment = {
        "PYTHONPATH": f"{project.parent / 'site'}:{packages}",
        "XDG_STATE_HOME": str(project / "state"),
    }
    command = [sys.executable, "-S", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    found = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert (
        "LN-TABLE-DECLARE-004 DeclareTable of an existing table fails with code 5." in found.stdout
    )
    assert "expected DeclareTable to fail with code 5; got" in found.stdout
    assert "DeclareTable {'id': [" in found.stdout
    assert "site/lance_namespace_impls" in found.stdout or "1 failed" in found.stdout
