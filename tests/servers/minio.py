"""MinIO, an S3 server that evaluates the policies of credentials; Go builds it once per machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shutil import which

import httpx
from attrs import define

from .go import built, program
from .process import ServerProcess

__all__ = ["USER", "Minio", "can_be_built"]

MODULE = ("github.com/minio/minio", "v0.0.0-20260212201848-7aac2a2c5b7c")
USER = {"access_key": "tests-user", "secret_key": "tests-secret"}


def can_be_built() -> bool:
    """Return whether MinIO has been built or Go is installed to build it."""
    return program(*MODULE).exists() or which("go") is not None


@define(kw_only=True)
class Minio(ServerProcess):
    """A server without data; `USER` is the only user."""

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        address = f"127.0.0.1:{self.port}"
        return [str(built(*MODULE)), "server", "--address", address, str(self.folder / "data")]

    def look(self) -> None:
        httpx.get(f"{self.uri}/minio/health/ready").raise_for_status()

    def environment(self) -> Mapping[str, str]:
        """Set the user, and disable the web pages, which need a second port."""
        return {
            "MINIO_ROOT_USER": USER["access_key"],
            "MINIO_ROOT_PASSWORD": USER["secret_key"],
            "MINIO_BROWSER": "off",
        }
