"""Iceberg REST catalog subjects for the behavior suite."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
from attrs import evolve, frozen
from hypothesis import strategies as st

from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.behaviour.subject import NAMES, Identifier, Subject
from tests.servers import real
from tests.servers.iceberg import shared_iceberg, shared_nessie
from tests.servers.process import ANSWER_SECONDS

__all__ = ["WAREHOUSE", "BareApi", "iceberg_subject", "nessie_subject", "polaris_subject"]

WAREHOUSE = "wh"
DUMMY = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "dummy", "required": False, "type": "string"}],
}
# Properties that the servers add themselves.
ADDED = frozenset(
    {"location", "table_type", "write.parquet.compression-codec", "gc.enabled", "created-at"}
)


@frozen
class BareApi:
    """The API of a warehouse, without the code under test."""

    client: httpx.Client
    base: str
    separator: str
    decodes_twice: bool = False
    """Whether the server decodes the name of a table a second time, as Polaris does."""

    def namespaces(self, levels: Sequence[str] = ()) -> list[tuple[str, ...]]:
        """List the child namespaces of a namespace."""
        query = {"parent": self.separator.join(levels)} if levels else {}
        found = self.client.get(f"{self.base}/namespaces", params=query).raise_for_status().json()
        return [tuple(each) for each in found["namespaces"]]

    def path(self, levels: Sequence[str]) -> str:
        """Return the path of a namespace."""
        return f"{self.base}/namespaces/" + _encode(self.separator).join(map(_encode, levels))

    def tables(self, levels: Sequence[str]) -> list[str]:
        """List every table of a namespace."""
        found = self.client.get(f"{self.path(levels)}/tables").raise_for_status().json()
        return [each["name"] for each in found["identifiers"]]

    def table(self, levels: Sequence[str], name: str) -> str:
        """Return the path of a table."""
        written = quote(name, safe="") if self.decodes_twice else name
        return f"{self.path(levels)}/tables/{_encode(written)}"

    def add_namespace(
        self, levels: Sequence[str], properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace."""
        body = {"namespace": list(levels), "properties": dict(properties or {})}
        self._post(f"{self.base}/namespaces", body)

    def add_table(
        self, levels: Sequence[str], name: str, location: str, properties: Mapping[str, str]
    ) -> str:
        """Create an Iceberg table and return the location that the server chose."""
        body = {
            "name": name,
            "location": location,
            "schema": DUMMY,
            "stage-create": False,
            "properties": dict(properties),
        }
        return str(self._post(f"{self.path(levels)}/tables", body)["metadata"]["location"])

    def clear(self, levels: tuple[str, ...] = ()) -> None:
        """Delete everything in a namespace."""
        for child in self.namespaces(levels):
            self.clear(child)
            self.client.delete(self.path(child)).raise_for_status()
        if levels:
            for name in self.tables(levels):
                self.client.delete(self.table(levels, name)).raise_for_status()

    def _post(self, path: str, body: Mapping[str, object]) -> dict[str, dict[str, str]]:
        answer: dict[str, dict[str, str]] = (
            self.client.post(path, json=body).raise_for_status().json()
        )
        return answer


def _encode(text: str) -> str:
    return quote(text, safe="").replace(".", "%2E")


def _shown(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return {
        key: value
        for key, value in properties.items()
        if key not in ADDED and not key.startswith("nessie.")
    }


@contextmanager
def iceberg_subject(folder: Path) -> Iterator[Subject]:
    """The Iceberg project's own server, whose paths have no prefix."""
    server = shared_iceberg()
    root, warehouse = folder / "lake", server.folder / "warehouse"
    with httpx.Client(base_url=server.endpoint) as client:
        api = BareApi(client, "/v1", ".")
        api.clear()
        properties = {"endpoint": server.endpoint, "prefix": "", "root": str(root)}
        subject = _subject("iceberg", api, properties, str(root))
        yield evolve(
            subject,
            names=NAMES.filter(lambda name: not set(name) & set("./%\\;")),
            refused_names=st.sampled_from(("a/b", "50%", "a%20b", "%2F", "a\x1fb")),
            elsewhere=lambda name: str(root / "elsewhere" / name),
            # This server gives every namespace a location that contains the names unchanged.
            location=lambda identifier, properties: default_location(
                "/".join((str(warehouse), *identifier[1:-1])), identifier[-1:]
            ),
            reset=lambda: (
                [shutil.rmtree(each, ignore_errors=True) for each in (root, warehouse)]
                and subject.reset()
            ),
        )


@contextmanager
def nessie_subject(folder: Path) -> Iterator[Subject]:
    """Nessie, with its tables in an S3 test server."""
    server = shared_nessie()
    s3 = server.s3
    with httpx.Client(base_url=server.endpoint) as client:
        api = BareApi(client, f"/v1/main%7C{WAREHOUSE}", "\x1f")
        api.clear()
        properties = {"endpoint": server.endpoint} | {
            f"storage.{key}": value for key, value in s3.options().items()
        }
        subject = _subject("nessie", api, properties, f"s3://{s3.bucket}/lake")
        yield evolve(
            subject,
            # In a table's name, Nessie interprets @ and # as a branch and a timestamp. It copies
            # names into locations unchanged, where ?, % and : have special meanings.
            names=NAMES.filter(lambda name: not set(name) & set("@#?%:`")),
            # Nessie chooses the folder name of a table itself.
            location=lambda identifier, properties: None,
            storage_options=s3.options(),
            rows_in_storage=lambda location: rows_in_storage(location, s3.options()),
            refused_names=st.sampled_from(("a\x1fb", "del\x7f")),
        )


@contextmanager
def polaris_subject(folder: Path) -> Iterator[Subject]:
    """Apache Polaris, whose warehouse ``lake`` is used only by these tests."""
    server = real.running("polaris")
    given = {key: server.settings[key] for key in ("credential", "scope", "warehouse")}
    properties = {"endpoint": server.uri, **given, "root": str(folder / "unused")}
    token = Path(server.settings["token_file"]).read_text().strip()
    lake = Path(server.settings["root"].removeprefix("file://"), given["warehouse"])
    with httpx.Client(
        base_url=server.uri, headers={"Authorization": f"Bearer {token}"}, timeout=ANSWER_SECONDS
    ) as client:
        api = BareApi(client, f"/v1/{given['warehouse']}", "\x1f", decodes_twice=True)

        def reset() -> Mapping[Identifier, Mapping[str, str]]:
            api.clear()
            shutil.rmtree(lake, ignore_errors=True)
            return {(given["warehouse"],): {}}

        def add(identifier: Identifier, properties: Mapping[str, str]) -> str:
            location = (lake / Path(*identifier[1:-1]) / f"past-{identifier[-1]}").as_posix()
            api.add_table(identifier[1:-1], identifier[-1], location, properties)
            return location

        yield Subject(
            name="polaris",
            connect=lambda: IcebergNamespace.from_properties(properties),
            reset=reset,
            capabilities=IcebergNamespace.capabilities,
            # Below the namespace's own location, which contains the names unchanged.
            location=lambda identifier, properties: str(lake.joinpath(*identifier[1:])),
            # Polaris accepts no location outside the table's namespace, and none that another
            # table has. A new location of an existing table must be below the current one.
            takes_location=lambda identifier, location, current: Path(location).is_relative_to(
                lake.joinpath(*identifier[1:-1]) if current is None else current
            ),
            shared_locations=False,
            # Polaris copies the names of namespaces into locations, which must be URIs. Tests of
            # names that Polaris decodes differently are in test_polaris.
            names=NAMES.filter(
                lambda name: (
                    not set(name) & set('"#%+<>?[\\]^`{|}')
                    and not any(each.isspace() for each in name)
                )
            ),
            shown_namespace_properties=_shown,
            shown_table_properties=_shown,
            add_table=lambda identifier: add(identifier, {"table_type": "LANCE"}),
            add_other_table=lambda identifier: add(identifier, {}) and None,
        )


def rows_in_storage(location: str, options: Mapping[str, str]) -> int | None:
    """Count the rows of the dataset at a location; None if there is none."""
    import lance

    try:
        return int(lance.dataset(location, storage_options=dict(options)).count_rows())
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


def _subject(name: str, api: BareApi, properties: Mapping[str, str], root: str) -> Subject:
    everything = {**properties, "warehouses": WAREHOUSE, "root": root}

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        api.clear()
        return {(WAREHOUSE,): {}}

    def add_table(identifier: Identifier) -> str:
        location = default_location(root, ("past", *identifier))
        return api.add_table(identifier[1:-1], identifier[-1], location, {"table_type": "LANCE"})

    def add_other_table(identifier: Identifier) -> None:
        location = default_location(root, ("past", *identifier))
        api.add_table(identifier[1:-1], identifier[-1], location, {})

    return Subject(
        name=name,
        connect=lambda: IcebergNamespace.from_properties(everything),
        reset=reset,
        capabilities=IcebergNamespace.capabilities,
        location=lambda identifier, properties: default_location(root, identifier),
        shown_namespace_properties=_shown,
        shown_table_properties=_shown,
        add_table=add_table,
        add_other_table=add_other_table,
    )
