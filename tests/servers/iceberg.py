"""Iceberg REST catalog servers for tests: that of the Iceberg project, and Nessie.

Both are downloaded by their Maven coordinates and run on free loopback ports. Nessie stores its
tables on an S3 double, because all its other storages require an account.
"""

from __future__ import annotations

import atexit
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import httpx
from attrs import define

from .hadoop_s3 import AWS_SDK
from .java import java_command
from .jvm import SHORT_LIVED
from .maven import jars
from .process import ServerProcess
from .s3 import GuardedS3

__all__ = ["IcebergFixture", "Nessie", "shared_iceberg", "shared_nessie"]

ICEBERG = "1.11.0"
NESSIE = "0.99.0"
_Server = TypeVar("_Server", bound=ServerProcess)
JVM = ("-Xmx512m", *SHORT_LIVED)


class IcebergServer(ServerProcess):
    """A server with Iceberg's REST API."""

    @property
    @abstractmethod
    def endpoint(self) -> str:
        """The address of the API."""

    def look(self) -> None:
        httpx.get(f"{self.endpoint}/v1/config?warehouse=wh").raise_for_status()


@define(kw_only=True)
class IcebergFixture(IcebergServer):
    """The REST catalog server of the Iceberg project's test fixtures, with a SQLite database.

    Args:
        s3: the store of tables on S3; None for tables on disk.
    """

    s3: GuardedS3 | None = None

    @property
    def endpoint(self) -> str:
        """The address of the Iceberg REST API; its paths have no prefix."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        classpath = jars(
            [
                f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:test-fixtures",
                f"org.apache.iceberg:iceberg-core:{ICEBERG}",
                f"org.apache.iceberg:iceberg-core:{ICEBERG}:tests",
                "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.14",
                "org.eclipse.jetty.compression:jetty-compression-server:12.1.14",
                "org.eclipse.jetty.compression:jetty-compression-gzip:12.1.14",
                "org.apache.hadoop:hadoop-client-api:3.4.3",
                "org.apache.hadoop:hadoop-client-runtime:3.4.3",
                "org.xerial:sqlite-jdbc:3.54.1.0",
                "org.slf4j:slf4j-simple:2.0.17",
            ]
        )
        if self.s3 is not None:
            classpath += [
                *jars(
                    [f"org.apache.iceberg:iceberg-aws:{ICEBERG}", "dev.failsafe:failsafe:3.3.2"],
                    exclude=["*:*"],
                ),
                *jars(AWS_SDK, exclude=["org.slf4j:slf4j-api"]),
            ]
        return [
            str(java_command()),
            *JVM,
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *("-cp", ":".join(map(str, classpath))),
            "org.apache.iceberg.rest.RESTCatalogServer",
        ]

    def environment(self) -> Mapping[str, str]:
        settings = {
            "CATALOG_URI": f"jdbc:sqlite:{self.folder}/catalog.db",
            "CATALOG_WAREHOUSE": f"{self.folder}/warehouse",
            "CATALOG_REST_PORT": str(self.port),
        }
        if self.s3 is not None:
            settings |= {
                "CATALOG_WAREHOUSE": f"s3://{self.s3.bucket}/warehouse",
                "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO",
                "CATALOG_S3_ENDPOINT": self.s3.uri,
                "CATALOG_S3_PATH__STYLE__ACCESS": "true",
                "CATALOG_S3_ACCESS__KEY__ID": "testing",
                "CATALOG_S3_SECRET__ACCESS__KEY": "testing",
                "CATALOG_CLIENT_REGION": "us-east-1",
            }
        return settings


@define(kw_only=True)
class Nessie(IcebergServer):
    """Nessie with an in-memory catalog and a warehouse ``wh`` in the bucket of an S3 double."""

    s3: GuardedS3

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/iceberg"

    def command(self) -> Sequence[str]:
        # The runner contains all dependencies.
        (runner,) = jars([f"org.projectnessie.nessie:nessie-quarkus:{NESSIE}:runner"], ["*:*"])
        s3 = "nessie.catalog.service.s3.default-options"
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": str(self.port),
            "quarkus.http.access-log.enabled": "false",
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": "0",
            "nessie.version.store.type": "IN_MEMORY",
            "nessie.catalog.default-warehouse": "wh",
            "nessie.catalog.warehouses.wh.location": f"s3://{self.s3.bucket}/wh",
            f"{s3}.endpoint": f"{self.s3.uri}/",
            f"{s3}.path-style-access": "true",
            f"{s3}.region": "us-east-1",
            f"{s3}.auth-type": "STATIC",
            f"{s3}.access-key": "urn:nessie-secret:quarkus:tests.s3",
            "tests.s3.name": "testing",
            "tests.s3.secret": "testing",
        }
        return [
            str(java_command(21)),
            *JVM,
            *(f"-D{key}={value}" for key, value in settings.items()),
            *("-jar", str(runner)),
        ]


@cache
def shared_iceberg() -> IcebergFixture:
    """Return a server that all tests of this process share; it stops when the process ends."""
    return _kept(IcebergFixture(folder=_folder()))


@cache
def shared_nessie() -> Nessie:
    """Return a server with its own store that all tests of this process share."""
    s3 = GuardedS3()
    s3.__enter__()
    atexit.register(s3.__exit__, None, None, None)
    return _kept(Nessie(folder=_folder(), s3=s3))


def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="iceberg-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _kept(server: _Server) -> _Server:
    server.start()
    atexit.register(server.stop)
    return server
