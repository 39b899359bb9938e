"""rest.yaml as data, with the line of every part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError

Place = Sequence[str | int]


class SpecError(Exception):
    """The specification cannot be used; each problem is one line, ``file:line: cause``."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Document:
    """A parsed specification.

    Args:
        path: the YAML file.

    Raises:
        SpecError: the file cannot be read, is not YAML, or repeats a key.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        yaml = YAML(typ="rt")
        try:
            self._tree = yaml.load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from error
        except UnicodeDecodeError as error:
            raise SpecError([f"{path}: is not UTF-8 text: {error.reason}"]) from error
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            cause = (error.problem or error.context or "not YAML").strip().splitlines()[0]
            raise SpecError([f"{path}:{line}: {cause}"]) from error
        if not isinstance(self._tree, CommentedMap):
            raise SpecError([f"{path}:1: must be a mapping with the parts of an OpenAPI document"])
        self.data: dict[str, Any] = _plain(self._tree)

    def line(self, place: Place) -> int:
        """Give the line of the deepest part of `place` that the file has, from 1."""
        node: Any = self._tree
        line = 1
        for key in place:
            if isinstance(node, CommentedMap) and key in node:
                line = node.lc.key(key)[0] + 1
            elif isinstance(node, CommentedSeq) and isinstance(key, int) and key < len(node):
                line = node.lc.item(key)[0] + 1
            else:
                break
            node = node[key]
        return line

    def problem(self, place: Place, cause: str) -> str:
        """Write a problem as one line that names file and line."""
        return f"{self.path}:{self.line(place)}: {cause}"

    def references(self) -> Iterator[tuple[Place, str]]:
        """Give every ``$ref`` and where it stands."""
        yield from _references(self.data, ())

    def resolve(self, reference: str) -> Any:
        """Give what a local ``$ref`` points at, or None."""
        node: Any = self.data
        if not reference.startswith("#/"):
            return None
        for key in reference[2:].split("/"):
            key = key.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or key not in node:
                return None
            node = node[key]
        return node


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _references(node: Any, place: tuple[str | int, ...]) -> Iterator[tuple[Place, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield (*place, key), value
            else:
                yield from _references(value, (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _references(value, (*place, index))
