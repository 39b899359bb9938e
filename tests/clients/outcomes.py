"""What clients could do, call by call, next to their own server; the documentation has it as a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

__all__ = ["OUTCOMES", "Outcomes", "compare", "verdict"]

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
START, END = "<!-- outcomes -->", "<!-- end of outcomes -->"


def verdict(control: str | None, ours: str | None, *, clients_own: bool) -> str:
    """Return how an outcome compares with the control's; a failure is a text, success None.

    Args:
        control: what came of the call with the client's own server or embedded engine.
        ours: what came of it with this project's.
        clients_own: whether it is the client, or the catalog behind, that cannot do it.
    """
    if (control is None) is (ours is None):
        return "same"
    if ours is None:
        return "better"
    return "not ours" if clients_own else "worse"


@attrs.define
class Outcomes:
    """The outcomes of a test run, by client, backend and call."""

    found: dict[str, dict[str, dict[str, str]]] = attrs.field(factory=dict)

    def add(self, client: str, backend: str, verdicts: Mapping[str, str]) -> None:
        """Keep what a client's calls came to on a backend."""
        self.found.setdefault(client, {})[backend] = dict(verdicts)

    def sections(self) -> dict[str, str]:
        """Return each client's outcomes as Markdown: a count of each verdict, then what is not the same."""
        found = {}
        for client, backends in self.found.items():
            names = sorted(backends)
            calls = list(next(iter(backends.values())))
            lines = [f"### {client}", "", f"| {len(calls)} calls | {' | '.join(names)} |"]
            lines.append("| --- |" + " --- |" * len(names))
            for kind in ("same", "better", "worse", "not ours"):
                counts = [list(backends[name].values()).count(kind) for name in names]
                lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
            for call in calls:
                row = [backends[name][call] for name in names]
                if set(row) != {"same"}:
                    lines.append(f"| `{call}` | {' | '.join(row)} |")
            found[client] = "\n".join(lines)
        return found

    def write(self, page: Path = PAGE) -> None:
        """Put the outcomes into the documentation; clients that were not run keep theirs."""
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
    not_ours: Collection[str],
) -> None:
    """Print the outcomes side by side, keep them, and fail where ours does less.

    Args:
        client: the client's name in the table.
        backend: the catalog's.
        control: what came of each call with the client's own server or engine.
        ours: what came of it with this project's.
        not_ours: calls that the client, or the catalog behind, cannot do.
    """
    print(f"\n{client} on {backend}: {len(ours)} calls")
    for name in ours:
        print(f"{name:34} {control[name] or 'ok':.60} | {ours[name] or 'ok':.120}")
    done = [sum(each is None for each in outcomes.values()) for outcomes in (control, ours)]
    print(f"{'done':34} {done[0]} | {done[1]}")
    verdicts = {
        name: verdict(control[name], ours[name], clients_own=name in not_ours) for name in ours
    }
    OUTCOMES.add(client, backend, verdicts)
    worse = {name: ours[name] for name, each in verdicts.items() if each == "worse"}
    assert not worse, worse
