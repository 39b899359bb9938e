"""What the attempts at one write leave in storage, and how the rest of it is found.

Spark runs a task again where it failed or is slow, and tells the driver of the attempt that won
alone. So each attempt puts a note beside the data for every file that it finished: an empty file of
the same name under ``_transactions/<job>``. The driver deletes the files that have a note and are
not in the commit.

An attempt may end after the driver has looked. It writes its note, then looks whether the job is
still open; the driver closes the job, then reads the notes. Whoever is later sees the other.
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
from ..tables.files import delete_file

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata
    from lance.progress import FragmentWriteProgress
else:
    FragmentWriteProgress = load("lance.progress").FragmentWriteProgress

__all__ = ["Attempt", "Attempts"]

_OPEN = "open"


@define(slots=False)
class Attempts:
    """The notes of one write.

    Args:
        storage: where the dataset is.
        job: unique name of the write.
    """

    storage: TableStorage
    job: str

    def start(self) -> None:
        """Open the job, before its first task."""
        self._write(_OPEN)

    def note(self, file: str) -> None:
        """Note that a data file is finished."""
        self._write(file)

    def is_open(self) -> bool:
        """Return whether the driver still waits for tasks."""
        return bool(self._files.contains(f"{self._folder}/{_OPEN}"))

    def close(self) -> set[str]:
        """Close the job and return the names of all data files that have a note."""
        delete_file(self._files, f"{self._folder}/{_OPEN}")
        return {path.rpartition("/")[2] for path in self._files.list(self._folder)}

    def others_are_open(self) -> bool:
        """Return whether another write to the dataset has begun and not ended."""
        ours = f"{self._folder}/{_OPEN}"
        return any(
            path.endswith(f"/{_OPEN}") and not path.endswith(ours)
            for path in self._files.list("_transactions")
        )

    def forget(self, file: str) -> None:
        """Remove the note of a data file that has been deleted."""
        delete_file(self._files, f"{self._folder}/{file}")

    def end(self) -> None:
        """Remove all notes of the job."""
        delete_folder(self.storage, self._folder)

    @property
    def _folder(self) -> str:
        return f"_transactions/{self.job}"

    @cached_property
    def _files(self) -> Any:
        LanceFileSession = load("lance.file").LanceFileSession

        return LanceFileSession(self.storage.location, storage_options=self.storage.lance_options())

    def _write(self, name: str) -> None:
        with TemporaryDirectory() as folder:
            local = Path(folder, "empty")
            local.touch()
            self._files.upload_file(local, f"{self._folder}/{name}")


class Attempt(FragmentWriteProgress):
    """One attempt at a task; pylance tells it of each data file that is finished.

    Args:
        notes: the notes of the write.
    """

    def __init__(self, notes: Attempts) -> None:
        self.notes = notes
        self._done: dict[str, Future[None]] = {}
        # pylance calls from within its own runtime, where its file session must not be used.
        self._pool = ThreadPoolExecutor(1)

    @property
    def files(self) -> list[str]:
        """Names of the files that are finished."""
        return list(self._done)

    def begin(self, fragment: FragmentMetadata, **_: Any) -> None:
        """Do nothing: a file has no name before it is finished."""

    def complete(self, fragment: FragmentMetadata, **_: Any) -> None:
        """Have the files of a fragment noted."""
        self._note(file.path for file in fragment.files)

    def _note(self, files: Iterable[str]) -> None:
        for file in files:
            if file not in self._done:
                self._done[file] = self._pool.submit(self.notes.note, file)

    def finish(self, files: Iterable[str]) -> None:
        """Wait until all of `files` are noted; raise what kept a note from being written.

        pylance does not tell of a last file that is not full. A driver that ends the job removes the
        folder of the notes, and with it one that is being written; that the job has ended is then
        for the caller to find.
        """
        self._note(files)
        for done in self._done.values():
            try:
                done.result()
            except OSError:
                if self.notes.is_open():
                    raise

    def forget(self) -> None:
        """Remove the notes, once the files are deleted."""
        self._pool.shutdown()
        for file in self._done:
            self.notes.forget(file)
