"""Calls to a target, and its replies."""

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
    """An Arrow IPC stream, if the operation accepts rows."""

    raw: Mapping[str, Any] | None = None
    """An explicit HTTP request: method, path, query, headers, and the body as base64."""

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
        """Return the step from its JSON form."""
        data = form.get("data")
        decoded = None if data is None else base64.b64decode(data)
        return cls(form["operation"], form["request"], decoded, form.get("raw"))


@frozen
class Exchange:
    """One HTTP request and its response, without secrets."""

    method: str
    url: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


@frozen(kw_only=True)
class Reply:
    """The result of one step: an answer or an error code."""

    step: Step
    answer: Mapping[str, Any] | None = None
    """The answer in its JSON form; None if the call failed."""
    rows: Any = None
    """The rows of a query as a ``pyarrow.Table``."""
    code: int | None = None
    """Error code; None if the call succeeded."""
    message: str = ""
    no_route: bool = False
    """Whether the server has no such route, which counts as code 0."""
    broken: str | None = None
    """Why the answer is malformed and cannot be read; None if it can."""
    exchange: Exchange | None = None
    seconds: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded."""
        return self.code is None and self.broken is None

    def outcome(self) -> str:
        """Return a one-line description of the reply."""
        if self.broken is not None:
            return f"unreadable response: {self.broken}"
        if self.no_route:
            return "no such route"
        if self.code is not None:
            return f"code {self.code}: {' '.join(self.message.split())[:300]}"
        if self.rows is not None:
            return f"{self.rows.num_rows} rows"
        text = str(dict(self.answer or {}))
        return text if len(text) <= 400 else text[:397] + "..."


def shown_body(body: bytes) -> str:
    """Return a body as text; for a binary body, its number of bytes."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return f"<{len(body)} bytes>"
    return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES] + f"... <{len(body)} bytes>"
