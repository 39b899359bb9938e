"""The compose file: its commands, variables and files exist, and the servers work together.

The slow test loads the file with the parser of docker compose, which Go builds once per machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pytest
import yaml

from lance_namespace_impls import connect
from lance_namespace_impls.server.workers.supervisor import STOP_SECONDS
from tests.servers.go import built
from tests.servers.postgresql import PASSWORD, USER, shared
from tests.servers.process import bound_to_us
from tests.servers.s3 import GuardedS3

from .commands import DEPLOY, ROOT, parsed, unknown_variables

FOLDER = DEPLOY / "compose"
DEFINED = dict(re.findall(r"^(\w+)=(.*)$", (FOLDER / "env.example").read_text(), re.MULTILINE))
CONFIG = (FOLDER / "config.toml").read_text()
COMPOSE = ("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2")
MAIN = "from lance_namespace_impls.cli import main; main()"
OWN = ("server", "database")
"""The services that run our image."""


def interpolated(text: str) -> str:
    """Return text with the variables of the file ``.env``."""
    return re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: DEFINED[found[1]], text)


SERVICES = yaml.safe_load(interpolated((FOLDER / "compose.yaml").read_text()))["services"]


def test_all_variables_are_in_the_example() -> None:
    text = (FOLDER / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+)", text)) == set(DEFINED)
    assert "$" not in interpolated(text)


@pytest.mark.slow
@pytest.mark.needs("go")
def test_compose_accepts_the_file(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"

    def load(text: str) -> subprocess.CompletedProcess[str]:
        file.write_text(text)
        command = [str(built(*COMPOSE)), "-no-path-resolution", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    text = interpolated((FOLDER / "compose.yaml").read_text())
    done = load(text)
    assert yaml.safe_load(done.stdout)["services"].keys() == SERVICES.keys(), done.stderr
    assert "restartt" in load(text.replace("restart:", "restartt:")).stderr


@pytest.mark.parametrize("name", OWN)
def test_the_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    user = re.search(r"^USER (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert user and service["user"] == user[1]
    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", OWN)
def test_the_command_and_its_files_exist(name: str) -> None:
    service = SERVICES[name]
    options = parsed(service["command"])
    build = service["build"]
    context = (FOLDER / build["context"]).resolve()
    assert context == ROOT and (context / build["dockerfile"]).exists()
    mounted = {each.split(":")[1]: each.split(":")[0] for each in service["volumes"]}
    used = [options.get("tokens"), service["environment"]["LANCE_NS_CONFIG"]]
    assert {str(PurePosixPath(path)) for path in filter(None, used)} <= set(mounted)
    # The user creates the tokens.
    ignored = (FOLDER / ".gitignore").read_text().split()
    assert all((FOLDER / path).exists() or Path(path).name in ignored for path in mounted.values())


@pytest.mark.parametrize("name", OWN)
def test_the_environment_is_read(name: str) -> None:
    own = set(re.findall(r"\$\{(\w+)\}", CONFIG))
    environment = SERVICES[name]["environment"]
    assert own <= environment.keys()
    assert not unknown_variables(environment.keys() - own)
    assert environment["LANCE_NS_PROFILE"] in tomllib.loads(CONFIG)


def test_ports_and_dependencies_match() -> None:
    server = SERVICES["server"]
    (port,) = server["ports"]
    address, outside, inside = port.split(":")
    options = parsed(server["command"])
    assert address == "127.0.0.1" and outside == inside == str(options["port"])
    hosts = re.findall(r"(?:@|http://)(\w+):(\d+)", CONFIG)
    assert hosts == [("postgres", "5432"), ("s3", "9000")]
    assert {host for host, _ in hosts} <= set(SERVICES)
    for service in SERVICES.values():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert SERVICES[needed]["healthcheck"]["test"]


def test_the_server_may_stop_before_it_is_killed() -> None:
    grace = SERVICES["server"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > STOP_SECONDS


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """Yield the environment of a service, with servers on this machine, and the folder of files."""
    s3 = GuardedS3()
    s3.bucket = CONFIG.partition("s3://")[2].partition("/")[0]
    database = shared()
    uri = database.new_database()
    with s3:
        config = tmp_path / "config.toml"
        config.write_text(
            CONFIG.replace("http://s3:9000", s3.uri).replace(
                "lance@postgres:5432/lance",
                f"{USER}@127.0.0.1:{database.port}/{uri.rpartition('/')[2]}",
            )
        )
        environment: dict[str, Any] = {
            **SERVICES["server"]["environment"],
            "LANCE_NS_CONFIG": str(config),
            "POSTGRES_PASSWORD": PASSWORD,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        yield environment, tmp_path


def test_the_services_work_together(setting: tuple[dict[str, str], Path]) -> None:
    environment, folder = setting

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )

    run(*SERVICES["database"]["command"])
    new = run("token", "new", "admin")
    (folder / "tokens.toml").write_text(new.stdout)
    token = max(new.stderr.split(), key=len)

    command = [
        each.replace("/etc/lance-ns", str(folder))
        .replace("--host=0.0.0.0", "--host=127.0.0.1")
        .replace("--port=2333", "--port=0")
        for each in SERVICES["server"]["command"]
    ]
    server = subprocess.Popen(
        [*bound_to_us(), sys.executable, "-c", MAIN, *command],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = re.search(r" on (http://\S+)", line)  # the store's address precedes it
        assert address, line
        with connect("rest", {"uri": address[1], "auth_token": token}) as client:
            client.create_table({"id": ["t"]}, pa.table({"a": [1, 2]}))
            assert client.count_table_rows({"id": ["t"]}).count == 2
            location = client.describe_table({"id": ["t"]}).location
        assert location is not None and location.startswith("s3://lake/tables/")
    finally:
        server.terminate()
        server.communicate(timeout=120)
