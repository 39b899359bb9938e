"""Finds the files of an import."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve, field, frozen
from pyarrow import fs

from lance_namespace_client.errors import InvalidInputError

from ..core.stores import ResolvedAddress, applicable_options, resolve
from ..distributed.failures import protocol_error
from .downloads import Downloads, Hub, is_web, shards
from .folder_names import FolderValues, check_folder_columns, folder_values
from .lakes import (
    TABLE_FORMATS,
    current_metadata,
    delta_version,
    iceberg_size,
    table_failure,
    table_format,
)

__all__ = ["SourceFile", "find_files", "format_of"]

ENDINGS = {
    "csv": (".csv", ".tsv"),
    "json": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".parq", ".pq"),
    "orc": (".orc",),
    "avro": (".avro",),
}
FORMAT_NAMES = (*ENDINGS, *TABLE_FORMATS)
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_DELTA_LOG = "_delta_log"
_WILD = frozenset("*?[")
# Matches a name or password before the host (except the container of Azure addresses), or a query
# with a credential or signature.
_SECRET = re.compile(
    r"(?:(?:az|abfss?)://[^/?#]*:[^/?#]*@|(?!az:|abfss?:)[\w+.-]+://[^/?#]*@"
    r"|[\w+.-]+://[^?#]*\?(?:[^#]*&)?[^=&#]*(?:sig|token|secret|password|credential|key)[^=&#]*=)",
    re.IGNORECASE,
)


def _as_pairs(pairs: Iterable[tuple[str, str | None]]) -> FolderValues:
    """Convert pairs to tuples, because JSON has only lists."""
    return tuple((name, value) for name, value in pairs)


@frozen(kw_only=True)
class SourceFile:
    """A file to be imported."""

    path: str
    """Path in the store."""
    size: int
    """Size in bytes."""
    store: str | None = None
    """URI of the store that contains the file; None for this machine."""
    storage: Mapping[str, str] = field(factory=dict, repr=False)
    """Options of that store, with pylance's names."""
    address: str | None = None
    """URL that the file was downloaded from; None if it was not downloaded."""
    version: int | None = None
    """Version of a Delta table."""
    folder_values: FolderValues = field(default=(), converter=_as_pairs)
    """Columns and values in the names of its folders, the outermost first; None for null."""

    @property
    def name(self) -> str:
        """Name of the file, as shown in messages."""
        return self.address or self.path

    @property
    def is_compressed(self) -> bool:
        """Whether the whole file is compressed text."""
        return self.path.lower().endswith(COMPRESSED)

    @property
    def ending(self) -> str:
        """File extension, without the extension of a compression."""
        return os.path.splitext(_uncompressed(self.path))[1]

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file; compressed text is decompressed, and such a stream is not seekable."""
        store = _resolved(self.store or self.path, self.storage).filesystem()
        if self.is_compressed:
            source = store.open_input_stream(self.path, compression="detect")
        else:
            source = store.open_input_file(self.path)
        with source:
            yield source


def _resolved(address: str, storage: Mapping[str, str]) -> ResolvedAddress:
    """Resolve the address of a source.

    Args:
        address: a path or URI.
        storage: options with pylance's names; those for other kinds of store are ignored.

    Raises:
        InvalidInputError: code 13, the kind of store is unknown.
    """
    return resolve(address, applicable_options(address, storage))


def find_files(
    sources: Sequence[str],
    format: str | None,
    storage: Mapping[str, str] | None = None,
    downloads: Downloads | None = None,
) -> tuple[str, list[SourceFile]]:
    """Find the files that sources refer to, and their format.

    A source is a file, a folder (with everything below it), a pattern such as ``data/*.csv``, the
    folder of a Delta or Iceberg table, or the metadata file of an Iceberg table. As in Spark,
    folders and patterns skip names that start with ``.`` or ``_``, and names of folders such as
    ``year=2020`` are columns of the files in them, except in the part of a path that the source
    spells out. If the sources spell out several values, these are columns, too.

    Args:
        sources: paths or URIs.
        format: ``csv``, ``json``, ``parquet``, ``orc``, ``avro``, ``delta`` or ``iceberg``; defaults
            to the format of the table or of the file extensions, and then folders skip files with
            unknown extensions.
        storage: options of the object stores, with pylance's names; defaults to the environment.
        downloads: downloads web files; without it, web files are rejected.

    Returns:
        the format and the files, in the order of the sources and of their paths.

    Raises:
        InvalidInputError: code 13, there are no files to read, they have several formats, the
            format is unknown, or an address contains credentials.
        PermissionDeniedError: code 15, the store or the server denies access.
        UnauthenticatedError: code 16, the store or the server requires other credentials.
        ServiceUnavailableError: code 17, the store or the server does not respond.
    """
    if format is not None and format not in FORMAT_NAMES:
        raise InvalidInputError(
            f"format {format!r} is not known; use one of {', '.join(FORMAT_NAMES)}"
        )
    if isinstance(sources, str) or not sources:
        raise InvalidInputError("sources must be a non-empty list of files, folders or patterns")
    files: dict[tuple[str | None, str], SourceFile] = {}
    formats: set[str] = set()
    for source in sources:
        _refuse_credentials(source)
        found = list(_expand(source, format, storage or {}, downloads))
        if not found:
            hint = (
                ""
                if format
                else f"; for other extensions specify the format ({', '.join(FORMAT_NAMES)})"
            )
            raise InvalidInputError(f"{source}: no files to read{hint}")
        files.update(((file.store, file.path), file) for file, _ in found)
        formats.update(name for _, name in found)
    if formats.isdisjoint(TABLE_FORMATS):
        files = _with_all_folders(files)
        check_folder_columns(files.values())
    if len(formats) > 1:
        raise InvalidInputError(
            f"files of several formats cannot be imported into one table: {', '.join(sorted(formats))}"
        )
    return formats.pop(), list(files.values())


def _uncompressed(path: str) -> str:
    name = path.lower()
    return next((name.removesuffix(end) for end in COMPRESSED if name.endswith(end)), name)


def format_of(path: str) -> str | None:
    """Return the format that a file extension indicates, or None."""
    name = _uncompressed(path)
    return next((format for format, endings in ENDINGS.items() if name.endswith(endings)), None)


def _refuse_credentials(source: str) -> None:
    if _SECRET.match(source):
        raise InvalidInputError(
            f"{source.split('://', 1)[0]}://...: the address contains credentials, which "
            "logs and messages would show; pass those of an object store as 'storage.*' "
            "properties, and those of the Hub as HF_TOKEN"
        )


def _expand(
    source: str, format: str | None, storage: Mapping[str, str], downloads: Downloads | None
) -> Iterator[tuple[SourceFile, str]]:
    """Yield the files of a source, and the format of each."""
    if not is_web(source):
        found = _resolved(source, storage)
        uri = None if found.kind is None else found.location
        own = {} if uri is None else storage
        store = found.filesystem()
        if table := _table_format(source, store, found.path, format):
            yield _table(source, store, found, table, own), table
            return
        for info in _found(source, store, found.path, format):
            file = SourceFile(
                path=info.path,
                size=info.size,
                store=uri,
                storage=own,
                folder_values=folder_values(_folders_of(info.path, found.path)),
            )
            yield file, format or str(format_of(info.path))
        return
    if downloads is None:
        raise InvalidInputError(
            f"{source}: web addresses are not supported here; download the file first"
        )
    if source.lower().startswith("hf://"):
        hub, path = Hub.open(source, downloads)
        addresses = {
            hub.address(info.path): folder_values(_folders_of(info.path, path))
            for info in _found(source, hub, path, format)
        }
    else:
        addresses = dict.fromkeys(shards(source), ())
        _refuse_unknown_ending(source, urlsplit(next(iter(addresses))).path, format)
    for address, values in addresses.items():
        here, shown = downloads.fetch(address)
        file = SourceFile(
            path=str(here), size=here.stat().st_size, address=shown, folder_values=values
        )
        yield file, format or str(format_of(file.path))


def _table_format(source: str, store: Any, path: str, format: str | None) -> str | None:
    """Return the format of the source if it is a table, or None if it consists of files.

    Raises:
        InvalidInputError: code 13, the source is a table of another format. Its folder may contain
            files that are not part of the table.
    """
    try:
        found = None if not _WILD.isdisjoint(path) else table_format(store, path)
    except OSError as error:
        raise protocol_error(error, f"looking for {source}") from error
    if found is not None and format not in (None, found):
        if format == "json" and store.get_file_info(path).is_file:
            return None
        raise InvalidInputError(
            f"{source} is a table of the format {found}, not {format}; omit the format"
        )
    if found is None and format in TABLE_FORMATS:
        raise InvalidInputError(f"{source} is not a table of the format {format}")
    return found


def _table(
    source: str, store: Any, found: ResolvedAddress, format: str, storage: Mapping[str, str]
) -> SourceFile:
    """Return the current version of a Delta or Iceberg table."""
    is_local = found.kind is None
    if format == "delta":
        table = SourceFile(
            path=found.path, size=0, store=None if is_local else found.location, storage=storage
        )
        try:
            version, size = delta_version(found.location, storage)
        except Exception as error:
            raise table_failure(error, table.name) from error
        return evolve(table, version=version, size=size)
    path = current_metadata(store, found.path, source)
    uri = None if is_local else found.location + path.removeprefix(found.path)
    table = SourceFile(path=path, size=0, store=uri, storage=storage)
    try:
        return evolve(table, size=iceberg_size(uri or path, storage))
    except Exception as error:
        raise table_failure(error, table.name) from error


def _refuse_unknown_ending(source: str, path: str, format: str | None) -> None:
    if format is None and format_of(path) is None:
        raise InvalidInputError(
            f"{source}: the file name has no known extension; specify the format ({', '.join(FORMAT_NAMES)})"
        )


def _found(source: str, store: Any, path: str, format: str | None) -> list[Any]:
    """Return the files that a source matches in its store, sorted by path."""
    try:
        infos = _infos(source, store, path, format)
    except OSError as error:
        raise protocol_error(error, f"looking for {source}") from error
    return [
        info
        for info in sorted(infos, key=lambda info: str(info.path))
        if format is not None or format_of(info.path) is not None
    ]


def _infos(source: str, store: Any, path: str, format: str | None) -> Sequence[Any]:
    info = store.get_file_info(path)
    if info.type == fs.FileType.File:
        _refuse_unknown_ending(source, path, format)
        _refuse_files_of_delta(source, store, [os.path.dirname(path)])
        return [info]
    if info.type == fs.FileType.Directory:
        _refuse_files_of_delta(source, store, [path])
        return _below(source, store, path)
    if not _WILD.isdisjoint(path):
        infos = [
            info for info in _matching(store, path) if _is_shown(_not_spelt_out(info.path, path))
        ]
        _refuse_files_of_delta(source, store, {os.path.dirname(info.path) for info in infos})
        return infos
    raise InvalidInputError(f"{source}: file or folder not found")


def _below(source: str, store: Any, folder: str) -> list[Any]:
    infos = store.get_file_info(fs.FileSelector(folder, recursive=True))
    for info in infos:
        if os.path.basename(info.path) == _DELTA_LOG:
            _refuse_delta(source, os.path.dirname(info.path))
    return [
        info
        for info in infos
        if info.type == fs.FileType.File and _is_shown(info.path[len(folder) :].split("/"))
    ]


def _refuse_files_of_delta(source: str, store: Any, folders: Iterable[str]) -> None:
    """Reject folders of a Delta table, and the folders of its partitions."""
    tables = set()
    for folder in folders:
        while "=" in os.path.basename(folder):
            folder = os.path.dirname(folder)
        tables.add(folder)
    for table in sorted(tables):
        if store.get_file_info(f"{table}/{_DELTA_LOG}").type == fs.FileType.Directory:
            _refuse_delta(source, table)


def _refuse_delta(source: str, table: str) -> None:
    """Reject files of a Delta table: some may no longer be part of it."""
    raise InvalidInputError(
        f"{source} matches files of the Delta table {table}; import the folder of the table instead"
    )


def _is_shown(parts: Sequence[str]) -> bool:
    return not any(part.startswith((".", "_")) for part in parts)


def _not_spelt_out(path: str, pattern: str) -> list[str]:
    """Return the parts of a path that a pattern matches only with wildcards."""
    spelt_out = set(pattern.split("/"))
    return [part for part in path.split("/") if part not in spelt_out]


def _folders_of(path: str, source: str) -> list[str]:
    """Return the names of the folders of a file that the source does not spell out."""
    folder = os.path.dirname(path)
    if _WILD.isdisjoint(source):
        return folder[len(source) :].split("/") if folder.startswith(source) else []
    return _not_spelt_out(folder, source)


def _with_all_folders(
    files: dict[tuple[str | None, str], SourceFile],
) -> dict[tuple[str | None, str], SourceFile]:
    """Return the files with all columns in the names of folders, if sources spell out several values.

    A shell expands a pattern to such sources.
    """
    whole = {key: folder_values(file.name.split("/")[:-1]) for key, file in files.items()}
    spelt_out = {
        whole[key][: len(whole[key]) - len(file.folder_values)] for key, file in files.items()
    }
    if len(spelt_out) < 2:
        return files
    return {key: evolve(file, folder_values=whole[key]) for key, file in files.items()}


def _matching(store: Any, pattern: str) -> Sequence[Any]:
    if isinstance(store, fs.LocalFileSystem):
        paths = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
        return list(store.get_file_info(paths))
    parts = pattern.split("/")
    fixed = next(i for i, part in enumerate(parts) if not _WILD.isdisjoint(part))
    selector = fs.FileSelector("/".join(parts[:fixed]), recursive=True, allow_not_found=True)
    return [
        info
        for info in store.get_file_info(selector)
        if info.type == fs.FileType.File
        and (info.path.count("/") == pattern.count("/") or "**" in pattern)
        and fnmatch(info.path, pattern)
    ]
