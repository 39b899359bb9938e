"""Create and upgrade a catalog in a database, and serve one if no namespace is selected."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lance_namespace_impls import connect, server
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status

from .lakes import run

LANCE_NS = [sys.executable, "-c", "from lance_namespace_kit import main; main()"]
SECONDS = 300


def environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LANCE_NS_")}
    return {**kept, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


def test_init_creates_a_catalog_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place, shown = ("sql", "-p", "uri=catalog.db"), f"SQLite file {tmp_path}/catalog.db"
    for _ in range(2):
        done = run("init", *place)
        assert (done.stdout, done.stderr) == (f"the catalog is ready in the {shown}\n", "")
    assert json.loads(run("init", *place, "--json").stdout) == {"created": shown}
    run("ls", "--impl", *place)
    assert run("upgrade", *place).stdout == f"the catalog in the {shown} is up to date\n"
    assert json.loads(run("upgrade", *place, "--json").stdout) == {"upgraded": shown}


def test_the_database_of_a_profile(tmp_path: Path) -> None:
    config = tmp_path / "config" / "lance-ns" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[default]\nimpl = "sql"\nuri = "{tmp_path}/a.db"\n'
        f'[other]\nimpl = "sql"\nuri = "{tmp_path}/b.db"\n[lake]\nimpl = "dir"\npath = "x"\n'
    )
    given = ("init", "sql", "--config", str(config))
    for arguments, name in (
        (given, "a"),
        (("init", "sql", "--profile", "other"), "b"),
        ((*given, "--profile", "other", "-p", f"uri={tmp_path}/c.db"), "c"),
    ):
        run(*arguments)
        assert (tmp_path / f"{name}.db").exists()
        assert len(list(tmp_path.glob("*.db"))) == " abc".index(name)
    said = run(*given, "--profile", "lake", status=Status.USAGE).stderr
    assert "the profile must use the backend sql" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("init", "dir"), "'dir' has no database"),
        (("upgrade", "sql", "-p", "uri=missing.db"), "has no catalog"),
        (("ls", "--impl", "sql", "-p", "uri=missing.db"), "lance-ns init sql"),
        (("init", "sql", "-p", "url=x.db"), "did you mean 'uri'"),
        (("ls",), "no namespace selected"),
    ],
)
def test_an_error_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.glob("*.db")) == []


def test_serving_without_a_namespace_creates_one_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lance-catalog.db"
    message = f"no namespace selected: serving the catalog in the SQLite file {file}\n"
    process = subprocess.Popen(
        [*LANCE_NS, "serve", "--port", "0"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stderr.readline() == message
        uri = re.findall(r"http://\S+", process.stdout.readline())[0]
        with connect("rest", {"uri": uri}) as namespace:
            namespace.create_namespace({"id": ["ns"]})
            namespace.declare_table({"id": ["ns", "t"]})
            check_tables(namespace, tmp_path)
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)

    served = []

    def serve(namespace: Namespace, *_: Any, **__: Any) -> None:
        served.append(namespace.config.impl)
        with namespace:
            check_tables(namespace, tmp_path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr(server, "log_requests", lambda: None)
    assert run("serve").stderr == message
    assert served == ["sql"]


def check_tables(namespace: Namespace, folder: Path) -> None:
    assert namespace.list_all_tables({}).tables == ["ns$t"]
    place = namespace.describe_table({"id": ["ns", "t"]}).location
    assert place == f"{folder}/lance-catalog.tables/ns/t"
