"""Request bodies are read as a stream with backpressure: the client waits for the reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lance_namespace_impls.server.execution.limits import Limits
from lance_namespace_impls.server.http.bodies import BUFFERED_BYTES, READY_BYTES, Incoming, Rows

SECONDS = 300


async def read_all(parts: Sequence[bytes], at_once: int) -> tuple[bytes, list[int]]:
    """Return the bytes that are read, and the number of parts received before each read."""
    left, asked = list(parts), 0
    seen: list[int] = []

    async def receive() -> dict[str, object]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    rows = Rows(Incoming(receive), Limits())
    filling = asyncio.create_task(rows.fill())
    await rows.started()
    whole = bytearray()
    buffer = bytearray(at_once)
    while True:
        await asyncio.sleep(0)
        seen.append(asked)
        count = await asyncio.to_thread(rows.readinto, buffer)
        if not count:
            break
        whole += buffer[:count]
    await filling
    return bytes(whole), seen


@pytest.mark.parametrize("at_once", [BUFFERED_BYTES // 3, BUFFERED_BYTES + 7, 2 * BUFFERED_BYTES])
@pytest.mark.parametrize("size", [READY_BYTES + 1, BUFFERED_BYTES + 1])
def test_parts_larger_than_the_buffer_are_read(size: int, at_once: int) -> None:
    parts = [bytes([number]) * size for number in range(3)]
    found = asyncio.run(asyncio.wait_for(read_all(parts, at_once), SECONDS))
    assert found[0] == b"".join(parts)


def test_no_more_is_received_than_fits_the_buffer() -> None:
    parts = [b"x" * BUFFERED_BYTES] * 6
    _, seen = asyncio.run(asyncio.wait_for(read_all(parts, BUFFERED_BYTES), SECONDS))
    assert seen[0] <= 2, "held: one part, and the one that is too much"
    assert seen[-1] == 6
