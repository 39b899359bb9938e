"""Every shell snippet of the documentation runs, and every shown session prints the shown output.

Commands that install packages or start a nox session are not run; they are compared with
pyproject.toml and noxfile.py. A server is started, and stopped after its first line of output.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from lance_namespace_impls import connect
from tests.servers.ours import first_line_of, server_process

from .snippets import ROOT, TUTORIALS, Snippet, read, snippets

pytestmark = pytest.mark.xdist_group("spread")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"].keys()
# Distributions that the documentation may install.
DISTRIBUTIONS = {"lance-namespace-kit", ".", "nox", "lancedb", "lance-ray"}
SESSIONS = {
    node.name
    for node in ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.decorator_list
}
# Tables that exist before the commands of a page run.
TABLES = {
    "README.md": ["letters"],
    "docs/cli.md": ["sales$orders"],
    "docs/getting-started.md": ["letters"],
    "docs/guide.md": ["letters"],
    "docs/jobs.md": ["letters"],
}
MY_PACKAGE = """
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.catalog.namespace import Namespace


class MyNamespace(Namespace):
    config_type = Config
"""


def commands(snippet: Snippet) -> list[str]:
    """Return the commands of a snippet, one per line."""
    lines = snippet.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def is_checked_only(command: str) -> bool:
    return bool(re.match(r"(python -m )?pip |nox ", command))


SHELL = [each for each in snippets("sh") if each.is_run]
SESSION_PAGES = sorted({each.page for each in snippets("console")})
RUN = [
    each
    for each in SHELL
    if not all(map(is_checked_only, commands(each)))
    # test_in_order.py runs the others of these pages.
    and (each.page not in TUTORIALS or " serve " in each.text)
]


@pytest.mark.parametrize("command", [c for s in SHELL for c in commands(s) if is_checked_only(c)])
def test_installed_packages_and_nox_sessions_exist(command: str) -> None:
    for extras in re.findall(r"(?:lance-namespace-kit|\.)\[([\w,]+)\]", command):
        assert set(extras.split(",")) <= EXTRAS
    for session in re.findall(r"nox -s (\S+)", command):
        assert session in SESSIONS
    installed = re.split(r"\bpip install\b", command)[1:]
    for word in (
        word for part in installed for word in shlex.split(part.split("&&")[0], comments=True)
    ):
        name = re.split(r"[\[=@]", word)[0]
        assert word.startswith("-") or name in DISTRIBUTIONS, word


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with the files and the package that the commands use."""
    flights = {"carrier": ["UA", "AA", "B6"], "dep_delay": ["2", "NA", "-1"]}
    pa.csv.write_csv(pa.table(flights), tmp_path / "flights.csv")
    (tmp_path / "data").mkdir()
    shutil.copy(tmp_path / "flights.csv", tmp_path / "data" / "flights-1.csv")
    names = ["American Airlines Inc.", *(f"Airline {number}" for number in range(1, 16))]
    airlines = {"carrier": ["AA", *(f"A{number}" for number in range(1, 16))], "name": names}
    pa.csv.write_csv(pa.table(airlines), tmp_path / "airlines.csv")
    (tmp_path / "my_package.py").write_text(MY_PACKAGE)
    shutil.copy(ROOT / "examples" / "sqlite_catalog.py", tmp_path)
    profiles = tmp_path / ".config" / "lance-ns" / "config.toml"
    profiles.parent.mkdir(parents=True)
    profiles.write_text(f'[prod]\nimpl = "dir"\npath = "{tmp_path / "lake"}"\n')
    return tmp_path


def fill(folder: Path, page: str) -> None:
    """Create the tables that the commands of a page use."""
    (folder / "lake").mkdir(exist_ok=True)
    with connect("dir", {"path": str(folder / "lake")}) as lake:
        for name in TABLES.get(page, ()):
            lake.create_table({"id": [name]}, pa.table({"id": [1, 2, 3]}))


def environment(folder: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LANCE_NS_")}
    return {**kept, "PATH": path, "PYTHONPATH": str(folder), "HOME": str(folder), **more}


def placed(text: str, folder: Path, uri: str) -> str:
    """Replace the directories and addresses of a snippet with those of the test."""
    lake = str(folder / "lake")
    for old, new in (
        ("/tmp/lake", lake),
        ("/data/lance", lake),
        ("http://localhost:2333", uri),
        ("http://127.0.0.1:2333", uri),
        (" --port 2333", ""),
        ("lance-ns serve", "lance-ns serve --port 0"),
        ("lance-ns conformance", "lance-ns conformance --only 'LN-TABLE-CREATE-*'"),
        ("'sales$orders'", "'sales$orders' --delimiter ."),
        ("PYTHONPATH=generated", "PYTHONPATH=generated:$PYTHONPATH"),
    ):
        text = text.replace(old, new)
    return text


@contextmanager
def address_for(snippet: Snippet, folder: Path) -> Iterator[str]:
    """Start a server if the snippet calls one; yield its address."""
    if ":2333" not in snippet.text:
        yield ""
        return
    with server_process({"impl": "dir", "path": str(folder / "lake")}) as (_, uri):
        yield uri


@pytest.mark.parametrize("snippet", RUN, ids=lambda each: f"{each.page}:{each.line}")
def test_the_commands_of_a_snippet_run(snippet: Snippet, folder: Path) -> None:
    fill(folder, snippet.page)
    if "python -m codegen" in snippet.text:
        for name in ("codegen", "generated"):
            shutil.copytree(ROOT / name, folder / name)
        objects = Path("lance_namespace_impls", "objects")
        shutil.copytree(ROOT / objects, folder / objects)
        shutil.copy(ROOT / "rest.yaml", folder)
    if "my-rest.yaml" in snippet.text:
        for name in ("my-rest.yaml", "upstream.yaml"):
            shutil.copy(ROOT / "rest.yaml", folder / name)
    surroundings = environment(folder)
    if "--impl" not in snippet.text:
        properties = {"LANCE_NS_PROPERTIES": f"path={folder / 'lake'}"}
        surroundings |= {"LANCE_NS_IMPL": "dir", **properties}
    with address_for(snippet, folder) as uri:
        lines = [
            placed(line, folder, uri) for line in commands(snippet) if not is_checked_only(line)
        ]
        script = [line for line in lines if " serve " not in line]
        done = subprocess.run(
            ["bash", "-e", "-c", "\n".join(script).replace("curl ", "curl --fail --silent ")],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert " WARN " not in done.stderr, "Lance warns of what an example does"
    for line in lines:
        if " serve " in line:
            first_line_of(line, folder, surroundings)


def split_session(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a shown session, each with its output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.mark.parametrize("page", SESSION_PAGES)
def test_a_shown_session_prints_the_shown_output(page: str, folder: Path) -> None:
    surroundings = environment(
        folder, LANCE_NS_IMPL="dir", LANCE_NS_PROPERTIES=f"path={folder / 'lake'}"
    )
    with connect("dir", {"path": str(folder / "lake")}) as lake:
        lake.declare_table({"id": ["weather"]})
    dropped: list[str] = []
    for snippet in read(page, "console"):
        for command, shown in split_session(snippet.text):
            if dropped and "flights" in shown:  # a later block shows the state before the drop
                with connect("dir", {"path": str(folder / "lake")}) as lake:
                    lake.declare_table({"id": ["flights"]})
                dropped.clear()
            expected = placed(shown, folder, "http://127.0.0.1:2333")
            command = placed(command, folder, "")
            if " serve " in command:
                line = first_line_of(command, folder, surroundings)
                assert line.startswith(f"Serving dir path={folder / 'lake'} on http://127.0.0.1:")
                continue
            if " drop " in command:  # the prompt appears only on a terminal
                command, expected = f"{command} --yes", expected.splitlines(keepends=True)[-1]
                dropped.append(command)
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=surroundings,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if " import " in command:  # the test has fewer flights
                numbers = re.compile(r"\b[\d,.]+$|(?<=: )[\d,]+(?= rows)", re.MULTILINE)
                expected = numbers.sub("#", expected)
                assert expected in numbers.sub("#", done.stdout), done.stdout
            else:
                parts = map(re.escape, expected.split("…"))
                assert re.fullmatch(".*".join(parts), done.stdout, re.DOTALL), done.stdout


def test_every_block_has_a_known_language() -> None:
    """No test would run a block without a language or with an unknown one."""
    known = {"python", "sh", "console", "toml", "yaml", "text", "json"}
    known |= {"ini", "nginx", "dockerfile"}
    known |= {"ts", "go"}  # tests/clients/test_other_languages.py runs these
    unknown = [f"{each.page}:{each.line}" for each in snippets() if each.language not in known]
    assert unknown == []


# Tests generate the commands on the first page. A message on the last page remains on one line, so
# that a search for any part of it finds the page.
GENERATED_OR_QUOTED = {
    "docs/conformance/verified.md",
    "docs/extending.md",  # shows a whole file of the repository
    "docs/troubleshooting.md",
}
COLUMN = 86


def test_every_line_of_a_block_fits_the_column() -> None:
    """A longer line needs horizontal scrolling on a screen that is 1280 pixels wide."""
    long = [
        f"{each.page}:{each.line}: {line}"
        for each in snippets()
        if each.page not in GENERATED_OR_QUOTED
        for line in each.text.splitlines()
        if len(line) > COLUMN
    ]
    assert long == []
