"""Records the objects that a run creates, also on disk, so that none is left unnoticed."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from .exchange import Step

__all__ = [
    "MARK",
    "Entry",
    "Ledger",
    "contents_first",
    "objects_made",
    "object_removed",
    "state_folder",
]

MARK = "lnkit"
"""Prefix of every name that the kit creates."""

Entry = tuple[str, tuple[str, ...]]
"""Kind (``table`` or ``namespace``) and identifier of an object."""
_MAKES = (
    "CreateNamespace", "DeclareTable", "RegisterTable", "CreateTable", "CreateMaterializedView",
)  # fmt: skip


def objects_made(step: Step) -> list[Entry]:
    """Return the objects that a call may create."""
    request = step.request
    declared = [entry.get("declare_table") for entry in request.get("operations") or ()]
    made: list[Entry] = [("table", tuple(each["id"])) for each in declared if each]
    identifier = tuple(request.get("id") or ())
    if step.operation in _MAKES and isinstance(request.get("id"), list):
        kind = "namespace" if step.operation == "CreateNamespace" else "table"
        made.append((kind, identifier))
    elif step.operation == "RenameTable" and identifier:
        parent = request.get("new_namespace_id")
        parent = identifier[:-1] if parent is None else tuple(parent)
        made.append(("table", (*parent, str(request["new_table_name"]))))
    return made


def object_removed(step: Step) -> Entry | None:
    """Return the object that a call removes if it succeeds."""
    identifier = tuple(step.request.get("id") or ())
    if step.operation in ("DropTable", "DeregisterTable"):
        return "table", identifier
    return ("namespace", identifier) if step.operation == "DropNamespace" else None


def state_folder() -> Path:
    """Return the directory for ledgers of unfinished runs."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "lance-ns" / "conformance"


@define
class Ledger:
    """The objects of one run; each is recorded before the call that creates it is sent."""

    target: str
    prefix: str = field(factory=lambda: f"{MARK}{secrets.token_hex(4)}")
    folder: Path | None = None
    """Directory of the ledger during the run; None for no file."""
    entries: dict[Entry, None] = field(factory=dict)
    kept: set[Entry] = field(factory=set)
    """Objects that outlive the check that created them."""
    _number: int = 0

    def fresh(self) -> str:
        """Return an unused name."""
        self._number += 1
        return f"{self.prefix}_{self._number}"

    @property
    def path(self) -> Path | None:
        """The file of this run."""
        if self.folder is None:
            return None
        return self.folder / _folder_name(self.target) / f"{self.prefix}.jsonl"

    def made(self, kind: str, identifier: tuple[str, ...]) -> None:
        """Record that an object may exist from now on."""
        entry = (kind, identifier)
        if entry in self.entries or not self.is_ours(identifier):
            return
        self.entries[entry] = None
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps([kind, list(identifier)]) + "\n")

    def gone(self, kind: str, identifier: tuple[str, ...]) -> None:
        """Record that an object no longer exists."""
        self.entries.pop((kind, identifier), None)

    def keep(self, kind: str, identifier: tuple[str, ...]) -> None:
        """Keep an object until the run ends."""
        self.kept.add((kind, identifier))

    def is_ours(self, identifier: tuple[str, ...]) -> bool:
        """Return whether any name of an identifier has the prefix of this run."""
        return any(name.startswith(self.prefix) for name in identifier)

    def to_remove(self, *, everything: bool) -> list[Entry]:
        """Return the objects to remove, contents before their namespaces."""
        return contents_first(e for e in self.entries if everything or e not in self.kept)

    def close(self) -> None:
        """Delete the file if no objects are left; otherwise, keep those in it."""
        path = self.path
        if path is None or not path.exists():
            return
        if self.entries:
            lines = [json.dumps([kind, list(identifier)]) for kind, identifier in self.entries]
            path.write_text("\n".join(lines) + "\n")
            return
        path.unlink()
        with suppress(OSError):  # it contains the file of another run
            path.parent.rmdir()

    @classmethod
    def unfinished(cls, target: str, folder: Path) -> Iterator[Ledger]:
        """Return the ledgers that earlier runs on a target left."""
        for path in sorted((folder / _folder_name(target)).glob(f"{MARK}*.jsonl")):
            ledger = cls(target, path.stem, folder)
            for line in path.read_text().splitlines():
                with suppress(ValueError):  # incomplete last line of a run that was killed
                    kind, identifier = json.loads(line)
                    ledger.entries[(kind, tuple(identifier))] = None
            yield ledger


def contents_first(entries: Iterable[Entry]) -> list[Entry]:
    """Return objects in an order in which each can be removed: contents before their namespace."""
    return sorted(entries, key=lambda e: (e[0] == "namespace", -len(e[1]), e[1]))


def _folder_name(target: str) -> str:
    return hashlib.sha256(target.encode()).hexdigest()[:16]
