"""The files of an import, found and there to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from attrs import field, frozen

from ..distributed.options import read_options
from .downloads import Downloading, Downloads
from .readers import FORMATS, Format, SourceFile, find_files

__all__ = ["Inputs", "opened"]

STORAGE = "storage."


@frozen(kw_only=True)
class Inputs:
    """The files of an import, and what reads them."""

    format: str
    files: Sequence[SourceFile]
    reader: Format
    storage: Mapping[str, str] = field(repr=False)
    """Options of the object store that the files are in."""

    @property
    def are_here(self) -> bool:
        """Whether files were downloaded, so that this machine alone has them."""
        return any(file.address for file in self.files)


@contextmanager
def opened(
    sources: Sequence[str],
    format: str | None,
    options: Mapping[str, str] | None,
    storage: Mapping[str, str],
    report: Downloading | None,
) -> Iterator[Inputs]:
    """Find the files of an import; those of the web are downloaded, and deleted at the end.

    Args:
        sources: as for `find_files`.
        format: as for `find_files`.
        options: of the format; those that begin with ``storage.`` are of the object store that the
            files are in.
        storage: options of the namespace's store, which count where `options` name none.
        report: told how far each download is.

    Raises:
        LanceNamespaceError: as for `find_files`, or code 13, an option is not known.
    """
    given = dict(options or {})
    own = {key: given.pop(key) for key in list(given) if key.startswith(STORAGE)}
    chosen = {key.removeprefix(STORAGE): value for key, value in own.items()} or storage
    with Downloads(report) as downloads:
        name, files = find_files(sources, format, chosen, downloads)
        kind = FORMATS[name]
        reader = kind(read_options(kind.options_type, given, f"{name} import"))
        yield Inputs(format=name, files=files, reader=reader, storage=chosen)
