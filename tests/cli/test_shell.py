"""The completion that does without Typer answers as Typer does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.completion import shell_complete

from lance_namespace_impls.cli import completion, shell
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.outline import outline
from tests.cli.lakes import Lake

COMMANDS = outline()["commands"]
TYPER = typer.main.get_command(app)
LINES = [
    "",
    "h",
    "nothing",
    "-",
    "--ver",
    "--version ",
    "--version=",
    "he x",
    "gone ",
    "gone --im",
    "--profile ",
    "--profile h",
    "--profile he",
    "--profile here he",
    "--profile here head f",
    "--profile=here head f",
    "--json head --profile here f",
    "-p path=/gone head --impl dir f",
    "head ",
    "head --",
    "head --i",
    "head --profile here ",
    "head --profile here fl",
    "head --profile here flights ",
    "head --profile=here fl",
    "head --profile here -- fl",
    "head --profile here --json --no",
    "head --impl",
    "head --impl ",
    "head --impl h",
    "head --impl=h",
    "head --impl = hi",
    "head --impl dir --im",
    "head --impl dir -p",
    "head --impl dir -p x=y -",
    "head --impl dir -p ",
    "head --impl dir -ppath=x -p",
    "head --profile ",
    "head --profile h",
    "head --config /gone --profile h",
    "head --profile gone fl",
    "head --unknown x fl",
    "head --json=1 fl",
    "head -n 5 --profile here fl",
    "head -n5 --profile here fl",
    "head 'fl",
    "head --profile 'here' \"fl",
    "head --select a:$b`c --profile here fl",
    "ls --profile deep ",
    "ls --profile deep d",
    "ls --profile deep 'db$",
    "ls --profile deep --delimiter . db.",
    "drop --mode ",
    "drop --behavior c",
    "drop --behavior=c",
    "import --profile here ",
    "import --profile here flights ",
    "import --profile here flights a.csv b",
    "import --no-sp",
    "index ",
    "index c",
    "index create ",
    "index create --profile here fl",
    "index list --profile here flights ",
    "properties set --profile here flights ",
    "profiles l",
    "profiles list ",
    "rename --profile here flights fl",
    "backends d",
    "init s",
    "conformance compare ",
    *(f"{name} -" for name in COMMANDS),
    *(
        f"{name} --profile here "
        for name, command in COMMANDS.items()
        if any("--profile" in parameter["names"] for parameter in command["parameters"])
    ),
]
SHELLS = ["bash", "zsh", "fish", "powershell", "pwsh"]


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a configuration file with two profiles: flat, and with namespaces."""
    folder = tmp_path_factory.mktemp("completed")
    flat = Lake("dir", path=str(folder / "flat"))
    flat.run("declare", "flights")
    deep = Lake("dir", path=str(folder / "deep"), manifest="true")
    deep.run("create", "db")
    deep.run("declare", "db$t")
    file = folder / "config.toml"
    file.write_text(
        f'[here]\nimpl = "dir"\npath = "{folder / "flat"}"\n'
        f'[deep]\nimpl = "dir"\npath = "{folder / "deep"}"\nmanifest = "true"\n'
    )
    return file


def ask(line: str, shell_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment as the function of a shell does."""
    words = f"lance-ns {line}".split(" ")
    given = {"_LANCE_NS_COMPLETE": f"complete_{shell_name}"}
    if shell_name == "bash":
        given |= {"COMP_WORDS": f"lance-ns {line}", "COMP_CWORD": str(len(words) - 1)}
    else:
        given |= {"_TYPER_COMPLETE_ARGS": f"lance-ns {line}"}
    if shell_name in ("powershell", "pwsh"):
        given |= {"_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1]}
    for key, value in given.items():
        monkeypatch.setenv(key, value)


@pytest.fixture
def same(
    catalogs: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str, str], bool]:
    """Return what compares both answers, and returns whether Typer was not needed."""
    monkeypatch.setenv("LANCE_NS_CONFIG", str(catalogs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(catalogs.parent / "cache"))
    monkeypatch.setenv("COLUMNS", "1000")  # Typer breaks a long help at the terminal's width
    monkeypatch.setattr(completion, "WAIT_SECONDS", 60)

    def compare(line: str, shell_name: str) -> bool:
        ask(line, shell_name, monkeypatch)
        capsys.readouterr()
        status = shell.answer_shell()
        ours = capsys.readouterr().out
        if status is None:
            assert ours == ""
            return False
        try:
            theirs = shell_complete(
                TYPER, {}, "lance-ns", "_LANCE_NS_COMPLETE", f"complete_{shell_name}"
            )
        except SystemExit as exit:
            theirs = int(str(exit.code))
        assert (status, ours) == (theirs, capsys.readouterr().out)
        return True

    return compare


@pytest.mark.parametrize("shell_name", SHELLS)
def test_both_ways_answer_alike(
    shell_name: str, same: Callable[[str, str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for action in ("get-args", "is-args") if shell_name == "fish" else ("",):
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", action)
        left = [line for line in LINES if not same(line, shell_name)]
    # What begins with an unknown command or option, Typer answers.
    assert set(left) <= {
        line for line in LINES if line.startswith(("he ", "gone ", "--", "head --unknown"))
    } | {"head --json=1 fl"}
    assert "head --profile here fl" not in left


def test_fish_that_asks_for_nothing_gets_nothing(
    same: Callable[[str, str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("_TYPER_COMPLETE_FISH_ACTION", raising=False)
    assert same("h", "fish")
    ask("h", "bash", monkeypatch)
    monkeypatch.setenv("_LANCE_NS_COMPLETE", "source_bash")
    assert shell.answer_shell() is None
    monkeypatch.setenv("_LANCE_NS_COMPLETE", "complete_nosuch")
    assert shell.answer_shell() is None
    monkeypatch.setenv("_LANCE_NS_COMPLETE", "complete_bash")
    monkeypatch.delenv("COMP_CWORD")
    assert shell.answer_shell() is None


@pytest.mark.parametrize("name", ["LANCE_NS_DELIMITER", "LANCE_NS_PROFILE"])
def test_the_environment_counts(
    name: str, same: Callable[[str, str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, {"LANCE_NS_DELIMITER": ".", "LANCE_NS_PROFILE": "deep"}[name])
    for line in ("ls db.", "ls --profile deep db.", "ls 'db$", "ls d"):
        assert same(line, "bash")


def test_it_answers_without_typer_and_the_catalogs(catalogs: Path, tmp_path: Path) -> None:
    """Once the names and the commands are known."""
    script = (
        "import sys\nfrom lance_namespace_kit import main\n"
        "try: main()\n"
        "finally: print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    line = "lance-ns head --profile here fl"
    env = {
        **os.environ,
        "LANCE_NS_CONFIG": str(catalogs),
        "XDG_CACHE_HOME": str(tmp_path),
        "_LANCE_NS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": "4",
    }
    for _ in range(20):  # a busy machine may make the first of them wait for the catalog no longer
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        loaded = set(done.stderr.split())
        if done.stdout == "flights\n" and not loaded & {"typer", "lance"}:
            break
    assert done.stdout == "flights\n"
    assert not loaded & {"typer", "click", "rich", "lance", "pyarrow", "attr", "httpx"}


def test_a_change_of_the_installation_is_seen(
    same: Callable[[str, str], bool], catalogs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert same("hea", "bash")
    (cache,) = (catalogs.parent / "cache" / "lance-ns").glob("commands-*.json")
    kept = json.loads(cache.read_text())
    assert any(path.endswith("app.py") for path in kept["stamps"])
    stale = kept | {"commands": {}}
    cache.write_text(json.dumps(stale))
    assert shell._outline()["commands"] == {}
    path = next(path for path in kept["stamps"] if path.endswith("app.py"))
    for broken in (
        json.dumps(stale | {"stamps": kept["stamps"] | {path: 1}}),
        json.dumps(stale)[:100],
        "[]",
    ):
        cache.write_text(broken)
        assert shell._outline()["commands"] == kept["commands"]
        assert json.loads(cache.read_text())["stamps"][path] == kept["stamps"][path]


def test_a_cache_that_cannot_be_written_stops_nothing(
    same: Callable[[str, str], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    ask("head --profile here fl", "bash", monkeypatch)
    assert shell.answer_shell() == 0
    assert same("head --profile here fl", "bash")
