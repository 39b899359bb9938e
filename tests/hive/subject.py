"""Hive Metastore subjects for the behavior suite."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pymetastore.hive_metastore.ttypes import (
    DropCatalogRequest,
    NoSuchObjectException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from lance_namespace_impls import connect
from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.hive import Hive2Namespace, Hive3Namespace
from tests.behaviour.subject import PROPERTIES, Identifier, Subject
from tests.servers.hive import Metastore

__all__ = ["hive_subject"]

# Every release accepts these names.
NAMES = st.one_of(
    st.sampled_from(("a", "b", "c", "flights", "planes_2", "0", "_x", "select")),
    st.text("abcxyz0189_", min_size=1, max_size=6),
).filter(lambda name: name not in ("hive", "default"))

REFUSED_NAMES = ("A", "Flights", " a", "a ", "ÜNÏ", "a@b", "a#b", "@hive#default")
REFUSED_BY_OLD = ("a-b", "a.b", "a b", "ünï", "a$b", "日本")


def hive_subject(metastore: Metastore, impl: str, root: Path) -> Subject:
    """Return the test subject for one form on one metastore, whose storage is below `root`."""
    levels = {"hive2": 1, "hive3": 2}[impl]
    cls = {"hive2": Hive2Namespace, "hive3": Hive3Namespace}[impl]
    top = ["hive"] if levels == 2 else []

    def where(identifier: Identifier) -> str:
        """Return a database's name in the bare client's format."""
        return f"@{identifier[0]}#{identifier[1]}" if levels == 2 else identifier[0]

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        client = metastore.connect()
        catalogs = client.get_catalogs().names if levels == 2 else [None]
        for catalog in catalogs:
            names = client.get_databases(f"@{catalog}#*") if catalog else client.get_all_databases()
            for name in names:
                identifier = (*([catalog] if catalog else []), name)
                for table in client.get_all_tables(where(identifier)):
                    client.drop_table(where(identifier), table, False)
                if name != "default":
                    client.drop_database(where(identifier), False, False)
            if catalog not in (None, "hive"):
                client.drop_catalog(DropCatalogRequest(catalog))
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(metastore.folder / "warehouse", ignore_errors=True)
        default = client.get_database(where((*top, "default")))
        default.parameters = {}
        client.alter_database(where((*top, "default")), default)
        return {(*top, "default"): {}} | ({("hive",): {}} if top else {})

    def location(identifier: Identifier, properties: Mapping[str, str]) -> str:
        try:
            database = metastore.connect().get_database(where(identifier[:-1]))
        except (IndexError, NoSuchObjectException):
            return default_location(str(root), identifier)  # the table cannot exist yet
        home = "/" + database.locationUri.removeprefix("file:").strip("/")
        return default_location(home, identifier[-1:])

    def shown(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        added = {"database.location-uri", "database.owner", "database.owner-type"}
        added |= {"catalog.location-uri"}
        # Hive cannot remove a description, so other tests check descriptions.
        added |= {"database.description", "catalog.description"}
        return {key: value for key, value in properties.items() if key not in added}

    def add(identifier: Identifier, kind: str) -> str:
        place = str(root / "elsewhere" / "/".join(identifier))
        table = Table(
            catName=identifier[0] if levels == 2 else None,
            dbName=identifier[-2],
            tableName=identifier[-1],
            tableType="EXTERNAL_TABLE",
            parameters={"EXTERNAL": "TRUE", "table_type": kind},
            partitionKeys=[],
            sd=StorageDescriptor(
                location=f"file:{place}", cols=[], serdeInfo=SerDeInfo(parameters={}), parameters={}
            ),
        )
        metastore.connect().create_table(table)
        return place

    old = metastore.release.version < "4"
    return Subject(
        name=f"{impl} on {metastore.release.version}",
        connect=lambda: connect(impl, metastore.properties(root)),
        reset=reset,
        capabilities=cls.capabilities,
        location=location,
        elsewhere=lambda name: str(root / "elsewhere" / name),
        names=NAMES,
        refused_names=st.sampled_from((*REFUSED_NAMES, *(REFUSED_BY_OLD if old else ()))),
        namespace_properties=lambda depth: PROPERTIES if depth == levels else st.just({}),
        refused_properties=lambda depth: None if depth == levels else PROPERTIES.filter(bool),
        shown_namespace_properties=shown,
        shown_table_properties=lambda identifier, properties: _without_type(properties),
        born_with=lambda identifier: ("default",) if len(identifier) < levels else (),
        add_table=lambda identifier: add(identifier, "LANCE"),
        add_other_table=lambda identifier: _nothing(add(identifier, "iceberg")),
    )


def _without_type(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key != "table_type"}


def _nothing(value: Any) -> None:
    return None
