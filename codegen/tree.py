"""Parts of a YAML file that is changed and written again: order, comments and style are kept."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import FoldedScalarString, LiteralScalarString

__all__ = ["dump", "flow", "insert", "is_short", "plain", "put", "text_node", "toggle", "tree"]


def dump(root: CommentedMap) -> str:
    """Return the text of a YAML file."""
    out = io.StringIO()
    _yaml().dump(root, out)
    return out.getvalue()


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.preserve_quotes = True
    yaml.representer.add_representer(
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return yaml


def plain(node: Any) -> Any:
    """Return a part of a YAML tree as plain values."""
    if isinstance(node, Mapping):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(each) for each in node]
    return str(node) if isinstance(node, str) else node


def tree(node: Any) -> Any:
    """Return plain values as a part of a YAML tree, with descriptions in folded style."""
    if isinstance(node, Mapping):
        found_map = CommentedMap(
            (
                key,
                text_node(value)
                if key == "description" and isinstance(value, str)
                else tree(value),
            )
            for key, value in node.items()
        )
        for key in ("items", "additionalProperties", "schema"):
            if isinstance(inner := found_map.get(key), CommentedMap) and is_short(inner):
                inner.fa.set_flow_style()
        return found_map
    if isinstance(node, list | tuple):
        found = CommentedSeq(map(tree, node))
        if all(isinstance(each, str | int) for each in node):
            found.fa.set_flow_style()
        return found
    return node


def is_short(schema: CommentedMap) -> bool:
    """Return whether a schema fits on one line."""
    return all(isinstance(each, str | int | bool) for each in schema.values())


def flow(values: list[Any]) -> CommentedSeq:
    """Return a list that is written on one line."""
    found = CommentedSeq(values)
    found.fa.set_flow_style()
    return found


def text_node(text: str) -> Any:
    """Return text in the YAML style of descriptions."""
    text = text.strip()
    if "\n" in text:
        return LiteralScalarString(text)
    return FoldedScalarString(text) if len(text) > 80 else text


def insert(mapping: CommentedMap, previous: str | None, key: str, value: Any) -> None:
    """Insert an entry after another one, or at the end."""
    keys = list(mapping)
    if previous in keys:
        mapping.insert(keys.index(previous) + 1, key, value)
    else:
        mapping[key] = value


def put(mapping: CommentedMap, key: str, value: Any, *, before: str = "", after: str = "") -> None:
    """Set an entry; a new one is inserted next to another."""
    keys = list(mapping)
    if key in keys or (before not in keys and after not in keys):
        mapping[key] = value
    else:
        index = keys.index(before) if before in keys else keys.index(after) + 1
        mapping.insert(index, key, value)


def toggle(mapping: CommentedMap, key: str, *, value: bool) -> None:
    """Set an entry to true, or remove it."""
    if value:
        mapping[key] = True
    else:
        mapping.pop(key, None)
