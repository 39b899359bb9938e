"""Runs the kit on our backends and on pylance's server, and writes the page that compares them.

``nox -s conformance`` runs it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.api import check_target
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.page import page
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.redact import Redactor
from lance_namespace_impls.conformance.runner import Options
from lance_namespace_impls.server import serving
from tests.clients.backends import BACKENDS
from tests.servers.pylance import pylance_server

RESULTS = Path(__file__).parents[2] / "docs" / "conformance" / "results.html"
OTHERS = ("pylance-rest",)
UNDER = {"unity": ("main",)}


@contextmanager
def _memory(folder: Path) -> Iterator[Target]:
    yield PythonTarget(connect("memory", {"root": str(folder)}), "memory")


@contextmanager
def _rest(folder: Path) -> Iterator[Target]:
    with serving(connect("memory", {"root": str(folder)})) as uri:
        yield HttpTarget(uri)


@contextmanager
def _pylance(folder: Path) -> Iterator[Target]:
    with pylance_server(folder) as uri:
        yield HttpTarget(uri)


def _backend(name: str) -> Callable[[Path], AbstractContextManager[Target]]:
    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        with BACKENDS[name](folder) as home:
            yield PythonTarget(home.namespace, name)

    return target


TARGETS: dict[str, Callable[[Path], AbstractContextManager[Target]]] = {
    "dir": _backend("dir"),
    "memory": _memory,
    "rest": _rest,
    "unity": _backend("unity"),
    "hive": _backend("hive"),
    "pylance-rest": _pylance,
}


def main() -> int:
    """Write the page; return 1 where one of our own fails a check."""
    reports = []
    wrong = 0
    for name, target_in in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder, target_in(Path(folder)) as target:
            redactor = Redactor()
            redactor.learn([folder])
            options = Options(under=UNDER.get(name, ()), max_seconds=600)
            report = check_target(target, options, redactor=redactor)
        reports.append(report)
        counts = ", ".join(f"{count} {result}" for result, count in report["summary"].items())
        print(f"{name}: {counts} in {report['seconds']:.1f} s", flush=True)
        if name not in OTHERS:
            failed = [e for e in report["checks"] if e["result"] == "fail"]
            wrong += len(failed)
            for entry in failed:
                print(f"  {entry['id']} expected {entry['expected']}; got {entry['got']}")
    RESULTS.write_text(page(reports, list(TARGETS)), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
