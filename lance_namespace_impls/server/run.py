"""Runs a server, either in this process until it is stopped, or in the background."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import attrs
import uvicorn

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_client.namespace import LanceNamespace

from ..catalog.namespace import Namespace
from ..core.errors import first_line
from ..core.imports import STACK_BYTES, load
from .app import create_app
from .http.protocol import bounded_protocol
from .options import ServerOptions
from .security.origin import Access, is_loopback, is_wildcard
from .workers.supervisor import Job, Listeners, Supervisor, check_workers

__all__ = ["serve", "serving"]

DEFAULT_PORT = 2333
# Longer than clients keep idle connections open, so that the client is the one that closes them.
KEEP_ALIVE_SECONDS = 120
STOP_SECONDS = 10
BACKLOG = 2048


def serve(
    namespace: LanceNamespace,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    *,
    options: ServerOptions | None = None,
    announce: Callable[[str], None] | None = None,
    workers: int = 1,
    on_worker_start: Callable[[], None] | None = None,
) -> None:
    """Serve a namespace until SIGINT or SIGTERM, then close it.

    Active requests have 10 seconds to finish.

    Args:
        namespace: any namespace.
        host: address to listen on; the default is reachable only from this machine.
        port: TCP port; 0 selects a free one.
        options: server options. Callers may also use the host name in `host`, unless it is a
            wildcard address.
        announce: called with the server's address once it listens; defaults to printing one line
            to standard output.
        workers: number of processes that share one port; with more than one, a program must call
            this function below ``if __name__ == "__main__"``, as `multiprocessing` requires.
        on_worker_start: called at the start of each worker if there are several, for example to set
            up logging; must be a module-level function.

    Raises:
        InvalidInputError: code 13, the server cannot listen on the address, the address is
            reachable from other machines although there is no authentication, or several processes
            cannot serve the namespace.
        ServiceUnavailableError: code 17, the workers do not start.
    """
    options = options or ServerOptions()
    _check_safe(host, options)
    say = announce if announce is not None else _print_address
    options = _named(options, host)
    job = Job(namespace, options, _run, on_worker_start)
    if workers != 1:
        check_workers(job, workers)
    try:
        with _listen(host, port, workers) as listeners:

            def started() -> None:
                say(_address(listeners[0], options.tls is not None))

            if workers == 1:
                _run(namespace, options, listeners[0], started)
            else:
                Supervisor(job, listeners).run(started)
    finally:
        if isinstance(namespace, Namespace):
            namespace.close()


def _run(
    namespace: LanceNamespace,
    options: ServerOptions,
    source: socket.socket | Listeners,
    on_started: Callable[[], None],
) -> None:
    with _stop_signals() as stop:
        # Otherwise, the first callers would wait for this import.
        load("lance")
        # Lance evaluates some conditions recursively on the calling thread, which requires a large
        # stack.
        threading.stack_size(STACK_BYTES)

        def started() -> None:
            # Objects created at startup are permanent; examining them in each garbage collection
            # would slow down calls.
            gc.collect()
            gc.freeze()
            on_started()

        if isinstance(source, Listeners):
            own = source.sockets[source.own]
            _Server(namespace, options, started, source, stop).run([own])
        else:
            _Server(namespace, options, started, stop=stop).run([source])


@contextlib.contextmanager
def serving(namespace: LanceNamespace, options: ServerOptions | None = None) -> Iterator[str]:
    """Serve a namespace from a background thread on a free port of this machine.

    The namespace is not closed.

    Args:
        namespace: any namespace.
        options: server options.

    Yields:
        The server's address.

    Raises:
        ServiceUnavailableError: code 17, the server did not start.
    """
    started = threading.Event()
    with _listen("127.0.0.1", 0) as (listener,):
        options = options or ServerOptions()
        server = _Server(namespace, options, started.set)
        thread = threading.Thread(
            target=server.run, args=([listener],), name="lance-ns-server", daemon=True
        )
        thread.start()
        try:
            if not started.wait(STOP_SECONDS):
                raise ServiceUnavailableError(
                    "the server did not start; see its log for the reason"
                )
            yield _address(listener, options.tls is not None)
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    def __init__(
        self,
        namespace: LanceNamespace,
        options: ServerOptions,
        on_started: Callable[[], None],
        listeners: Listeners | None = None,
        stop: _Stop | None = None,
    ) -> None:
        self._on_started = on_started
        self._stop = stop or _Stop()
        self._listeners = listeners
        self._adopted: dict[int, asyncio.Server] = {}
        """Servers that accept connections on the sockets of workers that are not serving."""
        self._adoption = asyncio.Lock()
        self._adopting: set[asyncio.Task[None]] = set()
        self._tls = options.tls
        self._context = options.tls.context() if options.tls is not None else None
        self._marks = options.tls.marks() if options.tls is not None else ()
        super().__init__(
            uvicorn.Config(
                create_app(namespace, options),
                http=bounded_protocol(options.limits),
                ws="none",
                proxy_headers=False,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._context is not None:
            self.config.ssl = self._context
        await super().startup(sockets)
        if self._listeners is not None:
            asyncio.get_running_loop().add_reader(self._listeners.orphans, self._note_orphans)
        if not self._stop.is_requested:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._listeners is not None:
            asyncio.get_running_loop().remove_reader(self._listeners.orphans)
            await self._adopt(self._listeners.sockets, frozenset())
        await super().shutdown(sockets)

    def _note_orphans(self) -> None:
        assert self._listeners is not None
        try:
            slots = self._listeners.orphans.recv()
        except EOFError:  # the parent process has exited
            asyncio.get_running_loop().remove_reader(self._listeners.orphans)
            return
        task = asyncio.create_task(self._adopt(self._listeners.sockets, slots))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, sockets: Sequence[socket.socket], slots: frozenset[int]) -> None:
        """Accept connections on the specified workers' sockets as well as on this worker's own."""
        async with self._adoption:
            for slot in self._adopted.keys() - slots:
                self._adopted.pop(slot).close()
            for slot in slots - self._adopted.keys():
                self._adopted[slot] = await asyncio.get_running_loop().create_server(
                    lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                        config=self.config,
                        server_state=self.server_state,
                        app_state=self.lifespan.state,
                    ),
                    sock=sockets[slot].dup(),
                    ssl=self.config.ssl,
                    backlog=BACKLOG,
                )

    async def on_tick(self, counter: int) -> bool:
        """Reload changed TLS files, and check for a stop; uvicorn calls this ten times a second."""
        if self._tls is not None and self._context is not None and counter % 10 == 0:
            marks = self._tls.marks()
            if marks != self._marks:
                self._marks = marks
                self._tls.reload(self._context)
        return await super().on_tick(counter) or self._stop.is_requested


def _named(options: ServerOptions, host: str) -> ServerOptions:
    """Add the host name on which the server listens to the allowed hosts."""
    access = options.access
    if is_wildcard(host) or not isinstance(access, Access):
        return options
    own = attrs.evolve(access, allow_hosts=access.allow_hosts | {host})
    return attrs.evolve(options, access=own)


def _check_safe(host: str, options: ServerOptions) -> None:
    """Reject an address that is reachable from other machines without authentication (code 13),
    unless `insecure` is set.
    """
    if is_loopback(host) or options.sources or options.insecure:
        return
    raise InvalidInputError(
        f"every client that reaches {host or 'this machine'} could read and change the namespace: "
        "enable authentication (--tokens, --oidc-issuer, --tls-client-ca), omit --host to serve "
        "only this machine, or pass --insecure"
    )


@contextlib.contextmanager
def _listen(host: str, port: int, count: int = 1) -> Iterator[list[socket.socket]]:
    """Yield a list with one listening socket for each of several workers.

    On Linux, the system distributes connections among several sockets on one port; on other
    systems, the workers share one socket.
    """
    with contextlib.ExitStack() as stack:
        # The first socket does not reuse the port, so that binding fails if another server uses it.
        found = [stack.enter_context(_listener(host, port))]
        if count > 1 and sys.platform == "linux":
            port = found.pop().getsockname()[1]
            stack.close()
            for _ in range(count):
                found.append(stack.enter_context(_listener(host, port, reuse_port=True)))
        yield found if len(found) == count else found * count


def _listener(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(
            (host, port), family=family, backlog=BACKLOG, reuse_port=reuse_port
        )
    except (OSError, OverflowError) as error:
        raise InvalidInputError(
            f"cannot listen on {host}, port {port}: {first_line(error)}; choose another address "
            f"or port"
        ) from error


def _address(listener: socket.socket, secure: bool) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _print_address(address: str) -> None:
    sys.stdout.write(f"Serving on {address} (stop with Ctrl+C)\n")
    sys.stdout.flush()


class _Stop:
    """Records a signal to stop the server, whether or not uvicorn currently handles signals."""

    def __init__(self) -> None:
        self.is_requested = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.is_requested = True


@contextlib.contextmanager
def _stop_signals() -> Iterator[_Stop]:
    """Treat a stop by signal as a normal return; uvicorn raises the signal again when it ends."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {
        number: signal.signal(number, stop.note) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
