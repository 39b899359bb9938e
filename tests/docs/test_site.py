"""The site documents every public name, property, operation, command and error code."""

from __future__ import annotations

import re
import zlib
from html import unescape
from pathlib import Path

import pytest
import typer

import lance_namespace_client
from docs._generate.public import backends, public_names
from docs._generate.tables import error_classes, error_name
from lance_namespace_client.errors import ErrorCode
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.cli.app import app

BACKENDS = backends()
CATALOG_PAGES = {"hive2": "hive", "hive3": "hive", "dir": "directory"}


def page(site: Path, name: str) -> str:
    return (site / name / "index.html").read_text("utf-8")


def section(text: str, heading: str) -> str:
    """Return the part of a page between a heading of level 2 and the next one."""
    return re.split(r"<h2 ", text.split(f'<h2 id="{heading}"', 1)[1], maxsplit=1)[0]


def cells(text: str) -> list[str]:
    """Return the text of every cell of every table."""
    found = re.findall(r"<td[^>]*>(.*?)</td>", text, re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in found]


@pytest.fixture(scope="module")
def inventory(site: Path) -> dict[str, str]:
    """Return the address of each documented object, from the inventory for links by Sphinx."""
    _, _, packed = (site / "objects.inv").read_bytes().partition(b"zlib.\n")
    rows = [line.split(" ", 4) for line in zlib.decompress(packed).decode().splitlines()]
    return {row[0]: row[3].replace("$", row[0]) for row in rows}


def test_every_public_name_is_in_the_reference(site: Path, inventory: dict[str, str]) -> None:
    missing = []
    for module, names in public_names().items():
        for name in names:
            address = inventory.get(f"{module}.{name}", "")
            file, _, anchor = address.partition("#")
            if not address or f'id="{anchor}"' not in page(site, file):
                missing.append(f"{module}.{name}")
    assert missing == []


def test_the_public_names_are_complete() -> None:
    """The walk over the modules finds the names that users import."""
    found = {f"{module}.{name}" for module, names in public_names().items() for name in names}
    assert {
        "lance_namespace_impls.connect",
        "lance_namespace_impls.glue.GlueNamespace",
        "lance_namespace_impls.server.create_app",
        "lance_namespace_impls.ingest.import_files",
        "lance_namespace_impls.spark.read_table",
        "lance_namespace_impls.interop.OfficialNamespace",
    } <= found
    assert {f"lance_namespace_client.{name}" for name in lance_namespace_client.__all__} <= found


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_property_has_a_row(site: Path, backend: str) -> None:
    rows = BACKENDS[backend].config_type.describe()
    tables = {
        "reference/properties": section(page(site, "reference/properties"), backend),
        "catalog": page(site, CATALOG_PAGES.get(backend, backend)),
    }
    for place, text in tables.items():
        found = cells(text)
        for row in rows:
            assert row["key"] in found, f"{place}: {row['key']}"
            about = found[found.index(row["key"]) + 3]
            assert " ".join(row["doc"].replace("`", "").split()) in about
            for other in row["also"]:
                assert other in about


@pytest.mark.parametrize(
    "setting", ["tls_verify", "ca_bundle", "client_cert", "proxy", "cache_mib"]
)
def test_shared_http_settings_are_on_the_pages_of_the_catalogs(site: Path, setting: str) -> None:
    for name in ("unity", "iceberg", "rest"):
        taken = setting not in BACKENDS[name].config_type.not_taken
        assert (setting in cells(page(site, name))) is taken


def test_every_operation_has_a_section_with_all_its_fields(site: Path) -> None:
    text = page(site, "reference/operations")
    for operation in OPERATIONS.values():
        start = f'<h3 id="{operation.name.lower()}"'
        assert start in text
        body = re.split(r"<h[23] ", text.split(start, 1)[1], maxsplit=1)[0]
        assert f"{operation.method_name}()" in body
        shown = re.sub(r"<[^>]+>", "", body)
        assert f"{operation.http_method} {operation.path}" in shown
        found = cells(body)
        for model in (operation.request_type, operation.response_type):
            for field in getattr(model, "__attrs_attrs__", ()):
                assert field.name.removesuffix("_") in {name.removesuffix("_") for name in found}


def test_every_command_and_option_is_documented(site: Path) -> None:
    text = page(site, "reference/command-line")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        found = " ".join(cells(section(text, f"lance-ns-{name}")))
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("-") and not parameter.hidden:
                    assert option in found, f"{name} {option}"


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_code_has_advice(site: Path, code: ErrorCode) -> None:
    text = page(site, "troubleshooting")
    anchor = f"{int(code)}-{error_name(code).lower()}"
    assert f'href="#{anchor}"' in text
    body = text.split(f'<h3 id="{anchor}"', 1)[1].split("<h3 ", 1)[0]
    assert (
        len(re.findall(r"<p[ >]", body)) >= 3
    )  # class and status, the protocol's description, advice
    for name, kind in error_classes().items():
        if kind.code == code:
            assert name in body


def test_the_pages_load_no_external_resources(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]+src="(https?://[^"]+)"', text)
        loaded += re.findall(
            r'<link[^>]+rel="(?:stylesheet|preconnect)"[^>]+href="(http[^"]+)"', text
        )
        assert loaded == [], path
