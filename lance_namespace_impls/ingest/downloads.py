"""Downloads the remote files of an import: plain URLs and Hugging Face Hub data sets."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, ClassVar, Self
from urllib.parse import quote, unquote, urlsplit

import httpx
from attrs import define, frozen
from pyarrow import fs

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from ..core.errors import first_line
from ..core.http import HttpConfig, Retries, new_client, send

__all__ = ["MAX_BYTES", "Downloads", "Downloading", "Hub", "is_web", "shards"]

Downloading = Callable[[str, int, int | None], None]
"""Receives the file name, the bytes received, and the total size in bytes if it is known."""

MAX_BYTES = 64 << 30
"""Maximum number of bytes that one import downloads."""
MAX_REDIRECTS = 10
TRIES = 4
"""Maximum number of attempts for a download that is interrupted."""
HUB = "https://huggingface.co"
HUB_FORM = "hf://datasets/OWNER/NAME/data/train-*.parquet"
_SHARD = re.compile(r"\*(-of-(\d{3,8}))")
_FAILURES: dict[int, type[LanceNamespaceError]] = {
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    429: ThrottlingError,
}


@define(kw_only=True)
class _WebConfig(HttpConfig):
    impl: ClassVar[str] = "import"


def is_web(source: str) -> bool:
    """Return whether a source must be downloaded before it is read."""
    return source.lower().startswith(("http://", "https://", "hf://"))


def shards(address: str) -> list[str]:
    """Return the URLs that a pattern of numbered files matches.

    A web server does not list folders, but such a pattern contains the number of files.

    >>> shards("https://host/train-*-of-00002.parquet")
    ['https://host/train-00000-of-00002.parquet', 'https://host/train-00001-of-00002.parquet']

    Raises:
        InvalidInputError: code 13, the URL contains another kind of pattern.
    """
    found = _SHARD.search(address)
    if found is not None and address.count("*") == 1:
        width = len(found[2])
        return [
            f"{address[: found.start()]}{number:0{width}}{address[found.start() + 1 :]}"
            for number in range(int(found[2]))
        ]
    if "*" in address:
        raise InvalidInputError(
            f"{_shown(address)}: web servers do not list files; specify each file, a numbered "
            f"set such as train-*-of-00003.parquet, or a Hub data set as {HUB_FORM}"
        )
    return [address]


@frozen
class Hub:
    """A Hugging Face Hub data set, listed through the interface of a pyarrow file system.

    ``HF_ENDPOINT`` selects a different server. ``HF_TOKEN`` is the token that is sent to it.
    """

    downloads: Downloads
    repository: str
    revision: str

    @classmethod
    def open(cls, source: str, downloads: Downloads) -> tuple[Hub, str]:
        """Return the data set of an ``hf://`` address and the path inside the data set.

        Raises:
            InvalidInputError: code 13, the address does not name a data set.
        """
        parts = [unquote(part) for part in source[len("hf://") :].strip("/").split("/")]
        if len(parts) < 3 or parts[0] != "datasets" or not all(parts):
            raise InvalidInputError(f"{source}: a Hub address must have the form {HUB_FORM}")
        name, _, revision = parts[2].partition("@")
        return cls(downloads, f"{parts[1]}/{name}", revision or "main"), "/".join(parts[3:])

    def get_file_info(self, wanted: Any) -> Any:
        """Return the entry at a path, or all entries below the folder of a selector."""
        if isinstance(wanted, fs.FileSelector):
            return list(self._list(wanted.base_dir))
        found = list(self._list(os.path.dirname(wanted), recursive=False)) if wanted else []
        nothing = fs.FileType.NotFound if wanted else fs.FileType.Directory
        return next((each for each in found if each.path == wanted), fs.FileInfo(wanted, nothing))

    def address(self, path: str) -> str:
        """Return the download URL of a file."""
        return f"{_hub()}/datasets/{self.repository}/resolve/{self._revision}/{quote(path)}"

    @property
    def _revision(self) -> str:
        return quote(self.revision, safe="")

    def _list(self, folder: str, *, recursive: bool = True) -> Iterator[Any]:
        address: str | None = (
            f"{_hub()}/api/datasets/{self.repository}/tree/{self._revision}/{quote(folder)}"
        ).rstrip("/") + f"?recursive={str(recursive).lower()}"
        while address is not None:
            with self.downloads.answer(address) as answer:
                answer.read()
                address = answer.links.get("next", {}).get("url")
                try:
                    entries = [
                        (str(each["path"]), each["type"] == "file", int(each.get("size", 0)))
                        for each in answer.json()
                    ]
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise ServiceUnavailableError(
                        f"{_shown(str(answer.url))}: the response is not a listing of a data set"
                    ) from error
            for path, is_file, size in entries:
                kind = fs.FileType.File if is_file else fs.FileType.Directory
                yield fs.FileInfo(path, kind, size=size)


class Downloads:
    """Downloads files into a temporary folder, which is deleted on exit.

    Args:
        report: called with the progress of each download.
    """

    def __init__(self, report: Downloading | None = None) -> None:
        self._report = report
        self._folder: TemporaryDirectory[str] | None = None
        self._count = 0
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def fetch(self, address: str) -> tuple[Path, str]:
        """Download a file; return its local path and its URL for messages.

        Raises:
            InvalidInputError: code 13, the file does not exist, it is larger than `MAX_BYTES` or
                the free disk space, or the URL is not usable.
            PermissionDeniedError: code 15.
            UnauthenticatedError: code 16.
            ServiceUnavailableError: code 17, the server does not respond or the download is
                incomplete.
        """
        name = os.path.basename(unquote(urlsplit(address).path)).replace("\0", "") or "file"
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="lance-import-")
        self._count += 1
        path = Path(self._folder.name, f"{self._count:05}-{name[-60:]}")
        with path.open("wb") as file:
            self._receive(address, name, file)
        return path, _shown(address)

    def _receive(self, address: str, name: str, file: IO[bytes]) -> None:
        """Write the content of a URL to a file, and resume the download after an interruption."""
        mark: str | None = None
        for left in reversed(range(TRIES)):
            start = file.tell() if mark else 0
            wanted = {"Range": f"bytes={start}-", "If-Range": mark} if mark and start else {}
            with self.answer(address, wanted) as answer:
                range_given = answer.headers.get("Content-Range", "")
                if not (wanted and range_given.startswith(f"bytes {start}-")):
                    if answer.status_code == httpx.codes.PARTIAL_CONTENT:
                        raise ServiceUnavailableError(
                            f"{_shown(address)}: the server returned a different part of the file than "
                            "requested"
                        )
                    self._bytes -= file.tell()
                    file.seek(0)
                    file.truncate()
                mark = _mark(answer)
                try:
                    self._write(answer, name, file, _shown(address))
                    return
                except httpx.HTTPError as error:
                    if not left:
                        raise ServiceUnavailableError(
                            f"{_shown(address)}: the download was interrupted ({first_line(error)}); try "
                            "again"
                        ) from error

    def _write(self, answer: httpx.Response, name: str, file: IO[bytes], shown: str) -> None:
        # Keep compressed files compressed, regardless of the declared content encoding.
        packed = name.lower().endswith((".gz", ".bz2", ".zst", ".lz4"))
        parts = answer.iter_raw() if packed else answer.iter_bytes()
        length = answer.headers.get("Content-Length", "")
        total = file.tell() + int(length) if length.isdecimal() else None
        self._check_room(shown, int(length) if total else 0)
        for part in parts:
            self._check_room(shown, len(part))
            file.write(part)
            self._bytes += len(part)
            if self._report is not None:
                self._report(name, file.tell(), total)

    @contextmanager
    def answer(
        self, address: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[httpx.Response]:
        """Request a URL, follow redirects, and yield the response before its body is read.

        Args:
            address: URL of a file or a listing.
            headers: headers of the request.

        Raises:
            LanceNamespaceError: the errors of `fetch`.
        """
        for _ in range(MAX_REDIRECTS + 1):
            with self._ask(address, headers or {}) as answer:
                if not answer.has_redirect_location:
                    _refuse_failure(answer, address)
                    yield answer
                    return
                before, address = address, str(answer.url.join(answer.headers["Location"]))
            scheme = urlsplit(address).scheme
            if scheme not in (
                ("https",) if before.lower().startswith("https:") else ("http", "https")
            ):
                raise InvalidInputError(
                    f"{_shown(before)}: the server redirects to {scheme}, which is not followed; "
                    "use an https URL"
                )
        raise InvalidInputError(
            f"{_shown(address)}: the server sent more than {MAX_REDIRECTS} "
            "redirects; use the final URL"
        )

    @contextmanager
    def _ask(self, address: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        token = os.environ.get("HF_TOKEN")
        config = _WebConfig(auth_token=token if token and _is_hub(address) else None)
        with ExitStack() as opened:
            try:
                client = opened.enter_context(new_client(config, address))
                request = client.build_request(
                    "GET", address, headers={"Accept-Encoding": "identity", **headers}
                )
                answer = send(client, request, Retries(config).repeatable, stream=True)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError) as error:
                raise InvalidInputError(f"{_shown(address)}: {first_line(error)}") from error
            except httpx.HTTPError as error:
                raise ServiceUnavailableError(
                    f"{_shown(address)}: the server cannot be reached ({first_line(error)})"
                ) from error
            opened.callback(answer.close)
            yield answer

    def _check_room(self, shown: str, more: int) -> None:
        assert self._folder is not None
        free = shutil.disk_usage(self._folder.name).free
        for most, what in ((MAX_BYTES - self._bytes, "import"), (free, "temporary folder")):
            if more > most:
                raise InvalidInputError(
                    f"{shown}: too large to download: the {what} has room for {max(0, most):,} more "
                    "bytes; import in parts, or set TMPDIR"
                )


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", HUB).rstrip("/")


def _is_hub(address: str) -> bool:
    return urlsplit(address)[:2] == urlsplit(_hub())[:2]


def _mark(answer: httpx.Response) -> str | None:
    """Return a strong validator of the file's current content, or None if there is none."""
    mark = answer.headers.get("ETag", "")
    weak = mark.startswith("W/") or "Content-Encoding" in answer.headers
    return None if weak or not mark else mark


def _refuse_failure(answer: httpx.Response, address: str) -> None:
    shown, status = _shown(address), answer.status_code
    if answer.is_success:
        return
    if status in (404, 410):
        raise InvalidInputError(f"{shown}: file not found (HTTP {status})")
    kind = ServiceUnavailableError if status >= 500 else InvalidInputError
    hint = "; is HF_TOKEN set?" if status in (401, 403) and _is_hub(address) else ""
    raise _FAILURES.get(status, kind)(f"{shown}: the server returned HTTP {status}{hint}")


def _shown(address: str) -> str:
    """Return a URL for messages, without its query, which may contain a signature."""
    return re.split(r"[?#]", address, maxsplit=1)[0]
