"""Invalid Arrow IPC bodies, created by changing bytes of valid ones."""

from __future__ import annotations

import io
import struct

import pyarrow as pa

__all__ = ["STORABLE", "bad_bodies", "bomb", "file_of", "good", "stream_of"]


def stream_of(batch: pa.RecordBatch, **options) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def file_of(batch: pa.RecordBatch, **options) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def good() -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array([b"abc"], pa.large_binary())})


def bomb(mib: int = 512) -> pa.RecordBatch:
    """Return a batch of zeros, which compression shrinks to a ten-thousandth of its size."""
    values = pa.py_buffer(bytes(mib << 20))
    return pa.record_batch({"a": pa.Array.from_buffers(pa.int64(), mib << 17, [None, values])})


def _changed(batch: pa.RecordBatch, old: bytes, new: bytes, write=stream_of) -> bytes:
    data = write(batch)
    assert len(old) == len(new)
    before, found, after = data.rpartition(old)
    assert found
    return before + new + after


def _offsets(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _one(kind: pa.DataType, *values) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, kind)})


def bad_bodies(write=stream_of) -> dict[str, bytes]:
    inner = pa.struct([("b", pa.large_binary())])
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0x5A], pa.int8()), ["x"] * 0x5B)
    return {
        "end offset beyond the buffer": _changed(good(), _offsets(0, 3), _offsets(0, 65536), write),
        "end offset beyond all memory": _changed(
            good(), _offsets(0, 3), _offsets(0, 2_000_000_000), write
        ),
        "negative offset": _changed(good(), _offsets(0, 3), _offsets(-65536, 3), write),
        "offsets that go back": _changed(
            _one(pa.large_binary(), b"abc", b"defg"), _offsets(0, 3, 7), _offsets(0, 9, 7), write
        ),
        "text that is not UTF-8": _changed(
            _one(pa.string(), "abcdefgh"), b"abcdefgh", b"abc\xff\xfefgh", write
        ),
        "large text that is not UTF-8": _changed(
            _one(pa.large_string(), "abcdefgh"), b"abcdefgh", b"abc\xc0\x80fgh", write
        ),
        "dictionary index beyond the dictionary": _changed(
            pa.record_batch({"a": words}), b"\x00\x01\x5a", b"\x00\x01\x5f", write
        ),
        "negative dictionary index": _changed(
            pa.record_batch({"a": words}), b"\x00\x01\x5a", b"\x00\x01\xff", write
        ),
        "offset in a struct's child": _changed(
            _one(inner, {"b": b"abc"}), _offsets(0, 3), _offsets(0, 65536), write
        ),
        "offset in a list's child": _changed(
            _one(pa.list_(pa.large_binary()), [b"abc"]), _offsets(0, 3), _offsets(0, 65536), write
        ),
        "offset of a list": _changed(
            _one(pa.large_list(pa.int8()), [1, 2, 3]), _offsets(0, 3), _offsets(0, 65536), write
        ),
        "offset in a fixed-size list's child": _changed(
            _one(pa.list_(pa.large_binary(), 1), [b"abc"]),
            _offsets(0, 3),
            _offsets(0, 65536),
            write,
        ),
        "offset in a map's value": _changed(
            _one(pa.map_(pa.int8(), pa.large_binary()), [(1, b"abc")]),
            _offsets(0, 3),
            _offsets(0, 65536),
            write,
        ),
        "offset in a dictionary": _changed(
            pa.record_batch(
                {
                    "a": pa.DictionaryArray.from_arrays(
                        pa.array([0], pa.int8()), pa.array([b"abc"], pa.large_binary())
                    )
                }
            ),
            _offsets(0, 3),
            _offsets(0, 65536),
            write,
        ),
        "a view beyond its buffer": _changed(
            _one(pa.binary_view(), b"a long value of a view"),
            struct.pack("<i", 22) + b"a lo" + struct.pack("<ii", 0, 0),
            struct.pack("<i", 22) + b"a lo" + struct.pack("<ii", 0, 65536),
            write,
        ),
    }


# Lance rejects fixed-size lists of binary with a different error.
STORABLE = [lie for lie in bad_bodies() if lie != "offset in a fixed-size list's child"]
