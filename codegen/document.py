"""A parsed rest.yaml that records the line of each part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scalarbool import ScalarBoolean

Place = tuple[str | int, ...]
"""The path of a part in a document: keys and indices."""


class Problem(NamedTuple):
    """An error in a specification."""

    file: Path
    line: int | None
    cause: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.cause}"


class SpecError(Exception):
    """Raised for an unusable specification; each problem is a line ``file:line: cause``."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(
            set(problems), key=lambda each: (each.line is None, each.line or 0, each.cause)
        )
        super().__init__("\n".join(map(str, self.problems)))


class Document:
    """A parsed specification.

    Args:
        path: the YAML file.
        strict: whether to reject values that JSON does not support, such as dates; otherwise, they
            become strings.

    Raises:
        SpecError: the file cannot be read, is not YAML, or repeats a key.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self.path = path
        self._strict = strict
        self.tree = _load(path)
        if not isinstance(self.tree, CommentedMap):
            raise SpecError(
                [Problem(path, 1, "must be a mapping with the parts of an OpenAPI document")]
            )
        try:
            self.data: dict[str, Any] = self._plain(self.tree, ())
        except RecursionError as error:
            cause = "is nested too deeply, or contains an alias inside its own anchor"
            raise SpecError([Problem(path, None, cause)]) from error

    def line(self, place: Place) -> int:
        """Return the 1-based line of the deepest part of `place` that exists in the file."""
        node: Any = self.tree
        line = 1
        for step in place:
            if isinstance(node, CommentedMap):
                key = next((key for key in node if str(key) == str(step)), None)
                if key is None:
                    break
                # Keys that `<<` merges have no separate line.
                line = node.lc.data[key][0] + 1 if key in (node.lc.data or ()) else line
                node = node[key]
            elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
                line = node.lc.item(step)[0] + 1
                node = node[step]
            else:
                break
        return line

    def problem(self, place: Place, cause: str) -> Problem:
        """Build a problem report for the part at `place`."""
        return Problem(self.path, self.line(place), cause)

    def references(self) -> Iterator[tuple[Place, str]]:
        """Return every ``$ref`` with its place."""
        yield from _references(self.data, ())

    def resolve(self, reference: str) -> Any:
        """Return the target of a local ``$ref``, or None."""
        return resolve(self.data, reference)

    def _plain(self, node: Any, place: Place) -> Any:
        """Convert YAML nodes to JSON values."""
        match node:
            case CommentedMap():
                return {str(k): self._plain(v, (*place, str(k))) for k, v in node.items()}
            case CommentedSeq():
                return [self._plain(v, (*place, i)) for i, v in enumerate(node)]
            case None | bool():
                return node
            case ScalarBoolean():
                return bool(node)
            case int():
                return int(node)
            case float() if math.isfinite(node):
                return float(node)
            case str():
                return str(node)
        if not self._strict:
            return str(node)
        raise SpecError([self.problem(place, f"{node!r} is not a JSON value; put it in quotes")])


def resolve(data: dict[str, Any], reference: str) -> Any:
    """Return the target of a local ``$ref`` in `data`, or None."""
    found = target(data, reference)
    return None if found is None else found[1]


def target(data: dict[str, Any], reference: str) -> tuple[Place, Any] | None:
    """Return the place and the value of the target of a local ``$ref`` in `data`, or None."""
    node: Any = data
    place: list[str | int] = []
    if not reference.startswith("#/"):
        return None
    for text in unquote(reference[2:]).split("/"):
        key = text.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            place.append(int(key))
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            place.append(key)
            node = node[key]
        else:
            return None
    return tuple(place), node


def _load(path: Path) -> Any:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SpecError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError([Problem(path, line, f"is not UTF-8 text: {error.reason}")]) from error
    try:
        yaml = YAML(typ="rt")
        yaml.preserve_quotes = True
        return yaml.load(text)
    except MarkedYAMLError as error:
        raise SpecError([_marked(path, error)]) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError([Problem(path, line, f"is not YAML: {error.reason}")]) from error
    except YAMLError as error:
        raise SpecError([Problem(path, 1, f"is not YAML: {error}")]) from error
    except RecursionError as error:
        raise SpecError([Problem(path, None, "is nested too deeply")]) from error


def _marked(path: Path, error: MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    cause = (error.problem or error.context or "not YAML").strip().splitlines()[0]
    cause = cause.split(" with value ")[0]
    start = error.context_mark.line + 1 if error.context_mark else line
    if error.context and start != line:
        cause += f", {error.context} that starts on line {start}"
    return Problem(path, line, cause)


def _references(node: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield (*place, key), value
            else:
                yield from _references(value, (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _references(value, (*place, index))
