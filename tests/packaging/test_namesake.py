"""The official package `lance-namespace-impls` is installed in the same environment.

Both packages install into the folder `lance_namespace_impls`. The one installed last overwrites
`__init__.py`, so these tests reproduce the files of both orders.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lance_namespace_impls
import lance_namespace_kit
import lance_namespace_namesake

COMMAND = (
    "pip uninstall -y lance-namespace-impls && "
    "pip install --force-reinstall --no-deps lance-namespace-kit"
)
PACKAGE = Path(lance_namespace_impls.__file__).parent
# Modules that the official __init__.py imports and that are hidden by a folder of this package.
SHARED = [name for name in ("glue", "iceberg", "polaris", "unity") if (PACKAGE / name).is_dir()]


def run(
    site: Path, *arguments: str, without: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run Python with `site` first on the import path, and make importing some modules fail."""
    if without:
        lines = [f"sys.modules[{name!r}] = None" for name in without]
        (site / "sitecustomize.py").write_text("\n".join(["import sys", *lines]))
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(site)},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """Return a site folder with the official package's metadata and its `__init__.py`."""
    site = tmp_path / "site"
    (site / "lance_namespace_impls-0.4.2.dist-info").mkdir(parents=True)
    package = site / "lance_namespace_impls"
    package.mkdir()
    (package / "__init__.py").write_text("")
    return site


@pytest.fixture
def both(official: Path) -> Path:
    """Return the site folder of `official` with this package's files and metadata added."""
    (official / "lance_namespace_kit-0.1.0.dist-info").mkdir()
    shutil.copytree(
        PACKAGE,
        official / "lance_namespace_impls",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return official


def test_installed_after_the_official_package(both: Path) -> None:
    line = last_line(run(both, "-c", "import lance_namespace_impls"))
    assert line.startswith("ImportError: lance-namespace-impls ")
    assert str(both) in line
    assert COMMAND in line


@pytest.mark.parametrize("name", SHARED)
def test_installed_before_the_official_package(both: Path, name: str) -> None:
    (both / "lance_namespace_impls" / "__init__.py").write_text(
        f"from lance_namespace_impls.{name} import Anything\n"
    )
    extras = ("botocore", "boto3", "pymetastore", "thrift", "authlib")
    line = last_line(run(both, "-c", "import lance_namespace_impls", without=extras))
    assert line.startswith("ImportError: lance-namespace-impls ")
    assert COMMAND in line


@pytest.mark.parametrize("start", ["-m", "script"])
def test_the_command_reports_the_official_package(both: Path, start: str) -> None:
    script = both / "start.py"
    script.write_text("import sys\nfrom lance_namespace_kit import main\nsys.exit(main())\n")
    arguments = ("-m", "lance_namespace_kit") if start == "-m" else (str(script),)
    done = run(both, *arguments)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: lance-namespace-impls ")
    assert COMMAND in line


def test_an_editable_install_behind_the_official_package(official: Path) -> None:
    """The official package's folder hides the checkout's, and has no command line."""
    done = run(official, "-m", "lance_namespace_kit", "--version")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert COMMAND in line


def test_the_official_package_removed_again(both: Path) -> None:
    """Uninstalling it deletes `__init__.py`, even if this package wrote the file last."""
    (both / "lance_namespace_impls-0.4.2.dist-info").rmdir()
    (both / "lance_namespace_impls" / "__init__.py").unlink()
    for module in (lance_namespace_kit, lance_namespace_namesake):
        shutil.copy(str(module.__file__), both)
    checkout = str(PACKAGE.parent)
    (both / "sitecustomize.py").write_text(f"import sys\nsys.path.remove({checkout!r})\n")
    done = run(both, "-m", "lance_namespace_kit", "--version")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "is incomplete" in line
    assert "pip install --force-reinstall --no-deps lance-namespace-kit" in line


def test_the_spark_data_source_module_reports_the_official_package(both: Path) -> None:
    line = last_line(run(both, "-c", "import pyspark_lance_namespace"))
    assert COMMAND in line


def test_the_command_starts_without_the_official_package(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "lance_namespace_kit", "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("lance-ns ")


def test_the_official_package_alone_is_accepted(
    official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(official)])
    lance_namespace_kit.refuse_namesake()
