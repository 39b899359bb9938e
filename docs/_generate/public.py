"""Determines the public names: those in ``__all__`` of the package and of the modules directly below it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import lance_namespace_client
import lance_namespace_impls
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.registry import implementations, load

__all__ = ["CLIENT", "IMPLS", "backends", "impls_modules", "public_names"]

CLIENT = lance_namespace_client.__name__
IMPLS = lance_namespace_impls.__name__
EXTEND = "extend"
"""The package whose modules are also public."""


def impls_modules() -> Iterator[ModuleType]:
    """Yield the public modules of `lance_namespace_impls`, starting with the package itself."""
    yield lance_namespace_impls
    for found in sorted(pkgutil.iter_modules(lance_namespace_impls.__path__)):
        if not found.name.startswith("_"):
            module = import_module(f"{IMPLS}.{found.name}")
            if hasattr(module, "__all__"):
                yield module
            if found.name == EXTEND:
                for below in sorted(pkgutil.iter_modules(module.__path__)):
                    yield import_module(f"{module.__name__}.{below.name}")


def public_names() -> dict[str, list[str]]:
    """Return the public names by module; a name that the package also exports is listed only there."""
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for module in impls_modules():
        objects = {name: getattr(module, name) for name in module.__all__}
        names = [name for name, each in objects.items() if id(each) not in seen]
        seen |= {id(each) for each in objects.values()}
        if names:
            found[module.__name__] = names
    if id(Namespace) not in seen:
        found[Namespace.__module__] = [Namespace.__name__]
    found[CLIENT] = list(lance_namespace_client.__all__)
    return found


def backends() -> dict[str, type[Namespace]]:
    """Return the classes of all built-in implementations by name."""
    return {
        name: load(name)
        for name, target in implementations().items()
        if target.startswith(f"{IMPLS}.")
    }


def is_config(name: str, module: str) -> bool:
    """Return whether a public name is a configuration class."""
    found = getattr(import_module(module), name)
    return isinstance(found, type) and issubclass(found, Config)


def is_namespace(name: str, module: str) -> bool:
    """Return whether a public name is a backend; backends have the operations of every namespace."""
    found = getattr(import_module(module), name)
    return isinstance(found, type) and issubclass(found, Namespace) and found is not Namespace
