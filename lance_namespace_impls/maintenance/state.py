"""Records the progress of a job, so that an interrupted job can be resumed.

The file contains one line of JSON that identifies the job, followed by one line for each finished
item.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lance_namespace_client.errors import ConcurrentModificationError, InvalidInputError

__all__ = ["JobState", "job_state", "usual_state_file"]


class JobState:
    """The finished items of a job.

    Args:
        file: file for the records; None keeps them in memory only.
    """

    def __init__(self, file: IO[str] | None = None) -> None:
        self.done: dict[str, Any] = {}
        """The recorded value of each item."""
        self.is_whole = True
        """Whether no work remains for another run."""
        self._file = file

    def add(self, key: str, value: Any) -> None:
        """Record a finished item durably before returning."""
        self.done[key] = value
        if self._file is not None:
            self._file.write(json.dumps([key, value]) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def usual_state_file(job: str, of: str) -> Path:
    """Return the default state file of a job for the command line.

    Args:
        job: name of the job, such as ``inventory``.
        of: description of the job's input, without secrets.
    """
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "lance-ns" / f"{job}-{hashlib.sha256(of.encode()).hexdigest()[:16]}.jsonl"


@contextmanager
def job_state(path: Path | None, job: str, of: str) -> Iterator[JobState]:
    """Open the state of a job; delete the file if the block succeeds and the job is complete.

    Args:
        path: the file, which is created if it does not exist; None means no file.
        job: name of the job.
        of: description of the job's input; the state of another job is rejected.

    Raises:
        InvalidInputError: code 13, the file is not the state of this job.
        ConcurrentModificationError: code 14, another process runs the same job.
    """
    if path is None:
        yield JobState()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConcurrentModificationError(
                f"{job}: the job is already running with the state file {path}; wait until it ends"
            ) from None
        state = JobState(file)
        state.done = _read(file, path, {"job": job, "of": of})
        yield state
        if state.is_whole:
            path.unlink(missing_ok=True)


def _read(file: IO[str], path: Path, head: Mapping[str, str]) -> dict[str, Any]:
    file.seek(0)
    text = file.read()
    whole = text.rpartition("\n")[0]
    lines = whole.split("\n") if whole else []
    try:
        rows = [json.loads(line) for line in lines]
        if rows and rows[0] != head:
            raise ValueError(f"it belongs to {rows[0].get('job')} of {rows[0].get('of')}")
        done = dict(rows[1:])
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInputError(
            f"{path} is not the state file of this {head['job']}: {error}; delete the file to "
            "start again"
        ) from None
    if text and not rows:
        raise InvalidInputError(f"{path} is not the state file of a job; use another file")
    # A crash may have left an incomplete last line.
    file.truncate(len(whole.encode()) + 1 if rows else 0)
    file.seek(0, os.SEEK_END)
    if not rows:
        file.write(json.dumps(head) + "\n")
        file.flush()
    return done
