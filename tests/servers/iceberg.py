"""Iceberg REST catalog servers for tests: the Iceberg project's own, and Nessie.

Both are fetched by Maven coordinates and run on free loopback ports; Nessie keeps its tables on an
S3 stand-in, since it has no other storage that needs no account.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from attrs import define, field

from .java import java_command
from .maven import jars
from .ports import free_port

__all__ = ["IcebergFixture", "Nessie", "S3"]

START_SECONDS = 120
STOP_SECONDS = 20
ICEBERG = "1.11.0"
NESSIE = "0.99.0"
JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@define(kw_only=True)
class _Server:
    """A process that answers HTTP: starts on entry, stops on exit.

    Args:
        folder: an empty folder for what it keeps, and its log.
    """

    folder: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def endpoint(self) -> str:
        """Address of the Iceberg REST API."""
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        """Give the command that runs it."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Give the variables that it needs."""
        return {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start, on the same port as before, and wait until it answers.

        Raises:
            RuntimeError: it does not start; the message holds the end of its log.
        """
        self.port = self.port or free_port()
        with open(self.folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                httpx.get(
                    f"{self.endpoint}/v1/config", params={"warehouse": "wh"}
                ).raise_for_status()
                return
            except httpx.HTTPError as error:
                if self._process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.2)
                    continue
                self.stop()
                log_text = (self.folder / "server.log").read_text(errors="replace")
                raise RuntimeError(
                    f"{type(self).__name__} does not start:\n{log_text[-3000:]}"
                ) from error

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


@define(kw_only=True)
class IcebergFixture(_Server):
    """The REST catalog server of the Iceberg project's test fixtures, over SQLite."""

    @property
    def endpoint(self) -> str:
        """Address of the Iceberg REST API; it has no prefix in its paths."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """Give the command that runs it."""
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
        return [
            str(java_command()),
            *JVM,
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *("-cp", ":".join(map(str, classpath))),
            "org.apache.iceberg.rest.RESTCatalogServer",
        ]

    def environment(self) -> Mapping[str, str]:
        """Give the variables that it needs."""
        return {
            "CATALOG_URI": f"jdbc:sqlite:{self.folder}/catalog.db",
            "CATALOG_WAREHOUSE": f"{self.folder}/warehouse",
            "CATALOG_REST_PORT": str(self.port),
        }


@define(kw_only=True)
class Nessie(_Server):
    """Nessie, in memory, with one warehouse ``wh`` in the bucket of an S3 stand-in."""

    s3: S3

    @property
    def endpoint(self) -> str:
        """Address of the Iceberg REST API."""
        return f"http://127.0.0.1:{self.port}/iceberg"

    def command(self) -> Sequence[str]:
        """Give the command that runs it."""
        # The runner holds all that it needs.
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


class S3:
    """A stand-in for S3, in this process, with one bucket."""

    bucket = "lake"

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)

    @property
    def uri(self) -> str:
        """Its address."""
        host, port = self._server.get_host_and_port()
        return f"http://{host}:{port}"

    def options(self) -> dict[str, str]:
        """Give the storage options that pylance needs."""
        return {
            "aws_endpoint": self.uri,
            "allow_http": "true",
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "testing",
            "aws_region": "us-east-1",
        }

    def keys(self, prefix: str) -> list[str]:
        """List the objects below a prefix of the bucket."""
        found = self._client().list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", ())]

    def _client(self) -> Any:
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.uri,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        )

    def __enter__(self) -> Self:
        self._server.start()
        self._client().create_bucket(Bucket=self.bucket)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()
