"""Finds the files of an import."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from typing import Any

from attrs import frozen
from pyarrow import fs

from lance_namespace_client.errors import InvalidInputError

from ..core.errors import first_line

__all__ = ["FORMATS", "SourceFile", "find_files", "open_filesystem"]

FORMATS = {
    "csv": (".csv", ".tsv"),
    "json": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".parq", ".pq"),
}
"""Endings of the files of each format; CSV and JSON may be compressed on top."""

COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_WILD = frozenset("*?[")


@frozen(kw_only=True)
class SourceFile:
    """A file to be imported."""

    path: str
    """URI or absolute path."""
    size: int
    """Bytes."""


def open_filesystem(location: str) -> tuple[Any, str]:
    """Open the file system of a URI or path; give it with the path in it.

    Credentials of object stores come from the environment.

    Raises:
        InvalidInputError: code 13, there is no such kind of file system.
    """
    if "://" not in location:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(location))
    try:
        filesystem, path = fs.FileSystem.from_uri(location)
    except Exception as error:
        raise InvalidInputError(f"{location} cannot be opened: {first_line(error)}") from error
    return filesystem, path


def find_files(sources: Sequence[str], format: str | None) -> tuple[str, list[SourceFile]]:
    """Find the files that sources stand for, and their format.

    A source is a file, a folder (with all below it) or a pattern such as ``data/*.csv``. Names
    that start with ``.`` or ``_`` are left out of folders and patterns, as Spark does.

    Args:
        sources: paths or URIs.
        format: ``csv``, ``json`` or ``parquet``; by the files' endings unless given, and files of
            no known ending are then left out of folders.

    Returns:
        the format and the files, in the order of the sources and of their paths.

    Raises:
        InvalidInputError: code 13, there is nothing to read, it is of several formats, or the
            format is not known.
    """
    if format is not None and format not in FORMATS:
        raise InvalidInputError(
            f"format {format!r} is not known; it is one of {', '.join(FORMATS)}"
        )
    if isinstance(sources, str) or not sources:
        raise InvalidInputError("sources is a list of files, folders or patterns, and not empty")
    files: dict[str, SourceFile] = {}
    for source in sources:
        found = list(_expand(source, format))
        if not found:
            raise InvalidInputError(
                f"{source}: there is no file to read"
                + ("" if format else f"; name the format ({', '.join(FORMATS)}) of other endings")
            )
        files.update((file.path, file) for file in found)
    formats = {format or format_of(path) for path in files}
    if len(formats) > 1:
        raise InvalidInputError(
            "files of several formats cannot become one table: "
            + ", ".join(sorted(str(name) for name in formats))
        )
    return str(formats.pop()), list(files.values())


def format_of(path: str) -> str | None:
    """Tell a file's format by its ending, or None where there is none for it."""
    name = path.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return next((format for format, endings in FORMATS.items() if name.endswith(endings)), None)


def _expand(source: str, format: str | None) -> Iterable[SourceFile]:
    filesystem, path = open_filesystem(source)
    prefix = source[: len(source) - len(path)] if "://" in source else ""
    if prefix and not source.endswith(path):  # a URI that does not end with its path
        prefix = source.split("://", 1)[0] + "://"
    info = filesystem.get_file_info(path)
    if info.type == fs.FileType.File:
        if format is None and format_of(path) is None:
            raise InvalidInputError(
                f"{source}: the ending does not tell the format; name it ({', '.join(FORMATS)})"
            )
        return [SourceFile(path=prefix + path, size=info.size)]
    if info.type == fs.FileType.Directory:
        infos = _below(filesystem, path)
        _refuse_partitions(source, path, infos)
    elif not _WILD.isdisjoint(path):
        infos = _matching(filesystem, path)
    else:
        raise InvalidInputError(f"{source}: there is no such file or folder")
    return [
        SourceFile(path=prefix + info.path, size=info.size)
        for info in sorted(infos, key=lambda info: str(info.path))
        if format is not None or format_of(info.path) is not None
    ]


def _below(filesystem: Any, folder: str) -> list[Any]:
    selector = fs.FileSelector(folder, recursive=True)
    return [
        info
        for info in filesystem.get_file_info(selector)
        if info.type == fs.FileType.File and _is_shown(info.path[len(folder) :])
    ]


def _is_shown(path: str) -> bool:
    return not any(part.startswith((".", "_")) for part in path.strip("/").split("/"))


def _refuse_partitions(source: str, folder: str, infos: Sequence[Any]) -> None:
    """Refuse columns that stand in folder names, since they would be lost."""
    for info in infos:
        for part in info.path[len(folder) :].split("/")[:-1]:
            if "=" in part:
                raise InvalidInputError(
                    f"{source} is partitioned by folders ({part}), and their columns are not in the "
                    "files; write it as plain files first, or name the files of one partition"
                )


def _matching(filesystem: Any, pattern: str) -> list[Any]:
    if isinstance(filesystem, fs.LocalFileSystem):
        paths = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
        infos = filesystem.get_file_info(paths)
    else:
        parts = pattern.split("/")
        fixed = next(i for i, part in enumerate(parts) if not _WILD.isdisjoint(part))
        selector = fs.FileSelector("/".join(parts[:fixed]), recursive=True, allow_not_found=True)
        infos = [
            info
            for info in filesystem.get_file_info(selector)
            if info.type == fs.FileType.File
            and (info.path.count("/") == pattern.count("/") or "**" in pattern)
            and fnmatch(info.path, pattern)
        ]
    return [info for info in infos if not info.base_name.startswith((".", "_"))]
