"""Generates the page on the command line from its Typer application."""

from __future__ import annotations

from typing import Any

import typer

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status

from .tables import cell, table

__all__ = ["command_line_page"]


def command_line_page() -> str:
    """Return the page with one section per command."""
    group: Any = typer.main.get_command(app)
    context = group.context_class(group, info_name="lance-ns")
    parts = [
        "# The command line\n",
        "Every command and option of `lance-ns`. [The guide](../cli.md) shows how they are used "
        "together.\n",
        "```text\nlance-ns COMMAND [OPTIONS] [ARGUMENTS]\n```\n",
    ]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        parts += [f"## lance-ns {name}\n", *_section(command, context, name)]
    parts += [
        "## Exit status\n",
        table(("Status", "Meaning"), ((str(each.value), each.meaning) for each in Status)),
    ]
    return "\n".join(parts)


def _section(command: Any, parent: Any, name: str) -> list[str]:
    context = command.context_class(command, info_name=name, parent=parent)
    parts = [f"{command.help}\n"]
    usage = " ".join(["lance-ns", name, *command.collect_usage_pieces(context)])
    parts.append(f"```text\n{usage}\n```\n")
    if command.epilog:
        parts.append(f"```sh\n{command.epilog}\n```\n")
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        title = getattr(parameter, "rich_help_panel", None) or kind
        text = cell(record[1]).replace("<", "&lt;")
        sections.setdefault(title, []).append((f"`{record[0]}`", text))
    for title, rows in sections.items():
        parts += [f"**{title}**\n", table(("", ""), rows)]
    return parts
