"""SASL over Thrift: the negotiation, and the frames that follow it.

Sources: RFC 4422; RFC 4616 for PLAIN; the Thrift specification, "Thrift SASL". No maintained
package implements these frames for all protection levels and bounds their sizes.
"""

from __future__ import annotations

import io
import struct
from typing import Any, Protocol

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from lance_namespace_client.errors import LanceNamespaceError, UnauthenticatedError

from ..core.errors import excerpt, scrub

__all__ = ["MAX_FRAME", "MAX_NEGOTIATION", "Mechanism", "Plain", "SaslTransport"]

MAX_FRAME = 256 << 20
"""Maximum size of a frame from the metastore, in bytes; larger ones end the connection."""
MAX_NEGOTIATION = 1 << 20
"""Maximum size of a message of the negotiation, in bytes."""
# Memory is allocated as bytes arrive, because an unauthenticated peer can send any length.
_PIECE = 1 << 20
_MAX_ROUNDS = 16
_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5
_NEGOTIATION_HEADER = struct.Struct(">BI")
_FRAME_HEADER = struct.Struct(">I")


class Mechanism(Protocol):
    """The client's side of one login on one connection."""

    @property
    def name(self) -> str:
        """Name of the SASL mechanism."""

    @property
    def is_complete(self) -> bool:
        """Whether the client has sent its last response."""

    @property
    def max_piece(self) -> int | None:
        """Maximum number of bytes that `wrap` accepts; None without protection."""

    @property
    def secrets(self) -> frozenset[str]:
        """Values to remove from the metastore's messages."""

    def respond(self, challenge: bytes) -> bytes:
        """Return the response to a challenge; the first challenge is empty."""

    def has_expired(self) -> bool:
        """Return whether the login is no longer valid."""

    def wrap(self, data: bytes) -> bytes:
        """Protect data to send."""

    def unwrap(self, data: bytes) -> bytes:
        """Verify and decrypt received data."""

    def rejected(self, message: str) -> LanceNamespaceError:
        """Return the error for a login that the metastore rejects with a message."""


class Plain:
    """A login with a user and a password, which the metastore receives in plain text."""

    name = "PLAIN"
    max_piece = None

    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._response = "\0".join(["", user, password]).encode()
        self.secrets = frozenset({password})
        self.is_complete = False

    def respond(self, challenge: bytes) -> bytes:
        """Return the user and the password, which is the only response."""
        self.is_complete = True
        return self._response

    def has_expired(self) -> bool:
        """Return False: a password is checked only once."""
        return False

    def wrap(self, data: bytes) -> bytes:
        """Return the data unchanged."""
        return data

    def unwrap(self, data: bytes) -> bytes:
        """Return the data unchanged."""
        return data

    def rejected(self, message: str) -> LanceNamespaceError:
        """Return the error for a login that the metastore rejects with a message."""
        return UnauthenticatedError(
            f"the metastore rejects the login of user {self._user!r}: {message}; check the "
            "properties 'user' and 'password'"
        )


class SaslTransport(TTransportBase, CReadableTransport):  # type: ignore[misc, unused-ignore]
    """A Thrift transport that logs in, and then sends each message in one or more frames.

    Args:
        inner: the connection to the metastore, which is open.
        mechanism: the login.

    Raises:
        UnauthenticatedError: code 16, the metastore rejects the login.
        TTransportException: the connection breaks.
    """

    def __init__(self, inner: Any, mechanism: Mechanism) -> None:
        self._inner = inner
        self._mechanism = mechanism
        self._received = io.BytesIO()
        self._to_send = io.BytesIO()
        self._log_in()

    def _log_in(self) -> None:
        mechanism = self._mechanism
        self._send(_START, mechanism.name.encode())
        challenge = b""
        for _ in range(_MAX_ROUNDS):
            response = mechanism.respond(challenge)
            self._send(_COMPLETE if mechanism.is_complete else _OK, response)
            status, challenge = self._receive()
            if status == _COMPLETE and mechanism.is_complete:
                return
            if status in (_BAD, _ERROR):
                raise mechanism.rejected(self._text(challenge))
            if status != _OK:
                break
        raise mechanism.rejected("its answers do not follow the protocol of SASL over Thrift")

    def _text(self, message: bytes) -> str:
        text = " ".join(excerpt(message.decode(errors="replace"), 200).split())
        return scrub(text, self._mechanism.secrets) or "no reason stated"

    def _send(self, status: int, payload: bytes) -> None:
        self._inner.write(_NEGOTIATION_HEADER.pack(status, len(payload)) + payload)
        self._inner.flush()

    def _receive(self) -> tuple[int, bytes]:
        status, size = _NEGOTIATION_HEADER.unpack(self._exactly(_NEGOTIATION_HEADER.size))
        if size > MAX_NEGOTIATION:
            raise self._mechanism.rejected(
                f"its answer to the login claims {size} bytes, so it probably does not use SASL"
            )
        return status, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        """Return the next `size` bytes from the metastore."""
        pieces = bytearray()
        while len(pieces) < size:
            pieces += self._inner.read(min(size - len(pieces), _PIECE))
        return bytes(pieces)

    def _frame(self) -> bytes:
        (size,) = _FRAME_HEADER.unpack(self._exactly(_FRAME_HEADER.size))
        if size > MAX_FRAME:
            raise TTransportException(
                TTransportException.SIZE_LIMIT,
                f"a frame of {size} bytes exceeds the maximum of {MAX_FRAME} bytes",
            )
        return self._mechanism.unwrap(self._exactly(size))

    def isOpen(self) -> bool:
        """Return whether the connection is open and the login is still valid."""
        return not self._mechanism.has_expired() and bool(self._inner.isOpen())

    def open(self) -> None:
        """Do nothing: the transport is created on an open connection."""

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def read(self, sz: int) -> bytes:
        """Return up to `sz` bytes, at least one."""
        while not (found := self._received.read(sz)) and sz:
            self._received = io.BytesIO(self._frame())
        return found

    def write(self, buf: bytes) -> None:
        """Add bytes to the message that `flush` sends."""
        self._to_send.write(buf)

    def flush(self) -> None:
        """Send the message, in frames that the metastore accepts."""
        message, self._to_send = self._to_send.getvalue(), io.BytesIO()
        step = self._mechanism.max_piece or len(message) or 1
        for start in range(0, len(message), step):
            data = self._mechanism.wrap(message[start : start + step])
            self._inner.write(_FRAME_HEADER.pack(len(data)) + data)
        self._inner.flush()

    @property
    def cstringio_buf(self) -> io.BytesIO:
        """The buffer from which Thrift's accelerated decoder reads."""
        return self._received

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> io.BytesIO:
        """Return a buffer with `partialread` and the bytes that follow it, at least `reqlen`."""
        found = bytearray(partialread)
        while len(found) < reqlen:
            found += self._frame()
        self._received = io.BytesIO(bytes(found))
        return self._received
