"""Fast path of shell completion without Typer, which is slow to import.

The commands and their options are read from a file in the user's cache. `outline` generates it from
the Typer application, so there is one source. Uncertain cases are left to Typer. Words are split
and matched in the same way as in Typer, so that both return the same results.

Source: https://click.palletsprojects.com/en/stable/shell-completion/
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from .completion import cache_folder, complete_id, complete_profile, keep, stamps
from .words import behind_command, given_values, is_option, split_line

__all__ = ["answer_shell"]

Item = tuple[str, str]
"""A possible word, and its help, which may be empty."""


def answer_shell() -> int | None:
    """Answer the shell's completion request in the environment.

    Returns:
        the exit status, or None if nothing was written and Typer has to answer.
    """
    instruction, _, shell = os.environ["_LANCE_NS_COMPLETE"].partition("_")
    if instruction != "complete" or shell not in _SHELLS:
        return None
    words, write = _SHELLS[shell]
    try:
        arguments, incomplete = words()
    except (KeyError, ValueError):  # not as set by the shell's function
        return None
    found = _items(_outline(), arguments, incomplete)
    if found is None:
        return None
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args" and shell == "fish":
        return 0 if found else 1
    # As in every command, a character that the terminal's encoding lacks is escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout.write(write(found) + "\n")
    sys.stdout.flush()
    return 0


# --- the outline of the commands


def _outline() -> dict[str, Any]:
    """Return the commands and options, from the cache unless the installation has changed."""
    import zlib

    key = zlib.crc32("\n".join((__file__, *sys.path)).encode("utf-8", "surrogateescape"))
    cache = cache_folder() / f"commands-{key:08x}.json"
    try:
        known: dict[str, Any] = json.loads(cache.read_text("utf-8"))
        if stamps(known["stamps"]) == known["stamps"]:
            return known
    except (OSError, ValueError, LookupError, TypeError):
        pass  # absent or truncated: it is created again
    from .outline import outline

    made = outline()
    keep(cache, made)
    return made


# --- what may stand there


def _items(outline: dict[str, Any], arguments: list[str], incomplete: str) -> list[Item] | None:
    """Return the possible completions of the incomplete word, or None if uncertain."""
    ordered = behind_command(arguments, outline["shared"])
    command = outline["root"]
    given: dict[str, list[str]] | None = {}
    if ordered:
        command = outline["commands"].get(ordered[0])
        given = None if command is None else given_values(command["parameters"], ordered[1:])
    if given is None:
        return None
    if incomplete == "=":  # shells differ in how they pass "--option=value"
        incomplete = ""
    elif incomplete.startswith("-") and "=" in incomplete:
        name, _, incomplete = incomplete.partition("=")
        arguments = [*arguments, name]
    if "--" in arguments or not incomplete.startswith("-"):
        for parameter in _wanting(command["parameters"], arguments, given):
            return _values(outline, command["parameters"], parameter, given, incomplete)
    commands = () if ordered else outline["commands"].items()
    names = [
        (name, each["help"])
        for name, each in commands
        if name.startswith(incomplete) and not each["hidden"]
    ]
    if not incomplete or incomplete[0].isalnum():
        return names
    return names + [
        (name, parameter["help"])
        for parameter in command["parameters"]
        if is_option(parameter) and not parameter["hidden"]
        if parameter["multiple"] or parameter["name"] not in given
        for name in parameter["names"]
        if name.startswith(incomplete)
    ]


def _wanting(
    parameters: list[dict[str, Any]], arguments: list[str], given: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the option whose value is being typed, then the arguments without a value."""
    last = arguments[-1] if arguments else ""
    yield from (each for each in parameters if not each["flag"] and last in each["names"])
    yield from (
        each
        for each in parameters
        if not is_option(each) and (each["many"] or each["name"] not in given)
    )


def _values(
    outline: dict[str, Any],
    parameters: list[dict[str, Any]],
    parameter: dict[str, Any],
    given: dict[str, list[str]],
    incomplete: str,
) -> list[Item] | None:
    """Return the values of a parameter that match the word; None for an unknown kind."""
    if parameter["completed_by"] is None:
        found = parameter["choices"]
    elif parameter["completed_by"] == "complete_impl":
        found = outline["implementations"]
    elif parameter["completed_by"] in _COMPLETED:
        settings = {
            each["name"]: given.get(each["name"], []) if each["multiple"] else _one(each, given)
            for each in parameters
        }
        complete = _COMPLETED[parameter["completed_by"]]
        found = complete(SimpleNamespace(params=settings), incomplete)
    else:
        return None
    return [(value, "") for value in found if value.startswith(incomplete)]


def _one(parameter: dict[str, Any], given: dict[str, list[str]]) -> str | None:
    if parameter["name"] in given:
        return given[parameter["name"]][-1]
    return os.environ.get(parameter["variable"] or "") or None


_COMPLETED: dict[str, Callable[[Any, str], list[str]]] = {
    "complete_id": complete_id,
    "complete_profile": complete_profile,
}


# --- the shells


def _bash_words() -> tuple[list[str], str]:
    words, at = split_line(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
    return words[1:at], words[at] if at < len(words) else ""


def _line_words() -> tuple[list[str], str]:
    line = os.environ["_TYPER_COMPLETE_ARGS"]
    words = split_line(line)[1:]
    if not words or line.endswith(" "):
        return words, ""
    return words[:-1], words[-1]


def _powershell_words() -> tuple[list[str], str]:
    incomplete = os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
    words = split_line(os.environ["_TYPER_COMPLETE_ARGS"])
    return words[1:-1] if incomplete else words[1:], incomplete


def _for_bash(items: list[Item]) -> str:
    return "\n".join(value for value, _ in items)


_ZSH = str.maketrans({'"': '""', "'": "''", "$": "\\$", "`": "\\`", ":": "\\\\:"})


def _for_zsh(items: list[Item]) -> str:
    if not items:
        return "_files"
    quoted = [[f'"{text.translate(_ZSH)}"' for text in item if text] for item in items]
    lines = "\n".join(":".join(texts) for texts in quoted)
    return f"_arguments '*: :(({lines}))'"


def _for_fish(items: list[Item]) -> str:
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") != "get-args":
        return ""
    spaced = ((value, re.sub(r"\s", " ", text)) for value, text in items)
    return "\n".join(f"{value}\t{text}" if text else value for value, text in spaced)


def _for_powershell(items: list[Item]) -> str:
    return "\n".join(f"{value}:::{text or ' '}" for value, text in items)


_SHELLS: dict[str, tuple[Callable[[], tuple[list[str], str]], Callable[[list[Item]], str]]] = {
    "bash": (_bash_words, _for_bash),
    "zsh": (_line_words, _for_zsh),
    "fish": (_line_words, _for_fish),
    "powershell": (_powershell_words, _for_powershell),
    "pwsh": (_powershell_words, _for_powershell),
}
