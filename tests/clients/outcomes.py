"""Compares the outcome of each client call with a control, and writes the tables in docs/clients.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

__all__ = ["OUTCOMES", "Outcomes", "compare", "verdict"]

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
START, END = "<!-- outcomes -->", "<!-- end of outcomes -->"


def verdict(control: str | None, ours: str | None, *, unavailable: bool) -> str:
    """Compare an outcome with the control's; each is an error message, or None for success.

    Args:
        control: outcome of the call on the client's own server or embedded engine.
        ours: outcome of the call on this project's server.
        unavailable: whether the client or the catalog does not support the call.
    """
    if (control is None) is (ours is None):
        return "same"
    if ours is None:
        return "better"
    return "unavailable" if unavailable else "worse"


@attrs.define
class Outcomes:
    """The outcomes of a test run, by client, backend and call."""

    found: dict[str, dict[str, dict[str, str]]] = attrs.field(factory=dict)

    def add(self, client: str, backend: str, verdicts: Mapping[str, str]) -> None:
        """Store the verdicts of a client's calls on a backend."""
        self.found.setdefault(client, {})[backend] = dict(verdicts)

    def sections(self) -> dict[str, str]:
        """Return a Markdown table for each client: the counts of verdicts, then the calls that differ."""
        found = {}
        for client, backends in self.found.items():
            names = sorted(backends)
            calls = list(next(iter(backends.values())))
            lines = [f"### {client}", "", f"| {len(calls)} calls | {' | '.join(names)} |"]
            lines.append("| --- |" + " --- |" * len(names))
            for kind in ("same", "better", "worse", "unavailable"):
                counts = [list(backends[name].values()).count(kind) for name in names]
                lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
            for call in calls:
                row = [backends[name][call] for name in names]
                if set(row) != {"same"}:
                    lines.append(f"| `{call}` | {' | '.join(row)} |")
            found[client] = "\n".join(lines)
        return found

    def write(self, page: Path = PAGE) -> None:
        """Write the tables to the page; clients that were not run keep their tables."""
        text = page.read_text()
        before, _, rest = text.partition(START)
        old, _, after = rest.partition(END)
        parts = [f"### {part.strip()}" for part in old.split("### ")[1:]]
        sections = {part.partition("\n")[0].removeprefix("### "): part for part in parts}
        sections |= self.sections()
        shown = "\n\n".join(sections[client] for client in sorted(sections))
        page.write_text(f"{before}{START}\n\n{shown}\n\n{END}{after}")


OUTCOMES = Outcomes()


def compare(
    client: str,
    backend: str,
    control: Mapping[str, str | None],
    ours: Mapping[str, str | None],
    unavailable: Collection[str],
) -> None:
    """Print and store the outcomes, and fail if a call is worse than on the control.

    Args:
        client: name of the client in the table.
        backend: name of the catalog in the table.
        control: outcome of each call on the client's own server or engine.
        ours: outcome of each call on this project's server.
        unavailable: calls that the client or the catalog does not support.
    """
    print(f"\n{client} on {backend}: {len(ours)} calls")
    for name in ours:
        print(f"{name:34} {control[name] or 'ok':.60} | {ours[name] or 'ok':.120}")
    done = [sum(each is None for each in outcomes.values()) for outcomes in (control, ours)]
    print(f"{'done':34} {done[0]} | {done[1]}")
    verdicts = {
        name: verdict(control[name], ours[name], unavailable=name in unavailable) for name in ours
    }
    OUTCOMES.add(client, backend, verdicts)
    worse = {name: ours[name] for name, each in verdicts.items() if each == "worse"}
    assert not worse, worse
