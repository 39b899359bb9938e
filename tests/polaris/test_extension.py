"""The backend uses only the extension interface, like a third-party one, and conforms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lance_namespace_impls.polaris
from lance_namespace_impls import extend
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.extend import http, iceberg_rest
from tests.conformance.targets import WIDE

from ..servers.polaris_tables import PolarisTables
from .conftest import Connect
from .subject import Polaris

PUBLIC = {
    "extend": set(extend.__all__),
    "extend.http": set(http.__all__),
    "extend.iceberg_rest": set(iceberg_rest.__all__),
}
FOLDER = Path(lance_namespace_impls.polaris.__file__).parent


@pytest.mark.parametrize("module", sorted(path.name for path in FOLDER.glob("*.py")))
def test_uses_only_the_extension_interface(module: str) -> None:
    for node in ast.walk(ast.parse((FOLDER / module).read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 2:
            assert str(node.module) in PUBLIC
            assert {alias.name for alias in node.names} <= PUBLIC[str(node.module)]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert not str(node.module).startswith("lance_namespace_impls")


@pytest.mark.slow
def test_passes_the_conformance_kit(connected: Connect, polaris: Polaris, tmp_path: Path) -> None:
    target = PythonTarget(connected(root=str(tmp_path)), "polaris")
    # The double has no transactions, so concurrent calls on it have no single order.
    skipped = ("LN-ORDER-*", *WIDE) if isinstance(polaris, PolarisTables) else ()
    outcome = run(target, Options(under=("lake",), skip=skipped, max_seconds=3600))
    getattr(polaris, "differences", []).clear()  # the double's results differ in races
    assert [(f.check.id, f.expected, f.got) for f in outcome.failed()] == []
    assert not [f for f in outcome.findings if f.result is Result.NOT_REACHED]
    assert outcome.leftovers == []
    assert len([f for f in outcome.findings if f.result is Result.PASS]) > 60
