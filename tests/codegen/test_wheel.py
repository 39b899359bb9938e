"""The wheel: its contents, and regeneration of the client without a checkout."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT
from .conftest import installed_run as run

pytestmark = pytest.mark.slow


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "lance_namespace_client/rest.py",
        "lance_namespace_client/__init__.pyi",
        "lance_namespace_client/openapi.json",
        "lance_namespace_client/py.typed",
        "lance_namespace_client/models/describe_table_request.py",
        "lance_namespace_impls/registry.py",
        "lance_namespace_impls/py.typed",
        "lance_namespace_codegen/__main__.py",
        "lance_namespace_codegen/py.typed",
        "lance_namespace_codegen/rest.yaml",
        "lance_namespace_codegen/static/_transport.py",
        "lance_namespace_codegen/templates/model.py.jinja",
    } <= names
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        "lance_namespace_client",
        "lance_namespace_codegen",
        "lance_namespace_impls",
        "lance_namespace_kit.py",
        "lance_namespace_namesake.py",
        "lance_namespace_pytest.py",
        "pyspark_lance_namespace.py",
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_contains_every_module_of_the_checkout(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, shipped in (
        ("generated/lance_namespace_client", "lance_namespace_client"),
        ("lance_namespace_impls", "lance_namespace_impls"),
        ("codegen", "lance_namespace_codegen"),
    ):
        for path in (ROOT / folder).rglob("*.py"):
            assert f"{shipped}/{path.relative_to(ROOT / folder).as_posix()}" in names


def test_the_client_in_the_wheel_matches_its_specification(python: Path, tmp_path: Path) -> None:
    where = (
        "import lance_namespace_client as c, pathlib; print(pathlib.Path(c.__file__).parents[1])"
    )
    packages = run(python, tmp_path, "-c", where).strip()
    assert str(ROOT) not in packages
    run(python, tmp_path, "-m", "lance_namespace_codegen", "--check", "--out", packages)


def test_a_changed_specification_changes_the_client(python: Path, tmp_path: Path) -> None:
    spec = tmp_path / "my-rest.yaml"
    text = (ROOT / "rest.yaml").read_text("utf-8")
    changed, count = re.subn(
        r"(?m)^(    DescribeTableRequest:\n(?:      .*\n)*?      properties:\n)",
        r"\1        color: {type: string, description: The color of the table.}\n",
        text,
    )
    assert count == 1
    spec.write_text(changed, "utf-8")

    made = run(python, tmp_path, "-m", "lance_namespace_codegen", "--spec", "my-rest.yaml")

    assert made.startswith("generated/lance_namespace_client: 57 operations, 15")
    show = (
        "import lance_namespace_client as c, lance_namespace_impls;"
        "print(c.__file__, c.DescribeTableRequest(color='red').to_dict())"
    )
    shown = run(python, tmp_path, "-c", show, path=str(tmp_path / "generated"))
    assert shown.split(" ", 1) == [
        str(tmp_path / "generated" / "lance_namespace_client" / "__init__.py"),
        "{'color': 'red'}\n",
    ]
