"""Generates reference pages for the public names; mkdocstrings fills them from the docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import lance_namespace_client
from lance_namespace_client.errors import LanceNamespaceError

from .command_line import command_line_page
from .conformance import deviations_page, requirements_page
from .operations import operations_page
from .public import CLIENT, IMPLS, backends, is_config, is_namespace, public_names
from .tables import properties

__all__ = ["pages"]

# In the table of contents, fields would bury the models.
FEWER_CONTENTS = "<style>.md-nav--secondary .md-nav__list .md-nav__list { display: none }</style>\n"


def pages() -> dict[str, str]:
    """Return all generated pages by their path in the documentation."""
    return {
        "conformance/requirements.md": requirements_page(),
        "conformance/deviations.md": deviations_page(),
        "reference/operations.md": operations_page(),
        "reference/command-line.md": command_line_page(),
        "reference/properties.md": properties_page(),
        **dict(module_pages()),
    }


def properties_page() -> str:
    """Return the page with the properties of all built-in backends."""
    parts = [
        "# Properties\n",
        "The properties of each backend for `connect`, as `lance-ns backends` prints them. Keys "
        "are accepted with and without the backend's name as a prefix (`dir.root`, `root`).\n",
    ]
    for name, backend in backends().items():
        parts.append(f"## {name}\n\n{properties(backend.config_type)}")
    return "\n".join(parts)


def module_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages of the public modules."""
    for module, names in public_names().items():
        if module == CLIENT:
            yield from client_pages(names)
            continue
        path = module.removeprefix(f"{IMPLS}.").replace(".", "/") if module != IMPLS else "index"
        yield f"reference/python/{path}.md", module_page(module, names)


def module_page(module: str, names: list[str]) -> str:
    """Return the page of a module: its docstring and its public names."""
    parts = [f"# {module}\n", summary(module)]
    for name in names:
        parts.append(directive(f"{module}.{name}", **options(name, module)))
        if is_config(name, module):
            parts.append(properties(getattr(import_module(module), name)))
    return "\n".join(parts)


def summary(module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    return (import_module(module).__doc__ or "").strip().partition("\n\n")[0] + "\n"


def options(name: str, module: str) -> dict[str, str]:
    """Return the display options for a name: for backends and configurations, only the docstring is shown."""
    if is_config(name, module) or is_namespace(name, module):
        return {"members": "false"}
    return {}


def directive(path: str, **shown: str) -> str:
    """Return the directive that mkdocstrings replaces with the documentation of an object."""
    lines = [f"::: {path}"]
    if shown:
        lines += ["    options:", *(f"      {key}: {value}" for key, value in shown.items())]
    return "\n".join(lines) + "\n"


def client_pages(names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the pages of the generated client: interface, errors, models."""
    groups: dict[str, list[str]] = {"interface": [], "errors": [], "requests": [], "responses": []}
    groups["models"] = []
    for name in names:
        found = getattr(lance_namespace_client, name)
        groups[_group(name, found)].append(name)
    titles = {
        "interface": (
            "lance_namespace_client",
            "Generated from `rest.yaml`: the interface of every namespace, the client for the "
            "REST protocol, and the table of operations.",
        ),
        "errors": ("Errors", "Every failure of a namespace is a `LanceNamespaceError`."),
        "requests": (
            "Requests",
            "Requests of the operations; a dict with the same fields is also accepted.",
        ),
        "responses": ("Responses", "Responses of the operations."),
        "models": ("Other models", "Parts of requests and responses."),
    }
    for group, members in groups.items():
        title, text = titles[group]
        body = "\n".join(directive(f"{CLIENT}.{name}") for name in members)
        name = "index" if group == "interface" else group
        style = FEWER_CONTENTS if group in ("requests", "responses", "models") else ""
        yield f"reference/client/{name}.md", f"# {title}\n\n{style}\n{text}\n\n{body}"


def _group(name: str, found: object) -> str:
    if name == "ErrorCode" or (isinstance(found, type) and issubclass(found, LanceNamespaceError)):
        return "errors"
    if getattr(found, "__module__", "").startswith(f"{CLIENT}.models"):
        suffix = next((end for end in ("Request", "Response") if name.endswith(end)), None)
        return f"{suffix.lower()}s" if suffix and name != "ErrorResponse" else "models"
    return "errors" if name == "error_for" else "interface"
