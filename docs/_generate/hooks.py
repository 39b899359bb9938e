"""Hooks for mkdocs that add the generated pages and replace placeholders with tables.

A placeholder is a comment on a separate line: ``<!-- properties glue -->`` becomes the table of a
backend's properties, ``<!-- error-codes -->`` the table of codes, ``<!-- spark-types -->`` the
table of Arrow's types in Spark. On the troubleshooting page, the protocol's description of each
code is inserted below its heading.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from docs._generate.public import backends
from docs._generate.reference import pages as make_pages
from docs._generate.tables import error_block, error_name, error_table, properties, spark_types
from lance_namespace_client.errors import ErrorCode

pages = cache(make_pages)

MARK = re.compile(r"^<!-- (properties|error-codes|spark-types)(?: (\w+))? -->$", re.MULTILINE)
TROUBLESHOOTING = "troubleshooting.md"


def on_config(config: Any) -> Any:
    """List the generated reference pages in the navigation."""
    (reference,) = (entry["Reference"] for entry in config.nav if "Reference" in entry)
    for title, folder in (("Python", "python"), ("Client", "client")):
        prefix = f"reference/{folder}/"
        index, others = f"{prefix}index.md", []
        for path in pages():
            if path.startswith(prefix) and path != index:
                name = path.removeprefix(prefix).removesuffix(".md").replace("/", ".")
                others.append({name: path})
        reference.append({title: [index, *others]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the placeholders on a page."""
    if page.file.src_uri == TROUBLESHOOTING:
        markdown = with_codes(markdown)
    return MARK.sub(_filled, markdown)


def _filled(mark: re.Match[str]) -> str:
    kind, name = mark.groups()
    if kind == "error-codes":
        return error_table()
    if kind == "spark-types":
        return spark_types()
    if name not in backends():
        raise PluginError(f"{mark.group()}: there is no backend with that name")
    return properties(backends()[name].config_type)


def with_codes(markdown: str) -> str:
    """Insert the protocol's description below the heading of each code; fail if a heading is missing."""
    for code in ErrorCode:
        heading = f"\n### {int(code)} {error_name(code)}\n"
        if heading not in markdown:
            raise PluginError(f"{TROUBLESHOOTING} has no heading '{heading.strip()}'")
        markdown = markdown.replace(heading, f"{heading}\n{error_block(code)}")
    return markdown
