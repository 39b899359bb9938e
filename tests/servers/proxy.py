"""A TCP proxy that counts requests and can close connections or block responses."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

__all__ = ["Proxy"]


class Proxy:
    """Forwards TCP connections to a port of this machine.

    Args:
        target: the port.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.opened = 0
        """Number of accepted connections."""
        self.requests = 0
        """Number of pieces of data that were sent to the server."""
        self.lose_replies = 0
        """Number of next responses to drop, together with their connections."""
        self.silent = False
        """Whether responses are discarded."""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Close all open connections."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            _hang_up(end)

    def close(self) -> None:
        """Accept no more connections, and close the open ones."""
        _hang_up(self._listener)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            server = socket.create_connection(("127.0.0.1", self.target))
            with self._lock:
                self.opened += 1
                self._open |= {client, server}
            threading.Thread(target=self._ask, args=[client, server], daemon=True).start()
            threading.Thread(target=self._answer, args=[server, client], daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(client):
            self.requests += 1
            server.sendall(data)
        _hang_up(server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        while data := _received(server):
            with self._lock:
                lost = self.lose_replies > 0
                self.lose_replies -= lost
            if lost:
                break
            if not self.silent:
                client.sendall(data)
        _hang_up(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(65536)
    except OSError:
        return b""


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):  # the other side has closed it already
        end.shutdown(socket.SHUT_RDWR)
    end.close()
