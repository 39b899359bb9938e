"""Parses the command lines in deployment files, as `lance-ns` would, without running them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.core.stores import _NAMES
from lance_namespace_impls.server.execution.limits import LANCE_THREADS, Limits

__all__ = ["DEPLOY", "ROOT", "parsed", "unknown_variables"]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
# Read by Python and the C library.
OTHER_VARIABLES = {"PATH", "PYTHONUNBUFFERED", "MALLOC_ARENA_MAX", LANCE_THREADS}


def parsed(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of a command of `lance-ns`; an unknown command or option is an error."""
    commands: Any = typer.main.get_command(app)
    context = typer.Context(commands)
    name, *options = arguments
    command = commands.get_command(context, name)
    assert command is not None, f"lance-ns has no command {name}"
    values: dict[str, Any] = command.make_context(name, options).params
    Limits.read(dict(limit.split("=") for limit in values.get("limit", ())))
    return values


def unknown_variables(names: Iterable[str]) -> set[str]:
    """Return the environment variables that neither the program nor its libraries read."""
    commands: Any = typer.main.get_command(app)
    context = typer.Context(commands, info_name="lance-ns")
    shown = commands.get_command(context, "serve").get_help(context)
    storage = {
        alias.upper()
        for options in _NAMES.values()
        for option, aliases in options.items()
        for alias in (option, *aliases)
    }
    known = {*re.findall(r"LANCE_NS_\w+", shown), *OTHER_VARIABLES, *storage}
    return set(names) - known
