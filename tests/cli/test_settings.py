"""Profiles and the configuration file; options before the command; the log; completion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lance_namespace_impls.cli.failures import Status

from .lakes import SECRET, FailingNamespace, Lake, impl_of, run

OURS = [sys.executable, "-m", "lance_namespace_kit"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config" / "lance-ns" / "config.toml"


@pytest.fixture
def profile(lake: Lake) -> str:
    lake.run("declare", "flights")
    run("profiles", "add", "here", *lake.options)
    return "here"


def test_where_the_file_is(config: Path, tmp_path: Path) -> None:
    assert run("config", "path").stdout == f"{config}\n"
    shown = json.loads(run("config", "path", "--json").stdout)
    assert shown == {"path": str(config), "exists": False}
    named = run("config", "path", "--config", str(tmp_path / "other.toml")).stdout
    assert named == f"{tmp_path / 'other.toml'}\n"


def test_a_profile_is_added_listed_and_used(config: Path, profile: str, lake: Lake) -> None:
    run("profiles", "add", 'o\'dd "name"', "--impl", "rest", "-p", "uri=http://127.0.0.1:9")
    assert config.stat().st_mode & 0o777 == 0o600
    listed = json.loads(run("profiles", "list", "--json").stdout)["profiles"]
    assert [each["name"] for each in listed] == ["here", 'o\'dd "name"']
    assert run("ls", "-t", "--profile", profile).stdout == "flights\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("add", "here", "--impl", "dir", "-p", "path=x"), Status.USAGE, "already"),
        (("add", "new"), Status.USAGE, "--impl"),
        (("add", "new", "--impl", "dir", "-p", "pth=x"), Status.INVALID, "did you mean 'path'"),
        (("add", "new", "--impl", "dir", "-p", "path=${UNSET_X}"), Status.USAGE, "UNSET_X"),
        (("test", "gone"), Status.USAGE, "it has here"),
        (("list", "--impl", "dir"), Status.USAGE, "profiles add"),
    ],
)
def test_profiles_that_cannot_be_meant(
    config: Path, profile: str, arguments: tuple[str, ...], status: int, message: str
) -> None:
    before = config.read_text()
    assert message in run("profiles", *arguments, status=status).stderr
    assert config.read_text() == before


def test_profiles_are_tried(profile: str) -> None:
    assert "answers" in run("profiles", "test").stdout
    dead = ("--impl", "rest", "-p", "uri=http://127.0.0.1:9", "-p", "max_retries=0")
    run("profiles", "add", "dead", *dead, "-p", f"auth_token={SECRET}")
    from typer.testing import CliRunner

    from lance_namespace_impls.cli.app import app

    result = CliRunner().invoke(app, ["profiles", "test"])
    assert result.exit_code == Status.NOT_DONE
    assert "is the server running?" in result.stdout
    assert SECRET not in result.output
    assert "answers" in run("profiles", "test", profile).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--profile", "here", "ls", "-t"),
        ("--profile=here", "ls", "-t"),
        ("--profile", "here", "--debug", "ls", "-t"),
        ("--delimiter", ".", "ls", "-t", "--profile", "here"),
    ],
)
def test_options_of_every_command_stand_before_it_too(
    profile: str, arguments: tuple[str, ...]
) -> None:
    assert run(*arguments).stdout == "flights\n"


def test_what_is_no_option_of_every_command_stays_an_error(profile: str) -> None:
    assert "no such option: --tables" in run("--tables", "ls", status=Status.USAGE).stderr
    assert (
        "no such option: --profile"
        in run("--profile", "here", "backends", status=Status.USAGE).stderr
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    gone = Lake("dir", path=str(tmp_path / "gone"))
    for command in (("ls",), ("head", "t"), ("drop", "t", "--yes")):
        assert f"path {tmp_path / 'gone'} does not exist" in gone.error(*command, status=3)
        assert not (tmp_path / "gone").exists()
    gone.run("declare", "t")
    assert gone.run("ls", "-t").stdout == "t\n"


def test_properties_of_the_environment_want_an_implementation(lake: Lake) -> None:
    env = {"LANCE_NS_PROPERTIES": "path=/x"}
    assert "set without LANCE_NS_IMPL" in run("ls", env=env, status=Status.USAGE).stderr
    lake.run("declare", "t")
    assert run("ls", "-t", *lake.options, env=env).stdout == "t\n"


def in_process(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*OURS, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


def test_the_log_is_on_stderr_and_has_no_secret() -> None:
    dead = ("--impl", "rest", "-p", "uri=http://127.0.0.1:9", "-p", "max_retries=0")
    secret = ("-p", f"headers.x-mine={SECRET}")
    quiet = in_process("ls", *dead, *secret, status=7)
    assert len(quiet.stderr.splitlines()) == 1
    told = in_process("ls", *dead, *secret, "--log-level", "debug", status=7)
    assert "debug httpcore.connection: connect_tcp.started" in told.stderr
    assert SECRET not in told.stderr
    *lines, _ = in_process(
        "--log-json", "--log-level=debug", "ls", *dead, status=7
    ).stderr.splitlines()
    assert {"time", "level", "logger", "message"} == set(json.loads(lines[0]))


def test_the_log_says_what_was_done(lake: Lake) -> None:
    told = in_process("ls", "-v", *lake.options).stderr
    assert re.search(r" info \S+operation: ListTables.* took \d+ ms$", told, re.MULTILINE)
    lake.run("declare", "t")
    lines = in_process(
        "drop", "t", "--yes", "--log-json", "--log-level=debug", *lake.options
    ).stderr.splitlines()
    assert lines and all(json.loads(line)["message"] for line in lines)


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_an_interruption_is_said_in_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [*OURS, "ls", "--impl", "rest", "-p", f"uri={uri}", *arguments]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
    assert process.returncode == Status.INTERRUPTED
    assert out == ""
    assert [line.count("interrupted") for line in error.splitlines()] == [1]


# --- completion


def completed(line: str, tmp_path: Path) -> list[str]:
    words = line.split(" ")
    env = {
        **os.environ,
        "_LANCE_NS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    done = subprocess.run(OURS, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def soon(line: str, tmp_path: Path) -> list[str]:
    """Complete a line again and again; a busy machine may make the shell wait no longer."""
    for _ in range(20):
        if found := completed(line, tmp_path):
            return found
    return []


def test_the_shell_completes_names(tmp_path: Path, profile: str) -> None:
    assert completed("lance-ns ls --impl hi", tmp_path) == ["hive", "hive2", "hive3"]
    assert completed("lance-ns ls --profile h", tmp_path) == ["here"]
    assert soon("lance-ns head --profile here f", tmp_path) == ["flights"]
    assert soon("lance-ns --profile here head f", tmp_path) == ["flights"]
    assert completed("lance-ns head --profile here x", tmp_path) == []
    assert completed("lance-ns head --profile gone f", tmp_path) == []


def test_a_namespace_goes_on_with_the_delimiter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from lance_namespace_impls.cli import completion

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(completion, "WAIT_SECONDS", 60)
    lake = Lake("dir", path=str(tmp_path / "deep"), manifest="true")
    lake.run("create", "db")
    lake.run("declare", "db$t")
    given = [f"path={tmp_path / 'deep'}", "manifest=true"]
    context = SimpleNamespace(params={"impl": "dir", "property": given})
    assert completion.complete_id(context, "d") == ["db$"]  # type: ignore[arg-type]
    assert completion.complete_id(context, "db$") == ["db$t"]  # type: ignore[arg-type]


def test_names_come_from_the_cache_for_a_minute(
    tmp_path: Path, profile: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.cli import completion

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(completion, "WAIT_SECONDS", 60)
    params = {"profile": profile}
    assert completion._names(params, [])["tables"] == ["flights"]
    lake.run("declare", "later")
    assert completion._names(params, [])["tables"] == ["flights"]
    then = time.time() + 61
    monkeypatch.setattr(completion.time, "time", lambda: then)
    assert completion._names(params, [])["tables"] == ["flights", "later"]


def test_a_catalog_that_fails_completes_nothing(tmp_path: Path) -> None:
    options = f"--impl {impl_of(FailingNamespace)} -p code=17"
    assert completed(f"lance-ns head {options} f", tmp_path) == []
