"""Splitting of command lines as in Typer, based on an outline of the commands, without Typer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["behind_command", "given_values", "is_option", "split_line"]


def split_line(line: str) -> list[str]:
    """Split a line as the shell does; an unclosed quote is not an error."""
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
    """Return the arguments with the common options before the command moved after its name.

    Args:
        arguments: arguments of ``lance-ns``.
        shared: the options common to all commands, each with whether it is a flag.
    """
    end = 0
    while end < len(arguments) and (name := arguments[end].partition("=")[0]) in shared:
        end += 1 if "=" in arguments[end] or shared[name] else 2
    command = arguments[end : end + 1]
    if not end or not command or command[0].startswith("-"):
        return arguments
    # Insert them before a "--", after which a command passes its arguments on unchanged.
    return [*command, *arguments[:end], *arguments[end + 1 :]]


def is_option(parameter: Mapping[str, Any]) -> bool:
    """Return whether a parameter of the outline is an option rather than an argument."""
    return bool(parameter["names"])


def given_values(parameters: list[dict[str, Any]], words: list[str]) -> dict[str, list[str]] | None:
    """Return the values on the command line; None if an option is unknown."""
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
                return given  # this value is being typed
            value = words.pop(0)
        given.setdefault(option["name"], []).append(value)
    for argument in parameters:
        if not is_option(argument) and rest:
            given[argument["name"]] = rest if argument["many"] else rest[:1]
            rest = [] if argument["many"] else rest[1:]
    return given
