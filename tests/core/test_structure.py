"""The structure of the packages: import cycles and layers."""

from __future__ import annotations

import ast
import re
import tomllib
from fnmatch import fnmatch
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("lance_namespace_client", "lance_namespace_impls")


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, including imports for annotations."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    return {
        name: graph.find_modules_directly_imported_by(name)
        for name in sorted(graph.modules)
        if not graph.is_module_squashed(name)
    }


def test_there_is_no_import_cycle(imports: dict[str, set[str]]) -> None:
    # The models of the protocol may refer to each other: they count as one module.
    models = "lance_namespace_client.models.*"
    graph: dict[str, set[str]] = {}
    for name, others in imports.items():
        nodes = {models if fnmatch(each, models) else each for each in others}
        graph.setdefault(models if fnmatch(name, models) else name, set()).update(nodes)
    graph[models].discard(models)
    assert len(graph) > 150
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_private_module_of_the_client_is_imported(imports: dict[str, set[str]]) -> None:
    assert [
        f"{name} imports {other}"
        for name, others in imports.items()
        for other in others
        if name.startswith("lance_namespace_impls")
        and re.match(r"lance_namespace_client\.(.*\.)?_", other)
    ] == []
    # Also search the text for private names, and for imports that are not in the graph.
    written = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "lance_namespace_impls").rglob("*.py"))
        if re.search(r"lance_namespace_client\._|lance_namespace_client import _", path.read_text())
    ]
    assert written == []


def imported_packages(path: Path) -> set[str]:
    """Return the packages of this project that a module imports, including lazy imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(".".join(node.module.split(".")[:2]))
        elif isinstance(node, ast.Import):
            found.update(".".join(alias.name.split(".")[:2]) for alias in node.names)
    return {name for name in found if name.startswith(("lance_namespace_", "codegen"))}


def test_root_modules_respect_the_layers(imports: dict[str, set[str]]) -> None:
    lowest = "lance_namespace_namesake"
    assert {path.stem: imported_packages(path) for path in ROOT.glob("*lance_namespace*.py")} == {
        lowest: set(),
        "lance_namespace_kit": {lowest, "lance_namespace_impls.cli"},
        "lance_namespace_pytest": {
            "lance_namespace_client.errors",
            "lance_namespace_impls.conformance",
        },
        "pyspark_lance_namespace": {lowest, "lance_namespace_impls.spark"},
    }
    for path in (ROOT / "lance_namespace_impls").rglob("*.py"):
        roots = {name for name in imported_packages(path) if "." not in name}
        assert roots <= {lowest, "lance_namespace_client", "lance_namespace_codegen"}, path


def test_the_import_rules_have_no_exceptions() -> None:
    (rules,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    assert set(rules) == {"name", "type", "layers"}
    layers = [
        {part.rpartition(".")[2] for part in re.findall(r"[\w.]+", layer)}
        for layer in rules["layers"]
    ]
    backends = layers.pop(4)
    assert layers == [
        {"cli"},
        {"server", "spark", "conformance"},
        {"ingest", "maintenance"},
        {"distributed"},
        {"extend"},
        {"iceberg_rest"},
        {"catalog"},
        {"partitioned"},
        {"objects"},
        {"tables"},
        {"core"},
        {"lance_namespace_client"},
    ]
    # The parts of one layer may not import each other: no ":" separates them.
    assert not any(":" in layer for layer in rules["layers"])
    folders = {path.parent.name for path in (ROOT / "lance_namespace_impls").glob("*/__init__.py")}
    assert folders == backends.union(*layers) - {"lance_namespace_client"}
