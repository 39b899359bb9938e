"""Creates folders on local storage before the metastore would create them.

The metastore creates the folder of a new record if the folder is missing. If the metastore then
cannot store the record, it deletes the folder with all its contents. If two clients create the same
table concurrently, the failure of the slower client would therefore delete the rows of the faster
one. The metastore does not delete folders that existed before.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType

from attrs import define, field
from pymetastore.hive_metastore.ttypes import InvalidObjectException

from .records import plain_location

__all__ = ["PrecreatedFolder", "is_local"]


@define
class PrecreatedFolder:
    """Creates the folder of a record on local storage before the record is stored.

    The folder is removed if the metastore rejects the record as invalid. After other failures, the
    empty folder is kept, because another client may already use it for the same object.

    Args:
        location: location in the record; nothing is done if it is not on local storage.
    """

    # This is not a generator, because contextlib cannot re-raise pymetastore's immutable
    # exceptions.

    location: str
    _created: list[Path] = field(factory=list, init=False)

    def __enter__(self) -> None:
        if is_local(self.location):
            self._created = _make(Path(plain_location(self.location)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, InvalidObjectException):
            for folder in self._created:
                with suppress(OSError):  # another client is using the folder
                    folder.rmdir()


def is_local(location: str) -> bool:
    """Return whether a location is on local storage."""
    return plain_location(location).startswith("/")


def _make(folder: Path) -> list[Path]:
    """Create a folder and its parents; return the created folders, innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    # The metastore may have permissions that this process lacks; otherwise, it reports the failure.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return missing
