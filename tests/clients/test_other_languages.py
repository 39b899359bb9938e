"""The programs in TypeScript and Go on docs/howto/other-languages.md, run with its commands.

The page contains the pinned versions of the generators and libraries.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from lance_namespace_impls import connect
from lance_namespace_impls.server import ServerOptions, TokenFile, new_token, serving
from tests.docs.snippets import ROOT, Snippet, read

from .node import modules

PAGE = "docs/howto/other-languages.md"
FILE = "file: "
ADDRESS = "http://127.0.0.1:2333"
NPM_INSTALL = "npm install\n"
TIMEOUT = 1800


@frozen
class Server:
    """A server with an empty catalog that requires a token."""

    uri: str
    token: str


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    created = new_token("app")
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(created.entry)
    options = ServerOptions(callers=[TokenFile(tokens)])
    lake = {"path": str(tmp_path / "lake"), "manifest": "true"}
    with connect("dir", lake) as namespace, serving(namespace, options) as uri:
        yield Server(uri, created.token)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def section(title: str) -> list[Snippet]:
    """Return the code blocks below a heading of the page."""
    lines = (ROOT / PAGE).read_text("utf-8").splitlines()
    start = lines.index(f"## {title}") + 1
    headings = [n for n, line in enumerate(lines, 1) if n > start and line.startswith("## ")]
    end = min(headings, default=len(lines))
    return [each for each in read(PAGE) if start < each.line < end]


def write_files(blocks: list[Snippet], folder: Path) -> None:
    """Write the blocks that show a file."""
    for block in blocks:
        if block.mark.startswith(FILE):
            (folder / block.mark.removeprefix(FILE)).write_text(block.text)


def printed(command: str, folder: Path, server: Server) -> str:
    """Return the output of commands of the page, which must succeed."""
    done = subprocess.run(
        ["sh", "-ec", command.replace(ADDRESS, server.uri)],
        cwd=folder,
        env={**os.environ, "LANCE_URI": server.uri, "LANCE_TOKEN": server.token},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    print(done.stdout)
    return done.stdout


def expected() -> str:
    (output,) = section("Output")
    return output.text


@pytest.mark.slow
@pytest.mark.needs("npm")
def test_the_typescript_program_prints_the_output(project: Path, server: Server) -> None:
    blocks = section("TypeScript")
    write_files(blocks, project)
    install, run = (each.text for each in blocks if each.language == "sh")
    assert install == NPM_INSTALL
    description = (project / "package.json").read_text()
    name = hashlib.sha256(description.encode()).hexdigest()[:16]
    (project / "node_modules").symlink_to(modules(name, description) / "node_modules")
    assert printed(run, project, server).endswith(expected())


@pytest.mark.slow
@pytest.mark.needs("go")
def test_the_go_program_prints_the_output(project: Path, server: Server) -> None:
    blocks = section("Go")
    write_files(blocks, project)
    install, run = (each.text for each in blocks if each.language == "sh")
    printed(install, project, server)
    assert printed(run, project, server) == expected()
