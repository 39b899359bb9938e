"""Takes command lines apart as Typer does, by an outline of the commands, and without Typer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["behind_command", "given_values", "is_option", "split_line"]


def split_line(line: str) -> list[str]:
    """Split a line as the shell does; a quote that is still open is no failure."""
    import shlex

    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        while (word := lexer.get_token()) is not None:
            words.append(word)
    except ValueError:
        words.append(lexer.token)
    return words


def behind_command(arguments: list[str], shared: Mapping[str, bool]) -> list[str]:
    """Return the arguments with options of every command, given before it, behind its name.

    Args:
        arguments: those of ``lance-ns``.
        shared: the options of every command, and whether each is a flag.
    """
    end = 0
    while end < len(arguments) and (name := arguments[end].partition("=")[0]) in shared:
        end += 1 if "=" in arguments[end] or shared[name] else 2
    command = arguments[end : end + 1]
    if not end or not command or command[0].startswith("-"):
        return arguments
    # Before what a command may take as it stands, behind a "--".
    return [*command, *arguments[:end], *arguments[end + 1 :]]


def is_option(parameter: Mapping[str, Any]) -> bool:
    """Return whether a parameter of the outline is an option; else it is an argument."""
    return bool(parameter["names"])


def given_values(parameters: list[dict[str, Any]], words: list[str]) -> dict[str, list[str]] | None:
    """Return the values that stand in the command line; None where an option is not known."""
    options = {name: each for each in parameters for name in each["names"]}
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--":
            rest += words
            break
        if len(word) < 2 or not word.startswith("-"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in options and not word.startswith("--"):
            name, equals, value = word[:2], word[2:], word[2:]  # -pKEY=VALUE
        option = options.get(name)
        if option is None or (option["flag"] and equals):
            return None
        if not option["flag"] and not equals:
            if not words:
                return given  # the one that is being typed
            value = words.pop(0)
        given.setdefault(option["name"], []).append(value)
    for argument in parameters:
        if not is_option(argument) and rest:
            given[argument["name"]] = rest if argument["many"] else rest[:1]
            rest = [] if argument["many"] else rest[1:]
    return given
