"""Addresses of metastores."""

from __future__ import annotations

from attrs import frozen

__all__ = ["Host"]


@frozen
class Host:
    """Address of a metastore."""

    name: str
    port: int

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"thrift://{name}:{self.port}"
