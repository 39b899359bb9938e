"""The input files of an import and their reader."""

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
    """The input files of an import and their reader."""

    format: str
    files: Sequence[SourceFile]
    reader: Format
    storage: Mapping[str, str] = field(repr=False)
    """Options of the object store that contains the files."""

    @property
    def are_here(self) -> bool:
        """Whether files were downloaded, so that only this machine can read them."""
        return any(file.address for file in self.files)


@contextmanager
def opened(
    sources: Sequence[str],
    format: str | None,
    options: Mapping[str, str] | None,
    storage: Mapping[str, str],
    report: Downloading | None,
) -> Iterator[Inputs]:
    """Find the files of an import; downloaded web files are deleted on exit.

    Args:
        sources: as for `find_files`.
        format: as for `find_files`.
        options: options of the format; those that start with ``storage.`` configure the object
            store of the files.
        storage: options of the namespace's store, used if `options` contains no ``storage.``
            options.
        report: called with the progress of each download.

    Raises:
        LanceNamespaceError: the errors of `find_files`, or code 13 for an unknown option.
    """
    given = dict(options or {})
    own = {key: given.pop(key) for key in list(given) if key.startswith(STORAGE)}
    chosen = {key.removeprefix(STORAGE): value for key, value in own.items()} or storage
    with Downloads(report) as downloads:
        name, files = find_files(sources, format, chosen, downloads)
        kind = FORMATS[name]
        reader = kind(read_options(kind.options_type, given, f"{name} import"))
        yield Inputs(format=name, files=files, reader=reader, storage=chosen)
