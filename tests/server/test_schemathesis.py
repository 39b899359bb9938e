"""Requests that schemathesis generates from the specification get only documented responses."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import Limits, ServerOptions, serving
from tests.servers.unity import UnityDouble

ROOT = Path(__file__).parents[2]
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
EXAMPLES = os.environ.get("LANCE_NS_FUZZ_EXAMPLES", "20")


@contextlib.contextmanager
def served(impl, folder):
    """Yield a namespace and the identifier of its child namespace for tables."""
    with contextlib.ExitStack() as stack:
        properties, parent = {"path": str(folder)}, []
        if impl == "memory":
            properties = {"name": "fuzzed"}
        elif impl == "unity":
            server = stack.enter_context(UnityDouble())
            server.add_catalog("main", {})
            properties = {"endpoint": server.uri, "catalog": "main", "root": str(folder)}
            parent = ["main", "s"]
        namespace = stack.enter_context(connect(impl, properties))
        if parent:
            namespace.create_namespace({"id": parent})
        yield namespace, parent


@pytest.mark.slow
@pytest.mark.parametrize("impl", ["dir", "memory", "unity"])
def test_generated_requests_get_documented_responses(impl, tmp_path):
    document = tmp_path / "openapi.json"
    document.write_bytes(
        resources.files("lance_namespace_client").joinpath("openapi.json").read_bytes()
    )
    options = ServerOptions(limits=Limits(query_seconds=30))
    with served(impl, tmp_path / "tables") as (namespace, parent):
        for name in ("t", "0"):
            namespace.create_table({"id": [*parent, name]}, pa.table({"id": [1, 2, 3]}))
        with serving(namespace, options) as uri:
            run = subprocess.run(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "run", str(document)),
                    *("--url", uri, "--phases", "coverage,fuzzing", "--max-examples", EXAMPLES),
                    *("--checks", ",".join(CHECKS), "--seed", "7", "--continue-on-failure"),
                    *("--no-color", "--generation-database", "none"),
                ],
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "SCHEMATHESIS_HOOKS": "tests.server.arrow_serializer",
                },
                capture_output=True,
                text=True,
                check=False,
            )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2000:]
    assert "Coverage" in run.stdout and "Fuzzing" in run.stdout
