"""MinIO, an S3 server that evaluates the policies of credentials; Go builds it once per machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

import httpx
from attrs import define

from .cache import cache_folder, fetching
from .process import ServerProcess

__all__ = ["USER", "Minio", "can_be_built"]

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"
MODULE = f"github.com/minio/minio@{VERSION}"
USER = {"access_key": "tests-user", "secret_key": "tests-secret"}
BUILD_SECONDS = 3600


def can_be_built() -> bool:
    """Return whether MinIO has been built or Go is installed to build it."""
    return _program().exists() or which("go") is not None


@define(kw_only=True)
class Minio(ServerProcess):
    """A server without data; `USER` is the only user."""

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        address = f"127.0.0.1:{self.port}"
        return [str(_built()), "server", "--address", address, str(self.folder / "data")]

    def look(self) -> None:
        httpx.get(f"{self.uri}/minio/health/ready").raise_for_status()

    def environment(self) -> Mapping[str, str]:
        """Set the user, and disable the web pages, which need a second port."""
        return {
            "MINIO_ROOT_USER": USER["access_key"],
            "MINIO_ROOT_PASSWORD": USER["secret_key"],
            "MINIO_BROWSER": "off",
        }


def _program() -> Path:
    return cache_folder() / "minio" / VERSION / "minio"


def _built() -> Path:
    """Return the program; Go first downloads and compiles it if necessary, which takes minutes."""
    program = _program()
    with fetching(program.parent) as folder:
        if folder is not None:
            done = subprocess.run(
                ["go", "install", MODULE],
                env={**os.environ, "GOBIN": str(folder)},
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"Go does not build {MODULE}:\n{done.stderr[-2000:]}")
    return program
