"""The catalogs whose own tests run the suite, for tests that run on every catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..glue.subject import one_level
from ..hive.subject import hive_subject
from ..iceberg.subject import iceberg_subject
from ..servers.glue import glue_server
from ..servers.hive import shared
from ..unity.subject import unity_subject
from .subject import Subject
from .subjects import Backend

__all__ = ["CATALOGS"]

RELEASE = "3.1"


@contextmanager
def glue(folder: Path) -> Iterator[Subject]:
    """Databases in an account's default catalog, on a server that may already be running."""
    with glue_server() as server:
        yield one_level(server, folder / "lake")


@contextmanager
def hive2(folder: Path) -> Iterator[Subject]:
    """Databases of a metastore."""
    yield hive_subject(shared(RELEASE), "hive2", folder / "lake")


@contextmanager
def hive3(folder: Path) -> Iterator[Subject]:
    """Catalogs and databases of a metastore."""
    yield hive_subject(shared(RELEASE), "hive3", folder / "lake")


CATALOGS: dict[str, Backend] = {
    "glue": glue,
    "hive2": hive2,
    "hive3": hive3,
    "iceberg": iceberg_subject,
    "unity": unity_subject,
}
"""Catalog name -> context manager that starts it; data is stored in the folder that it gets."""
