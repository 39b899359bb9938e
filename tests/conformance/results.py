"""Runs the conformance kit on our backends and on other implementations, and writes the results.

``nox -s conformance`` runs it. Arguments name the targets; the default is all available ones.
Reports are written to ``build/conformance``: one per target, ``results.html``, which compares them,
and ``results.json``, the compact form. Copy ``results.json`` to ``docs/conformance`` to update the
docs.
The published package that has our import name runs in the interpreter named by
``LANCE_NS_TEST_OFFICIAL_PYTHON``, on the same servers as our backends.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from attrs import frozen

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.api import check_target
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.page import page
from lance_namespace_impls.conformance.process_target import ProcessTarget
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.redact import Redactor
from lance_namespace_impls.conformance.runner import CannotRunError, Options
from lance_namespace_impls.server import serving
from tests.clients.backends import BACKENDS
from tests.servers import real
from tests.servers.hive import shared
from tests.servers.pylance import pylance_server

from .deviations import compact_results

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "conformance"
MAX_SECONDS = 1800
"""Time limit for one target; the Glue and S3 doubles scan all their objects on every call."""
OFFICIAL = "LANCE_NS_TEST_OFFICIAL_PYTHON"
_CANNOT_RUN = "cannot run"
"""Key of the reason stored instead of a report; the pages then omit the target."""
Make = Callable[[Path], AbstractContextManager[Target]]


@frozen(kw_only=True)
class Subject:
    """A target to check."""

    make: Make
    under: tuple[str, ...] = ()
    """Namespace in which objects can be created; the root by default."""
    title: str = ""
    """Title in the list of deviations; empty for our own backends."""
    there: Callable[[], bool] = lambda: True
    """Return whether the target is available on this machine."""


@contextmanager
def _memory(folder: Path) -> Iterator[Target]:
    yield PythonTarget(connect("memory", {"root": str(folder)}), "memory")


@contextmanager
def _manifest(folder: Path) -> Iterator[Target]:
    yield PythonTarget(connect("dir", {"path": str(folder), "manifest": "true"}), "dir-manifest")


@contextmanager
def _rest(folder: Path) -> Iterator[Target]:
    with serving(connect("memory", {"root": str(folder)})) as uri:
        yield HttpTarget(uri)


def _backend(name: str) -> Make:
    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        with BACKENDS[name](folder) as home:
            yield PythonTarget(home.namespace, name)

    return target


@contextmanager
def _real_unity(folder: Path) -> Iterator[Target]:
    server = real.running("unity")
    name = _unity_catalog(server.uri)
    properties = {"endpoint": server.uri, "catalog": name, "root": str(folder)}
    with connect("unity", properties) as namespace:
        yield PythonTarget(namespace, "unity")


def _unity_catalog(uri: str) -> str:
    """Create the catalog for the run if it does not exist, and return its name."""
    answer = httpx.post(f"{uri}/api/2.1/unity-catalog/catalogs", json={"name": "main"}, timeout=60)
    if answer.status_code not in (200, 400, 409):
        answer.raise_for_status()
    return "main"


def _pylance(**more: str) -> Make:
    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        with pylance_server(folder, more) as uri:
            yield HttpTarget(uri)

    return target


def _pylance_class(**more: str) -> Make:
    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        properties = {"root": str(folder), **more}
        yield ProcessTarget("lance.namespace:DirectoryNamespace", properties)

    return target


@contextmanager
def _gravitino(folder: Path) -> Iterator[Target]:
    server = real.running("gravitino")
    location = {"location": folder.as_uri()}
    made = httpx.post(f"{server.uri}/v1/namespace/c1/create", timeout=60,
                      json={"id": ["c1"], "mode": "exist_ok", "properties": location})  # fmt: skip
    made.raise_for_status()
    yield HttpTarget(server.uri)


def _official(module: str, backend: str, keys: Mapping[str, str]) -> Make:
    """Return a function that creates a target for a namespace class of the official package.

    Args:
        module: the class, as ``module:Class``.
        backend: our backend whose server and properties are used.
        keys: the official name of each property that differs from ours; an empty name omits it.
    """

    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        with BACKENDS[backend](folder) as home:
            given = {keys.get(key, key): value for key, value in home.properties.items()}
            kept = {key: value for key, value in given.items() if key}
            yield ProcessTarget(module, kept, os.environ[OFFICIAL])

    return target


def _official_on_hive(cls: str, release: str) -> Subject:
    """Return the official package's Hive namespace, on a metastore that its client supports."""

    @contextmanager
    def target(folder: Path) -> Iterator[Target]:
        properties = {"uri": shared(release).uri, "root": str(folder)}
        yield ProcessTarget(f"lance_namespace_impls.{cls}", properties, os.environ[OFFICIAL])

    title = f"The package lance-namespace-impls of the index: {cls.partition(':')[2]}"
    return Subject(make=target, title=title, there=_has_official)


@contextmanager
def _polaris(folder: Path) -> Iterator[Target]:
    server = real.running("polaris")
    given = {key: server.settings[key] for key in ("credential", "scope", "warehouse")}
    properties = {"endpoint": server.uri, **given, "root": server.settings["root"]}
    with connect("iceberg", properties) as namespace:
        yield PythonTarget(namespace, "iceberg-polaris")


@contextmanager
def _official_on_polaris(folder: Path) -> Iterator[Target]:
    """Yield the official package's Iceberg namespace, on Polaris.

    The package calls only routes with a prefix, which the Iceberg REST fixture does not have.
    """
    server = real.running("polaris")
    token = Path(server.settings["token_file"]).read_text().strip()
    properties = {"endpoint": server.uri, "auth_token": token, "root": server.settings["root"]}
    yield ProcessTarget(
        "lance_namespace_impls.iceberg:IcebergNamespace", properties, os.environ[OFFICIAL]
    )


def _has_official() -> bool:
    return bool(os.environ.get(OFFICIAL))


def _official_subject(name: str, cls: str, keys: Mapping[str, str], *under: str) -> Subject:
    return Subject(
        make=_official(f"lance_namespace_impls.{name}:{cls}", name, keys),
        under=under,
        title=f"The package lance-namespace-impls of the index: {cls}",
        there=_has_official,
    )


SUBJECTS: dict[str, Subject] = {
    "dir": Subject(make=_backend("dir")),
    "dir-manifest": Subject(make=_manifest),
    "memory": Subject(make=_memory),
    "rest": Subject(make=_rest),
    "hive": Subject(make=_backend("hive")),
    "glue": Subject(make=_backend("glue")),
    "unity": Subject(make=_real_unity, under=("main",), there=lambda: real.is_there("unity")),
    "iceberg": Subject(make=_backend("iceberg"), under=("wh",)),
    "iceberg-polaris": Subject(
        make=_polaris, under=("lake",), there=lambda: real.is_there("polaris")
    ),
    "pylance-rest": Subject(make=_pylance(), title="pylance's RestAdapter, with a manifest"),
    "pylance-rest-flat": Subject(
        make=_pylance(manifest_enabled="false"), title="pylance's RestAdapter, without a manifest"
    ),
    "pylance-class": Subject(
        make=_pylance_class(), title="pylance's DirectoryNamespace, with a manifest"
    ),
    "pylance-class-flat": Subject(
        make=_pylance_class(manifest_enabled="false"),
        title="pylance's DirectoryNamespace, without a manifest",
    ),
    "gravitino": Subject(
        make=_gravitino,
        under=("c1",),
        title="Gravitino's Lance REST server",
        there=lambda: real.is_there("gravitino"),
    ),
    "official-hive": _official_on_hive("hive2:Hive2Namespace", "2.3"),
    "official-hive3": _official_on_hive("hive3:Hive3Namespace", "3.1"),
    "official-glue": _official_subject("glue", "GlueNamespace", {"default_namespace_type": ""}),
    "official-unity": _official_subject(
        "unity",
        "UnityNamespace",
        {key: f"unity.{key}" for key in ("endpoint", "catalog", "root")},
        "main",
    ),
    "official-iceberg": Subject(
        make=_official_on_polaris,
        under=("lake",),
        title="The package lance-namespace-impls of the index: IcebergNamespace",
        there=lambda: _has_official() and real.is_there("polaris"),
    ),
}


def report_of(name: str, subject: Subject) -> dict[str, Any]:
    """Return the report of a run on a subject."""
    with tempfile.TemporaryDirectory(prefix="lns-") as folder:
        place = Path(folder)
        with subject.make(place) as target:
            redactor = Redactor()
            redactor.learn([folder])
            options = Options(under=subject.under, max_seconds=MAX_SECONDS)
            return check_target(target, options, redactor=redactor)


def _report_path(name: str) -> Path:
    """Return the path of a target's report; its name has a hash of the code it depends on."""
    digest = hashlib.sha256()
    others = ("lance_namespace_impls/conformance", "generated/lance_namespace_client")
    for folder in others if SUBJECTS[name].title else ("lance_namespace_impls", "generated"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return KEPT / f"{name}-{digest.hexdigest()[:16]}.json"


def write_results(reports: Mapping[str, dict[str, Any]]) -> None:
    """Write the page that compares the targets, and the deviations of other implementations."""
    results = page(list(reports.values()), list(reports))
    (KEPT / "results.html").write_text(results, encoding="utf-8")
    others = {
        SUBJECTS[name].title: report for name, report in reports.items() if SUBJECTS[name].title
    }
    (KEPT / "results.json").write_text(compact_results(others), encoding="utf-8")


def main(names: list[str]) -> int:
    """Write the results; return 1 if one of our own backends fails a check."""
    KEPT.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in names or SUBJECTS:
        subject = SUBJECTS[name]
        if not subject.there():
            print(f"{name}: cannot be had here", flush=True)
            continue
        try:
            report = report_of(name, subject)
        except CannotRunError as error:
            print(f"{name}: {error}", flush=True)
            wrong += not subject.title
            _report_path(name).write_text(json.dumps({_CANNOT_RUN: str(error)}), encoding="utf-8")
            continue
        _report_path(name).write_text(json.dumps(report), encoding="utf-8")
        counts = ", ".join(f"{count} {result}" for result, count in report["summary"].items())
        print(f"{name}: {counts} in {report['seconds']:.1f} s", flush=True)
        if not subject.title:
            failed = [entry for entry in report["checks"] if entry["result"] == "fail"]
            wrong += len(failed)
            for entry in failed:
                print(f"  {entry['id']} expected {entry['expected']}; got {entry['got']}")
    found = {name: _report_path(name) for name in SUBJECTS}
    if missing := [name for name, path in found.items() if not path.exists()]:
        print(f"no comparison is written: there is no report on {', '.join(missing)}", flush=True)
    else:
        reports = {name: json.loads(path.read_text("utf-8")) for name, path in found.items()}
        write_results({name: r for name, r in reports.items() if _CANNOT_RUN not in r})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
