"""Tracks the files that attempts at a write leave in storage, so that unused files can be found.

Spark repeats failed and slow tasks, and reports only the successful attempt to the driver.
Therefore, each attempt writes a marker for every data file that it finishes: a file with the same
name under ``_transactions/<job>``. The driver deletes the marked files that are not part of the
commit. A marker is empty or contains a record of the task, from which a later run of the same job
continues.

An attempt may end after the driver has looked for markers. Therefore, the attempt first writes its
marker and then checks whether the job is still open, and the driver first closes the job and then
reads the markers. The one that writes second always sees what the other has written.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from attrs import define

from ..core.imports import load
from ..core.storage import TableStorage
from ..tables.drop import delete_folder
from ..tables.files import delete_file, read_small

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata
    from lance.progress import FragmentWriteProgress
else:
    FragmentWriteProgress = load("lance.progress").FragmentWriteProgress

__all__ = ["Attempt", "Attempts"]

_OPEN = "open"


@define(slots=False)
class Attempts:
    """The markers of one write.

    Args:
        storage: location of the dataset.
        job: unique name of the write.
    """

    storage: TableStorage
    job: str

    def start(self) -> None:
        """Record that the job has started; called before its first task."""
        self._write(_OPEN)

    def note(self, file: str, content: bytes = b"") -> None:
        """Write the marker of a finished data file, with the record of its task."""
        self._write(file, content)

    def names(self) -> list[str]:
        """Return the names of all markers, except the marker of an open job."""
        found = (path.rpartition("/")[2] for path in self._files.list(self._folder))
        return sorted(name for name in found if name != _OPEN)

    def read(self, file: str) -> bytes | None:
        """Return the record in a marker, or None if the marker does not exist."""
        return read_small(self._files, f"{self._folder}/{file}")

    def records(self) -> list[bytes]:
        """Return each distinct record in the markers; empty markers are skipped."""
        return sorted({content for name in self.names() if (content := self.read(name))})

    def is_open(self) -> bool:
        """Return whether the driver is still waiting for tasks."""
        return bool(self._files.contains(f"{self._folder}/{_OPEN}"))

    def close(self) -> set[str]:
        """Close the job and return the names of all data files with a marker."""
        delete_file(self._files, f"{self._folder}/{_OPEN}")
        return {path.rpartition("/")[2] for path in self._files.list(self._folder)}

    def others_are_open(self) -> bool:
        """Return whether another write to the dataset is in progress."""
        ours = f"{self._folder}/{_OPEN}"
        return any(
            path.endswith(f"/{_OPEN}") and not path.endswith(ours)
            for path in self._files.list("_transactions")
        )

    def forget(self, file: str) -> None:
        """Delete the marker of a data file that has been deleted."""
        delete_file(self._files, f"{self._folder}/{file}")

    def end(self) -> None:
        """Delete all markers of the job."""
        delete_folder(self.storage, self._folder)

    @property
    def _folder(self) -> str:
        return f"_transactions/{self.job}"

    @cached_property
    def _files(self) -> Any:
        LanceFileSession = load("lance.file").LanceFileSession

        return LanceFileSession(self.storage.location, storage_options=self.storage.lance_options())

    def _write(self, name: str, content: bytes = b"") -> None:
        with TemporaryDirectory() as folder:
            local = Path(folder, "content")
            local.write_bytes(content)
            self._files.upload_file(local, f"{self._folder}/{name}")


class Attempt(FragmentWriteProgress):
    """One attempt at a task; pylance reports each finished data file to it.

    Args:
        notes: the markers of the write.
    """

    def __init__(self, notes: Attempts) -> None:
        self.notes = notes
        self._done: dict[str, Future[None]] = {}
        # pylance makes these calls from its own runtime, on which its file session must not be
        # used.
        self._pool = ThreadPoolExecutor(1)

    @property
    def files(self) -> list[str]:
        """Names of the finished files."""
        return list(self._done)

    def begin(self, fragment: FragmentMetadata, **_: Any) -> None:
        """Do nothing: an unfinished file has no name yet."""

    def complete(self, fragment: FragmentMetadata, **_: Any) -> None:
        """Mark the files of a finished fragment."""
        self._note(file.path for file in fragment.files)

    def _note(self, files: Iterable[str], record: bytes = b"") -> None:
        for file in files:
            if file not in self._done:
                self._done[file] = self._pool.submit(self.notes.note, file, record)

    def finish(self, files: Iterable[str], record: bytes = b"") -> None:
        """Wait until all of `files` have markers; raise an error if a marker cannot be written.

        Markers that have not been written yet will contain `record`.

        This also covers the last file, which pylance does not report unless it is full. When the
        driver ends the job, it deletes the folder of the markers, possibly while a marker is being
        written. The resulting error is ignored, so the caller must check whether the job is still
        open.
        """
        self._note(files, record)
        for done in self._done.values():
            try:
                done.result()
            except OSError:
                if self.notes.is_open():
                    raise

    def forget(self) -> None:
        """Delete the markers after their files have been deleted."""
        self._pool.shutdown()
        for file in self._done:
            self.notes.forget(file)
