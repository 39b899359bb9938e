"""Outline of the Typer application's commands and options, as values that JSON can represent."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.text import Text

from ..registry import implementations
from .app import app
from .completion import stamps

__all__ = ["outline"]

OURS = ("lance_namespace_impls", "lance_namespace_client")


def outline() -> dict[str, Any]:
    """Return the data about the commands that shell completion needs.

    ``stamps`` contains the modification times of its source files and of the folders with installed
    packages: the outline is valid as long as they do not change.
    """
    group: Any = typer.main.get_command(app)
    root = typer.Context(group, **group.context_settings)
    return {
        "stamps": stamps(_made_of()),
        "implementations": sorted(implementations()),
        "shared": group.shared_options(),
        "root": _command(root),
        "commands": {
            name: _command(typer.Context(group.commands[name], root))
            for name in group.list_commands(root)
        },
    }


def _made_of() -> list[str]:
    files = [
        str(module.__file__)
        for name, module in sys.modules.items()
        if name.partition(".")[0] in OURS and getattr(module, "__file__", None)
    ]
    return [*files, *filter(None, sys.path)]


def _command(context: typer.Context) -> dict[str, Any]:
    command: Any = context.command
    completed_by = _completed_by(command.callback)
    return {
        "help": _plain(command.get_short_help_str()),
        "hidden": command.hidden,
        "parameters": [
            {
                "name": each.name,
                "names": [*each.opts, *each.secondary_opts] if _is_option(each) else [],
                "flag": getattr(each, "is_flag", False),
                "many": each.nargs == -1,
                "multiple": each.multiple,
                "hidden": getattr(each, "hidden", False),
                "help": _plain(getattr(each, "help", None) or ""),
                "variable": each.envvar,
                "choices": [str(choice) for choice in getattr(each.type, "choices", ())],
                "completed_by": completed_by.get(each.name),
            }
            for each in command.get_params(context)
        ],
    }


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _completed_by(callback: Callable[..., Any]) -> dict[str, str]:
    """Return the name of the completion function of each parameter that has one."""
    return {
        name: given.autocompletion.__name__
        for name, parameter in inspect.signature(callback, eval_str=True).parameters.items()
        for given in getattr(parameter.annotation, "__metadata__", ())
        if getattr(given, "autocompletion", None)
    }


def _plain(text: str) -> str:
    """Return a help text as Typer shows it in the shell, without rich's markup."""
    return Text.from_markup(text).plain
