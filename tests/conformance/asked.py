"""What each check asks, kept, so that a change of a request is noticed: it may ask for less than it did.

Most checks pass as well when they ask for something easier: with a limit that cuts nothing off, with a key
that is refused for its name where the value is to be. ``asked.json`` has a digest of every call of each
check on the target of `trace.record`.

``python -m tests.conformance.asked`` writes it anew, after a check was changed for good: the checks whose
lines differ have to be those that were changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from lance_namespace_impls.conformance.exchange import Step
from lance_namespace_impls.conformance.requirement import CHECKS

from .replay import AT_ONCE
from .trace import Trace, record

__all__ = ["ASKED", "digests"]

ASKED = Path(__file__).with_name("asked.json")
DIFFERS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "uuid"),
    (re.compile(r'("page_token": )"[\w-]{30,}"'), r'\1"token"'),
    (re.compile(r"(\.manifest-)[0-9a-f]+"), r"\1uuid"),
    (re.compile(r'("manifest_size": )\d+'), r"\1size"),
)
"""What each run has its own of beside a directory: transactions, page tokens, files."""


def digests(trace: Trace) -> dict[str, list[str]]:
    """Return a digest of each call that each check makes, in order."""
    return {
        id: [_digest(step, trace.root) for step in steps]
        for id, steps in trace.asked.items()
        if CHECKS[id].area not in AT_ONCE
    }


def _digest(step: Step, root: str) -> str:
    text = json.dumps([step.operation, step.request, step.raw], sort_keys=True, default=str)
    for path in (root, root.lstrip("/")):
        text = text.replace(path, "root")
    for pattern, same in DIFFERS:
        text = pattern.sub(same, text)
    return hashlib.sha256(text.encode() + (step.data or b"")).hexdigest()[:6]


def _main() -> None:
    asked = digests(record("mixed"))
    lines = [f" {json.dumps(id)}: {json.dumps(' '.join(each))}" for id, each in asked.items()]
    ASKED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{sum(map(len, asked.values())):,} calls of {len(asked)} checks")


if __name__ == "__main__":
    _main()
