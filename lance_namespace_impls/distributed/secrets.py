"""Secrets on the way to the workers: sealed in what Spark keeps, opened in the worker process.

What runs on workers is pickled into tasks, which Spark holds in memory, writes to files and, through
Spark Connect, sends in plans. So a namespace is pickled encrypted. The key goes another way: as a
setting of the session, which Spark hands to tasks as a property and hides in event logs and the UI;
or in the environment of driver and executors, where an operator has put it.

The data source is planned in a process that has no session, which takes the key from the environment.
`local_session` puts it there before Spark starts; where nobody did, it is one that this user's
processes on this machine share, and workers on other machines cannot open what it seals.
"""

from __future__ import annotations

import gc
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import field, frozen

from lance_namespace_client.errors import InvalidInputError

from .cache import cache_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from cryptography.fernet import MultiFernet
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "ENVIRONMENT",
    "SETTING",
    "Sealed",
    "make_key",
    "map_in_arrow",
    "require_key",
    "share_in_thread",
    "share_key",
]

T = TypeVar("T")

ENVIRONMENT = "LANCE_NAMESPACE_SECRET_KEY"
"""Environment variable that holds the key, as `Fernet.generate_key` makes it."""
SETTING = "spark.lance_namespace.secret.key"
"""Setting of a session that holds it; Spark hides what has such a name."""
_HIDDEN = "hidden"

_lock = threading.Lock()


@frozen
class Sealed(Generic[T]):
    """A value that is pickled encrypted.

    What was opened is pickled as it came: who sent it can open it, and may not have this process's key.

    Args:
        value: the value.
    """

    value: T
    _sealed: bytes | None = field(default=None, eq=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark.cloudpickle import dumps

        if self._sealed is not None:
            return (_opened, (self._sealed,))
        pickled: bytes = dumps(self.value)  # type: ignore[no-untyped-call]
        return (_opened, (_ciphers().encrypt(pickled),))


@lru_cache(maxsize=32)
def _opened(sealed: bytes) -> Sealed[Any]:
    """Return what was sealed; once a process, so that a namespace keeps its connections."""
    from cryptography.fernet import InvalidToken
    from pyspark.cloudpickle import loads

    try:
        return Sealed(loads(_ciphers().decrypt(sealed)), sealed)
    except InvalidToken as error:
        raise InvalidInputError(
            "the secrets of a namespace were sealed with another key than this Spark worker has: set "
            f"the environment variable {ENVIRONMENT} to the same key on the driver and all executors "
            "(docs/spark.md, Secrets)"
        ) from error


def require_key() -> None:
    """Refuse to go on where nothing can be sealed.

    Raises:
        InvalidInputError: code 13, the message says how to come by a key.
    """
    _ciphers()


def make_key() -> str:
    """Return the key in this process's environment; made where there is none."""
    from cryptography.fernet import Fernet

    with _lock:
        return os.environ.setdefault(ENVIRONMENT, Fernet.generate_key().decode())


def share_key(spark: SparkSession) -> None:
    """Let the tasks of a session open what this process seals."""
    from pyspark.errors import PySparkAttributeError

    with suppress(PySparkAttributeError):  # Spark Connect, whose server has settings of its own
        _hide(spark.sparkContext)
    spark.conf.set(SETTING, make_key())


def share_in_thread(context: SparkContext) -> None:
    """Let the tasks that this thread submits without SQL open what this process seals."""
    _hide(context)
    context.setLocalProperty(SETTING, make_key())


def map_in_arrow(
    frame: DataFrame,
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """Return what workers make of a frame's batches, with the secrets that they need."""
    share_key(frame.sparkSession)
    names = frame.columns

    def settling(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from work(batch.rename_columns(names) for batch in batches)
        _keep_what_is_loaded()

    # Spark looks its input up by name: it cannot tell `id` from `ID`, and `*` is all columns.
    numbered = frame.toDF(*(f"c{number}" for number in range(len(names))))
    return numbered.mapInArrow(settling, schema)


@lru_cache(maxsize=1)
def _keep_what_is_loaded() -> None:
    """Let garbage collection pass over what this worker process has imported.

    Spark's workers collect after every task; of pylance, pyarrow and pandas that takes 40 ms.
    """
    gc.collect()
    gc.freeze()


def _hide(context: Any) -> None:
    """Let event logs hide the key: they hide settings of the context alone, by their names."""
    context._jsc.sc().conf().set(SETTING, _HIDDEN)


def _ciphers() -> MultiFernet:
    from cryptography.fernet import Fernet, MultiFernet

    if not (keys := _keys()):
        raise InvalidInputError(
            "a namespace with secrets goes to Spark's workers sealed, and this user has no folder to "
            "keep a key in: start the session with local_session, use read_table and write_table, or "
            f"set the environment variable {ENVIRONMENT} on the driver and all executors "
            "(docs/spark.md, Secrets)"
        )
    return MultiFernet([Fernet(key) for key in keys])


def _keys() -> list[str]:
    """Return the keys that this process has: of its environment, and of the task that it runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    task = context.getLocalProperty(SETTING) if context is not None else None
    found = [key for key in (os.environ.get(ENVIRONMENT), task) if key and key != _HIDDEN]
    # A process without another key may have sealed what comes here.
    own = _own_key(make=not found)
    return found if own is None else [*found, own]


def _own_key(*, make: bool) -> str | None:
    """Return the key that this user's processes on this machine share.

    It is None where it cannot be kept, and where others could have read or made it.

    Args:
        make: whether to make it where there is none.
    """
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / "spark.key"
    with suppress(OSError):
        if make and not path.exists():
            _publish(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(handle) as file:
        found = os.fstat(handle)
        is_ours = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return file.read() if is_ours and stat.S_ISREG(found.st_mode) else None


def _publish(path: Path) -> None:
    """Write a new key, whole and for nobody else; the first of several stays."""
    from cryptography.fernet import Fernet

    with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # its mode is 0600
        file.write(Fernet.generate_key())
        file.flush()
        os.link(file.name, path)
