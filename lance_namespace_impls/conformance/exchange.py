"""What goes to a target and what comes back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

__all__ = ["Exchange", "Reply", "Step", "shown_body"]

SHOWN_BYTES = 2000


@frozen
class Step:
    """One call of an operation; its JSON form is what ``--replay`` reads."""

    operation: str
    request: Mapping[str, Any]
    data: bytes | None = field(default=None, repr=False)
    """An Arrow IPC stream, where the operation takes rows."""

    raw: Mapping[str, Any] | None = None
    """An HTTP request that is written out: method, path, query, headers, and the body as base64."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        form: dict[str, Any] = {"operation": self.operation, "request": dict(self.request)}
        if self.data is not None:
            form["data"] = base64.b64encode(self.data).decode("ascii")
        if self.raw is not None:
            form["raw"] = dict(self.raw)
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Step:
        """Return the step of a JSON form."""
        data = form.get("data")
        decoded = None if data is None else base64.b64decode(data)
        return cls(form["operation"], form["request"], decoded, form.get("raw"))


@frozen
class Exchange:
    """One HTTP request and its answer, without secrets."""

    method: str
    url: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


@frozen(kw_only=True)
class Reply:
    """What a target gave for one step: an answer, or a code."""

    step: Step
    answer: Mapping[str, Any] | None = None
    """The answer in its JSON form; None where the call failed."""
    rows: Any = None
    """The rows of a query as a ``pyarrow.Table``."""
    code: int | None = None
    """Error code; None where the call succeeded."""
    message: str = ""
    no_route: bool = False
    """Whether the server has no such route, which stands for code 0."""
    broken: str | None = None
    """What is wrong with the form of the answer, so that nothing can be read off it."""
    exchange: Exchange | None = None
    seconds: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded."""
        return self.code is None and self.broken is None

    def outcome(self) -> str:
        """Return what came back in one line."""
        if self.broken is not None:
            return f"an answer that cannot be read: {self.broken}"
        if self.no_route:
            return "no such route"
        if self.code is not None:
            return f"code {self.code}: {' '.join(self.message.split())[:300]}"
        if self.rows is not None:
            return f"{self.rows.num_rows} rows"
        text = str(dict(self.answer or {}))
        return text if len(text) <= 400 else text[:397] + "..."


def shown_body(body: bytes) -> str:
    """Return a body as text: bytes that are no text as their number."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return f"<{len(body)} bytes>"
    return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES] + f"... <{len(body)} bytes>"
