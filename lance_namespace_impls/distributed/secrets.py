"""Protects secrets that are sent to workers: encrypted in Spark, decrypted by the workers.

Code for workers is pickled into tasks. Spark keeps tasks in memory, writes them to files and, with
Spark Connect, sends them in plans. Therefore, a namespace is encrypted when it is pickled. The key
is passed through a different channel: either through a session setting, which Spark passes to tasks
as a property and hides in event logs and the UI, or through an environment variable that an
operator has set for the driver and the executors.

The data source is planned in a process that has no session and reads the key from the environment.
`local_session` sets the variable before Spark starts. If the variable is not set, this user's
processes on this machine share a key, and workers on other machines cannot decrypt values that were
encrypted with this key.
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
    "freeze_loaded_modules",
    "make_key",
    "map_in_arrow",
    "require_key",
    "seal",
    "share_in_thread",
    "share_key",
    "unseal",
]

T = TypeVar("T")

ENVIRONMENT = "LANCE_NAMESPACE_SECRET_KEY"
"""Environment variable with the key, in the format of `Fernet.generate_key`."""
SETTING = "spark.lance_namespace.secret.key"
"""Session setting that contains the key; Spark redacts settings with such names."""
_HIDDEN = "hidden"

_lock = threading.Lock()


@frozen
class Sealed(Generic[T]):
    """A value that is encrypted when it is pickled.

    When a decrypted value is pickled again, it is pickled as the original ciphertext, because its
    sender may not have the key of this process.

    Args:
        value: the value.
    """

    value: T
    _sealed: bytes | None = field(default=None, eq=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_opened, (self._sealed or _encrypted(self.value),))


@lru_cache(maxsize=32)
def _opened(sealed: bytes) -> Sealed[Any]:
    """Return the decrypted value; cached per process, so that a namespace keeps its connections."""
    return Sealed(_decrypted(sealed), sealed)


def _decrypted(sealed: bytes) -> Any:
    from cryptography.fernet import InvalidToken
    from pyspark.cloudpickle import loads

    try:
        return loads(_ciphers().decrypt(sealed))
    except InvalidToken as error:
        raise InvalidInputError(
            "the secrets of a namespace were encrypted with a different key from that of this "
            f"Spark worker: set the environment variable {ENVIRONMENT} to the same key on the "
            "driver and all executors (docs/spark.md, Secrets)"
        ) from error


def seal(value: Any) -> str:
    """Return a value as an encrypted string, which only a process with the key can create or read.

    Raises:
        InvalidInputError: code 13, there is no key.
    """
    return _encrypted(value).decode()


def _encrypted(value: Any) -> bytes:
    from pyspark.cloudpickle import dumps

    pickled: bytes = dumps(value)  # type: ignore[no-untyped-call]
    return _ciphers().encrypt(pickled)


@lru_cache(maxsize=256)
def unseal(text: str) -> Any:
    """Return the value in a string from `seal`; cached, so that a namespace keeps its connections.

    Raises:
        InvalidInputError: code 13, the string was encrypted with another key.
    """
    return _decrypted(text.encode())


def require_key() -> None:
    """Reject the operation if there is no key for encryption.

    Raises:
        InvalidInputError: code 13, the message explains how to provide a key.
    """
    _ciphers()


def make_key() -> str:
    """Return the key in the environment of this process; generate a key if there is none."""
    from cryptography.fernet import Fernet

    with _lock:
        return os.environ.setdefault(ENVIRONMENT, Fernet.generate_key().decode())


def share_key(spark: SparkSession) -> None:
    """Pass the key to the tasks of a session, so that they can decrypt values from this process."""
    from pyspark.errors import PySparkAttributeError

    with suppress(PySparkAttributeError):  # Spark Connect, whose server has its own settings
        _hide(spark.sparkContext)
    spark.conf.set(SETTING, make_key())


def share_in_thread(context: SparkContext) -> None:
    """Pass the key to the tasks that this thread submits other than through SQL."""
    _hide(context)
    context.setLocalProperty(SETTING, make_key())


def map_in_arrow(
    frame: DataFrame,
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """Return a frame with the batches that a function yields for the batches of `frame`.

    The function runs on the workers, which can decrypt secrets.
    """
    share_key(frame.sparkSession)
    names = frame.columns

    def settling(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from work(batch.rename_columns(names) for batch in batches)
        freeze_loaded_modules()

    # Spark looks up input columns by name; it confuses `id` and `ID`, and `*` means all columns.
    numbered = frame.toDF(*(f"c{number}" for number in range(len(names))))
    return numbered.mapInArrow(settling, schema)


@lru_cache(maxsize=1)
def freeze_loaded_modules() -> None:
    """Exclude imported modules of this worker process from garbage collection.

    Spark's workers collect garbage after every task, which takes 40 ms with the objects of pylance,
    pyarrow and pandas.
    """
    gc.collect()
    gc.freeze()


def _hide(context: Any) -> None:
    """Hide the key in event logs; these redact only settings of the context, by their names."""
    context._jsc.sc().conf().set(SETTING, _HIDDEN)


def _ciphers() -> MultiFernet:
    from cryptography.fernet import Fernet, MultiFernet

    if not (keys := _keys()):
        raise InvalidInputError(
            "a namespace with secrets is sent to Spark's workers encrypted, and this "
            "user has no folder to store a key: start the session with local_session, "
            "use read_table and write_table, or set the environment variable "
            f"{ENVIRONMENT} on the driver and all executors (docs/spark.md, Secrets)"
        )
    return MultiFernet([Fernet(key) for key in keys])


def _keys() -> list[str]:
    """Return the keys of this process: from its environment and from its current task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    task = context.getLocalProperty(SETTING) if context is not None else None
    found = [key for key in (os.environ.get(ENVIRONMENT), task) if key and key != _HIDDEN]
    # A process that has no other key may have encrypted the value with the shared key.
    own = _own_key(make=not found)
    return found if own is None else [*found, own]


def _own_key(*, make: bool) -> str | None:
    """Return the key that this user's processes on this machine share.

    It is None if the file for the key cannot be created, or if other users could have read or
    created the file.

    Args:
        make: whether to create the key if there is none.
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
    """Write a new key atomically, readable only by this user; keep a key that exists already."""
    from cryptography.fernet import Fernet

    with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # the file is created with mode 0600
        file.write(Fernet.generate_key())
        file.flush()
        os.link(file.name, path)
