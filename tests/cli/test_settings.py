"""Profiles and the configuration file, options before the command, the log, and completion."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from lance_namespace_impls.cli import completion, logs
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Report, Status

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


def test_the_output_of_profile_commands(config: Path, profile: str, lake: Lake) -> None:
    lines = [line.split() for line in run("profiles", "list").stdout.splitlines()]
    assert lines == [["Profile", "Implementation", "Properties"], ["here", "dir", lake.options[3]]]
    added = ("profiles", "add", "two", "--impl", "rest", "-p", "uri=http://127.0.0.1:9")
    assert run(*added, "-p", "max_retries=0").stdout == f"profile two added to {config}\n"
    assert json.loads(run("profiles", "add", "three", "--impl", "memory", "--json").stdout) == {
        "path": str(config), "profile": "three",
    }  # fmt: skip
    listed = json.loads(run("profiles", "list", "--json").stdout)
    assert listed["path"] == str(config)
    found = {each["name"]: (each["impl"], each["properties"]) for each in listed["profiles"]}
    assert found["two"] == ("rest", {"max_retries": "0", "uri": "http://127.0.0.1:9"})
    only = json.loads(run("profiles", "list", "here", "--json").stdout)["profiles"]
    assert only == [
        {"name": "here", "impl": "dir", "properties": {"path": lake.options[3].partition("=")[2]}}
    ]


def test_without_a_file_there_are_no_profiles(config: Path) -> None:
    assert run("profiles", "list").stdout == run("profiles", "test").stdout == ""
    listed = json.loads(run("profiles", "list", "--json").stdout)
    assert listed == {"path": str(config), "profiles": []}
    for action in ("list", "test"):
        run("profiles", action, "--config", "/nowhere/x.toml", status=Status.USAGE)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = ("--impl", "memory", "--config", str(tmp_path / "file" / "x.toml"))
    said = run("profiles", "add", "new", *options, status=Status.USAGE).stderr
    assert "cannot be written: " in said and "[Errno" not in said


def test_unclosed_quotes_in_the_environment() -> None:
    env = {"LANCE_NS_IMPL": "dir", "LANCE_NS_PROPERTIES": "path='x"}
    said = run("ls", env=env, status=Status.USAGE).stderr
    assert said == "error: LANCE_NS_PROPERTIES cannot be read: No closing quotation\n"


@pytest.mark.parametrize(
    ("arguments", "lances"),
    [
        ((), "error"),
        (("-v",), "warn"),
        (("--log-level", "debug"), "info"),
        (("--log-level", "warning"), "warn"),
        (("--log-level", "error"), "error"),
        (("--log-level", "debug", "--log-json"), "error"),
    ],
)
def test_the_log_level_of_lance(
    arguments: tuple[str, ...], lances: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setenv("LANCE_LOG", "trace")
    run("config", "path", *arguments)
    assert os.environ["LANCE_LOG"] == "trace"
    del os.environ["LANCE_LOG"]
    run("config", "path", *arguments)
    assert os.environ["LANCE_LOG"] == lances


@pytest.mark.parametrize("as_json", [True, False])
def test_a_line_of_the_log(as_json: bool) -> None:
    report = Report(as_json=False, debug=False)
    report.secrets = frozenset({SECRET})
    given = {"created": 1.5, "levelname": "ERROR", "name": "x", "msg": f"a\n%s {SECRET}"}
    record = logging.makeLogRecord({**given, "args": ("b",)})
    try:
        raise ValueError(SECRET)
    except ValueError:
        record.exc_info = sys.exc_info()
    line = logs._formatter(report, as_json).format(record)
    assert SECRET not in line and "ValueError: ***" in line and "\n" not in line
    moment = "1970-01-01T00:00:01.500+00:00"
    if not as_json:
        assert line.startswith(f"{moment} error x: a b *** Traceback")
        return
    found = json.loads(line)
    assert found.pop("message").startswith("a\nb ***\nTraceback")
    assert found == {"time": moment, "level": "error", "logger": "x"}


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
def test_invalid_arguments_of_profile_commands(
    config: Path, profile: str, arguments: tuple[str, ...], status: int, message: str
) -> None:
    before = config.read_text()
    assert message in run("profiles", *arguments, status=status).stderr
    assert config.read_text() == before


def test_a_profile_may_name_a_class_in_the_current_folder(config: Path, tmp_path: Path) -> None:
    (tmp_path / "of_mine.py").write_text(
        "from lance_namespace_impls.directory import DirectoryNamespace as Mine\n"
    )
    script = Path(sys.executable).with_name("lance-ns")  # python -m always searches the folder
    given = ["--impl", "of_mine:Mine", "-p", f"path={tmp_path}", "--config", config]
    added = subprocess.run(
        [script, "profiles", "add", "mine", *given],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    assert 'impl = "of_mine:Mine"' in config.read_text()


def test_profiles_are_tested(profile: str) -> None:
    assert "responds" in run("profiles", "test").stdout
    dead = ("--impl", "rest", "-p", "uri=http://127.0.0.1:9", "-p", "max_retries=0")
    run("profiles", "add", "dead", *dead, "-p", f"auth_token={SECRET}")
    result = CliRunner().invoke(app, ["profiles", "test", "--json"])
    assert result.exit_code == Status.NOT_DONE and SECRET not in result.output
    good, bad = json.loads(result.stdout)["profiles"]
    assert good.pop("millis") >= 0
    assert (good, bad["ok"]) == ({"name": "here", "ok": True, "error": None}, False)
    result = CliRunner().invoke(app, ["profiles", "test"])
    assert result.exit_code == Status.NOT_DONE
    assert "check that the server is running" in result.stdout
    assert SECRET not in result.output
    assert "responds" in run("profiles", "test", profile).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--profile", "here", "ls", "-t"),
        ("--profile=here", "ls", "-t"),
        ("--profile", "here", "--debug", "ls", "-t"),
        ("--delimiter", ".", "ls", "-t", "--profile", "here"),
    ],
)
def test_shared_options_can_precede_the_command(profile: str, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).stdout == "flights\n"


def test_other_options_cannot_precede_the_command(profile: str) -> None:
    assert "no such option: --tables" in run("--tables", "ls", status=Status.USAGE).stderr
    assert (
        "no such option: --profile"
        in run("--profile", "here", "backends", status=Status.USAGE).stderr
    )


def test_a_missing_folder(tmp_path: Path) -> None:
    gone = Lake("dir", path=str(tmp_path / "gone"))
    for command in (("ls",), ("head", "t"), ("drop", "t", "--yes")):
        assert f"path {tmp_path / 'gone'} does not exist" in gone.error(*command, status=3)
        assert not (tmp_path / "gone").exists()
    gone.run("declare", "t")
    assert gone.run("ls", "-t").stdout == "t\n"


@pytest.mark.parametrize(
    "command",
    [
        ("create", "t", "--data", "a.csv"),
        ("declare", "t"),
        ("import", "t", "a.csv"),
        ("import-tables", "tables.toml"),
        ("operations",),
    ],
)
def test_commands_that_accept_a_missing_folder(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("n\n1\n")
    Path("tables.toml").write_text('[[table]]\nid = "t"\nfiles = ["a.csv"]\n')
    gone = Lake("dir", path=str(tmp_path / "gone"))
    gone.run(*command)
    assert (tmp_path / "gone" / "t.lance").exists() is (command[0] != "operations")


def test_properties_in_the_environment_require_an_implementation(lake: Lake) -> None:
    env = {"LANCE_NS_PROPERTIES": "path=/x"}
    assert "but LANCE_NS_IMPL is not" in run("ls", env=env, status=Status.USAGE).stderr
    lake.run("declare", "t")
    assert run("ls", "-t", *lake.options, env=env).stdout == "t\n"


def in_process(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*OURS, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


def test_the_log_is_on_stderr_and_contains_no_secrets() -> None:
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


def test_the_log_contains_operations(lake: Lake) -> None:
    told = in_process("ls", "-v", *lake.options).stderr
    assert re.search(r" info \S+operation: ListTables.* took \d+ ms$", told, re.MULTILINE)
    lake.run("declare", "t")
    lines = in_process(
        "drop", "t", "--yes", "--log-json", "--log-level=debug", *lake.options
    ).stderr.splitlines()
    assert lines and all(json.loads(line)["message"] for line in lines)


def test_an_interruption_is_reported_in_one_line_of_json() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [*OURS, "ls", "--impl", "rest", "-p", f"uri={uri}", "--json"]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=300)
    assert process.returncode == Status.INTERRUPTED
    assert out == ""
    assert [line.count("interrupted") for line in error.splitlines()] == [1]


# --- completion


def typed(line: str) -> dict[str, str]:
    """Return the variables with which Bash requests the completion of a line."""
    word = str(line.count(" "))
    return {"_LANCE_NS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": word}


def completed(line: str) -> list[str]:
    done = CliRunner().invoke(app, env=typed(line), prog_name="lance-ns")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an empty cache, and a long time limit for completions on a busy machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(completion, "WAIT_SECONDS", 60)


def test_the_shell_completes_names() -> None:
    env = {**os.environ, **typed("lance-ns ls --impl hi")}
    done = subprocess.run(OURS, env=env, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["hive", "hive2", "hive3"], "")


def test_names_in_a_catalog_are_completed(patient: None, profile: str) -> None:
    assert completed("lance-ns ls --profile h") == ["here"]
    assert completed("lance-ns head --profile here f") == ["flights"]
    assert completed("lance-ns --profile here head f") == ["flights"]
    assert completed("lance-ns head --profile here x") == []
    assert completed("lance-ns head --profile gone f") == []


def test_a_namespace_is_completed_with_the_delimiter(patient: None, tmp_path: Path) -> None:
    lake = Lake("dir", path=str(tmp_path / "deep"), manifest="true")
    lake.run("create", "db")
    lake.run("declare", "db$t")
    given = [f"path={tmp_path / 'deep'}", "manifest=true"]
    context = SimpleNamespace(params={"impl": "dir", "property": given})
    assert completion.complete_id(context, "d") == ["db$"]  # type: ignore[arg-type]
    assert completion.complete_id(context, "db$") == ["db$t"]  # type: ignore[arg-type]


def test_names_are_cached_for_a_minute(
    patient: None, profile: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"profile": profile}
    assert completion._names(params, [])["tables"] == ["flights"]
    lake.run("declare", "later")
    assert completion._names(params, [])["tables"] == ["flights"]
    then = time.time() + 61
    monkeypatch.setattr(completion.time, "time", lambda: then)
    assert completion._names(params, [])["tables"] == ["flights", "later"]


def test_a_catalog_that_fails_completes_nothing(patient: None) -> None:
    options = f"--impl {impl_of(FailingNamespace)} -p code=17"
    assert completed(f"lance-ns head {options} f") == []
