"""Frames of SASL over Thrift, and peers that violate the protocol; no server is called."""

from __future__ import annotations

import io
import struct

import pytest
from thrift.transport.TTransport import TTransportException

from lance_namespace_client.errors import UnauthenticatedError
from lance_namespace_impls.hive import sasl
from lance_namespace_impls.hive.sasl import Plain, SaslTransport

COMPLETE = struct.pack(">BI", 5, 0)


class Wire:
    """The inner transport, with the bytes that the metastore sends."""

    def __init__(self, received: bytes) -> None:
        self.received = io.BytesIO(received)
        self.sent = b""

    def read(self, size: int) -> bytes:
        # In small pieces, as from a network.
        if not (found := self.received.read(min(size, 3))):
            raise TTransportException(TTransportException.END_OF_FILE, "hung up")
        return found

    def write(self, data: bytes) -> None:
        self.sent += data

    def flush(self) -> None:
        pass

    def isOpen(self) -> bool:
        return True


class Chopping(Plain):
    """A login whose messages are protected in pieces of four bytes."""

    max_piece = 4  # type: ignore[assignment]

    def wrap(self, data: bytes) -> bytes:
        assert len(data) <= 4
        return b"<" + data + b">"

    def unwrap(self, data: bytes) -> bytes:
        return data[1:-1]


def frame(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def log_in(answer: bytes) -> tuple[SaslTransport, Wire]:
    wire = Wire(answer)
    return SaslTransport(wire, Plain("ann", "s3cr3t")), wire


def test_the_messages_of_a_login_with_a_password() -> None:
    """As Java's client sends them."""
    _, wire = log_in(COMPLETE)
    assert wire.sent == b"\x01\0\0\0\x05PLAIN" + b"\x05\0\0\0\x0b\0ann\0s3cr3t"


def test_messages_are_sent_and_received_in_frames() -> None:
    transport, wire = log_in(COMPLETE + frame(b"abc") + frame(b"de"))
    wire.sent = b""
    transport.write(b"hel")
    transport.write(b"lo")
    transport.flush()
    assert wire.sent == frame(b"hello")
    assert transport.readAll(4) == b"abcd"
    assert transport.cstringio_refill(b"x", 1).read() == b"x"
    with pytest.raises(TTransportException, match="hung up"):
        transport.cstringio_refill(b"", 1)


def test_protected_messages_fit_in_the_metastore_s_buffer() -> None:
    wire = Wire(COMPLETE + frame(b"<abcd>") + frame(b"<ef>"))
    transport = SaslTransport(wire, Chopping("ann", "s3cr3t"))
    wire.sent = b""
    transport.write(b"123456789")
    transport.flush()
    assert wire.sent == frame(b"<1234>") + frame(b"<5678>") + frame(b"<9>")
    assert transport.cstringio_refill(b"", 6).getvalue() == b"abcdef"


def test_a_frame_has_a_maximum_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sasl, "MAX_FRAME", 4)
    transport, _ = log_in(COMPLETE + frame(b"abcd") + frame(b"abcde"))
    assert transport.readAll(4) == b"abcd"
    with pytest.raises(TTransportException, match="5 bytes exceeds the maximum of 4") as raised:
        transport.read(1)
    assert raised.value.type == TTransportException.SIZE_LIMIT


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (struct.pack(">BI", 3, 11) + b"bad s3cr3t!", r"bad \*\*\*!; check the properties"),
        (struct.pack(">BI", 4, 0), "no reason stated"),
        (struct.pack(">BI", 9, 0), "do not follow the protocol"),
        (struct.pack(">BI", 2, 0) * 20, "do not follow the protocol"),
        (struct.pack(">BI", 5, 0x7FFFFFFF), "claims 2147483647 bytes"),
    ],
    ids=["bad", "error", "unknown", "endless", "large"],
)
def test_rejected_logins_are_code_16(answer: bytes, message: str) -> None:
    with pytest.raises(UnauthenticatedError, match=message) as raised:
        log_in(answer)
    assert raised.value.code == 16
    assert "s3cr3t" not in str(raised.value)
