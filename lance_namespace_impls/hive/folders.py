"""Folders, made before the metastore would make them.

The metastore makes the folder of a new record where it finds none. If it then cannot store the
record, it deletes that folder again, with all that is in it by then: of two who make one table at
once, the slower one takes the rows of the faster one along. A folder that it finds it leaves alone.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType

from attrs import define, field
from pymetastore.hive_metastore.ttypes import InvalidObjectException

from .records import plain_location

__all__ = ["MadeFirst", "is_local"]


@define
class MadeFirst:
    """Create a folder on local storage before a record is stored whose location it is.

    It goes again where the record is refused as such. After other failures it stays, empty: it may
    have become somebody else's who makes the same thing.

    Args:
        location: as the record has it; nothing is done for one that is not on local storage.
    """

    # No generator: contextlib cannot raise pymetastore's exceptions again, which are immutable.

    location: str
    _made: list[Path] = field(factory=list, init=False)

    def __enter__(self) -> None:
        if is_local(self.location):
            self._made = _make(Path(plain_location(self.location)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, InvalidObjectException):
            for folder in self._made:
                with suppress(OSError):  # someone uses it
                    folder.rmdir()


def is_local(location: str) -> bool:
    """Return whether a location is on local storage."""
    return plain_location(location).startswith("/")


def _make(folder: Path) -> list[Path]:
    """Create a folder and those above it, and return the new ones, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    # What this process may not make the metastore may, and it says what is wrong.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return missing
