"""deploy/Dockerfile: its commands, files, extras and settings exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import PurePath

import pytest

from lance_namespace_impls.server import serving
from tests.servers.echo import EchoNamespace

from .commands import DEPLOY, ROOT, parsed, unknown_variables

TEXT = (DEPLOY / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTINUED = re.compile(r"\\\n\s*")


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the file with their arguments."""
    lines = (line for line in TEXT.splitlines() if not line.lstrip().startswith("#"))
    text = CONTINUED.sub(" ", "\n".join(lines))
    return [(found[1], found[2]) for found in re.finditer(r"^([A-Z]+) (.*)$", text, re.MULTILINE)]


def last_stage() -> dict[str, str]:
    """Return the instructions of the image itself; each occurs at most once."""
    found = instructions()
    start = max(index for index, (name, _) in enumerate(found) if name == "FROM")
    stage = found[start + 1 :]
    assert len(stage) == len(dict(stage))
    return dict(stage)


def test_the_image_runs_the_server_without_root() -> None:
    stage = last_stage()
    program, *arguments = json.loads(stage["ENTRYPOINT"]) + json.loads(stage["CMD"])
    scripts = PROJECT["project"]["scripts"]
    assert program in scripts
    options = parsed(arguments)
    assert options["host"] == "0.0.0.0"
    assert str(options["port"]) == stage["EXPOSE"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    assert not unknown_variables(each.partition("=")[0] for each in shlex.split(stage["ENV"]))


def test_the_health_check_detects_a_server() -> None:
    command = last_stage()["HEALTHCHECK"].partition(" CMD ")[2]
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python", "-c")
    port = last_stage()["EXPOSE"]

    def status(uri: str, path: str = "/healthz") -> int:
        own = code.replace(port, uri.rpartition(":")[2]).replace("/healthz", path)
        assert own.count(path) == 1
        environment = {**os.environ, "http_proxy": "http://127.0.0.1:1"}
        run = subprocess.run(
            [sys.executable, "-c", own], env=environment, stderr=subprocess.DEVNULL, check=False
        )
        return run.returncode

    with serving(EchoNamespace()) as uri:
        assert status(uri) == 0
        assert status(uri, "/missing") != 0
    assert status(uri) != 0


def test_the_extras_exist_and_include_no_spark() -> None:
    (extras,) = (
        value.removeprefix("EXTRAS=").split(",")
        for name, value in instructions()
        if name == "ARG" and value.startswith("EXTRAS=")
    )
    declared = PROJECT["project"]["optional-dependencies"]
    assert {"server", "sql"} <= set(extras) <= set(declared)
    required = " ".join(requirement for extra in extras for requirement in declared[extra])
    assert "pyspark" not in required and "jdk" not in required


def test_everything_is_pinned() -> None:
    installs = [
        part
        for name, value in instructions()
        if name == "RUN"
        for part in value.split("&&")
        if "pip" in part and " install " in part
    ]
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in each for each in installs)
    tools = installs[0].partition("constraints.txt ")[2].split()
    names = {re.split(r"\W*[><=]", each)[0] for each in PROJECT["build-system"]["requires"]}
    assert set(tools) == names
    pinned = (ROOT / "constraints.txt").read_text()
    assert all(f"\n{name}==" in pinned for name in names)


def test_the_last_stage_has_no_build_tools() -> None:
    run = last_stage()["RUN"]
    assert "install" not in run and "rm -rf /usr/local/bin/pip*" in run
    assert "--without-pip /opt/lance-ns" in TEXT


@pytest.fixture(scope="module")
def sent() -> set[str]:
    """Return the names in the checkout's root that the build receives."""
    lines = [
        line
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert lines[0] == "*"
    return {line[1:] for line in lines if line.startswith("!")}


def test_the_build_receives_only_files_that_exist(sent: set[str]) -> None:
    assert not {name for name in sent if not (ROOT / name).exists()}


def test_the_build_receives_all_sources_of_the_wheel(sent: set[str]) -> None:
    build = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    paths = [*build["only-include"], *build["force-include"], "hatch_build.py", "pyproject.toml"]
    paths += [*PROJECT["project"]["license-files"], "README.md", "constraints.txt"]
    assert {PurePath(path).parts[0] for path in paths} <= sent


def test_python_of_the_base_image_is_supported() -> None:
    (base,) = (value for name, value in instructions() if value.startswith("BASE="))
    version = re.search(r"python:(\d+\.\d+)-", base)
    assert version
    wanted = f"Programming Language :: Python :: {version[1]}"
    assert wanted in PROJECT["project"]["classifiers"]
    assert metadata.metadata("lance-namespace-kit")["Requires-Python"] == ">=3.11"
