"""Downloads jars by Maven coordinates, with all their dependencies.

It uses ``mvn`` if that is installed. Otherwise it downloads Maven itself with the Ivy in pyspark,
so that dependencies are resolved in the same way.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .cache import cache_folder, fetching
from .java import java_command

__all__ = ["MavenError", "jars"]

MAVEN = "3.9.11"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
TIMEOUT = 900
# Old Hadoop poms depend on a JDK jar that does not exist since Java 9.
NEVER = ("jdk.tools:*",)


class MavenError(RuntimeError):
    """Coordinates cannot be resolved; the message contains Maven's errors."""


def jars(coordinates: Sequence[str], exclude: Sequence[str] = ()) -> list[Path]:
    """Return jars and their runtime dependencies, downloaded once per machine.

    Args:
        coordinates: ``group:artifact:version`` or ``group:artifact:version:classifier``. If an
            artifact has two versions, the first in this order is used.
        exclude: ``group:artifact`` of dependencies to exclude; ``*`` matches any.

    Returns:
        the jars, sorted by name.

    Raises:
        MavenError: a coordinate cannot be resolved, or Maven cannot be downloaded.
    """
    pom = _pom(coordinates, [*exclude, *NEVER])
    target = cache_folder() / "jars" / hashlib.sha256(pom.encode()).hexdigest()[:16]
    with fetching(target) as folder:
        if folder is not None:
            _copy_dependencies(pom, folder)
    return sorted(target.glob("*.jar"))


def _pom(coordinates: Sequence[str], exclude: Sequence[str]) -> str:
    left_out = ""
    for each in exclude:
        group, artifact = each.split(":")
        left_out += (
            f"<exclusion><groupId>{escape(group)}</groupId>"
            f"<artifactId>{escape(artifact)}</artifactId></exclusion>"
        )
    wanted = ""
    for each in coordinates:
        group, artifact, version, *classifier = each.split(":")
        wanted += (
            f"<dependency><groupId>{escape(group)}</groupId>"
            f"<artifactId>{escape(artifact)}</artifactId><version>{escape(version)}</version>"
            + "".join(f"<classifier>{escape(c)}</classifier>" for c in classifier)
            + f"<exclusions>{left_out}</exclusions></dependency>"
        )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>"
        "<artifactId>servers</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def _copy_dependencies(pom: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(pom)
        _run(
            [
                *_maven(),
                *("--batch-mode", "--quiet", "--file", f"{project}/pom.xml"),
                f"{PLUGIN}:copy-dependencies",
                f"-DoutputDirectory={folder}",
                "-DincludeScope=runtime",
            ]
        )


def _maven() -> list[str]:
    installed = shutil.which("mvn")
    if installed:
        return [installed]
    java = [str(java_command()), *_truststore_options()]
    home = _maven_home(java)
    return [
        *java,
        f"-Dclassworlds.conf={home}/bin/m2.conf",
        f"-Dmaven.home={home}",
        f"-Dmaven.multiModuleProjectDirectory={home}",
        "-cp",
        str(next((home / "boot").glob("plexus-classworlds-*.jar"))),
        "org.codehaus.plexus.classworlds.launcher.Launcher",
    ]


def _maven_home(java: Sequence[str]) -> Path:
    home = cache_folder() / f"apache-maven-{MAVEN}"
    with fetching(home) as folder:
        if folder is not None:
            with tempfile.TemporaryDirectory() as work:
                archive = _fetch_maven(java, Path(work))
                with zipfile.ZipFile(archive) as content:
                    content.extractall(work)
                shutil.copytree(Path(work, home.name), folder, dirs_exist_ok=True)
    return home


def _fetch_maven(java: Sequence[str], work: Path) -> Path:
    """Download Maven's distribution with Ivy."""
    description = work / "ivy.xml"
    description.write_text(
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="tests" module="maven"/><dependencies>'
        f'<dependency org="org.apache.maven" name="apache-maven" rev="{MAVEN}" transitive="false">'
        '<artifact name="apache-maven" type="zip" ext="zip" m:classifier="bin"/></dependency>'
        "</dependencies></ivy-module>"
    )
    _run(
        [
            *(*java, "-jar", str(_ivy())),
            *("-ivy", str(description), "-cache", str(work / "cache")),
            *("-retrieve", f"{work}/[artifact].[ext]"),
        ]
    )
    return work / "apache-maven.zip"


def _ivy() -> Path:
    try:
        import pyspark
    except ImportError as error:
        raise MavenError("there is no mvn: install it, or pyspark, whose Ivy fetches it") from error
    return next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))


def _truststore_options() -> list[str]:
    """Return options to make Java trust the same certificates as Python.

    A packaged Java has its own list of certificates.
    """
    bundle = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if bundle is None:
        return []
    store = cache_folder() / "trusted.p12"
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        serialize_java_truststore,
    )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some root certificates violate the standard
        found = x509.load_pem_x509_certificates(Path(bundle).read_bytes())
    named = [PKCS12Certificate(each, str(n).encode()) for n, each in enumerate(found)]
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_bytes(serialize_java_truststore(named, BestAvailableEncryption(b"changeit")))
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit"]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        said = [
            line
            for line in (done.stdout + done.stderr).splitlines()
            if "ERROR" in line or "::" in line
        ]
        raise MavenError("\n".join(said[:8]) or f"{command[0]} failed: {done.stderr[-500:]}")
