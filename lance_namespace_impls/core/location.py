"""Locations of tables.

Source: the general specification, "Directory Path"; the catalog specifications, property ``root``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from urllib.parse import quote, unquote

from lance_namespace_client.errors import InvalidInputError

from .options import shown

__all__ = [
    "LOCAL_SCHEMES",
    "SAME_SCHEMES",
    "SCHEME",
    "absolute",
    "absolute_as_written",
    "absolute_or_current",
    "as_address",
    "as_end_of_uri",
    "default_location",
    "fresh_location",
    "is_local",
    "is_uri",
    "plain_path",
    "require_short_levels",
    "stored_form",
]

# Characters that servers reject in a location parsed as a URI; letters in any language are valid.
_ILLEGAL = re.compile(r'[\x00-\x20\x7f"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})')
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>//?.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SAME_SCHEMES = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "azure": "az",
    "abfs": "abfss",
}
"""Schemes of Hadoop and other tools, each with Lance's scheme for the same store."""
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
LOCAL_SCHEMES = frozenset({"file", "file-object-store", "file+uring"})
_STORES = frozenset({"s3", "gs", "az", "abfss", *SAME_SCHEMES})
# Lance can open these, but pyarrow cannot list them, so they cannot be directory namespaces.
_FOR_LANCE_ALONE = frozenset(
    {"cos", "goosefs", "hf", "memory", "oss", "s3+ddb", "shared-memory", "tos"}
)
_AZURE = frozenset({"az", "abfss"})
# A path may contain a colon, but `s3:bucket/x` and `file:x` are not valid paths.
_NO_SLASHES = re.compile(rf"(?P<scheme>file|{'|'.join(sorted(_STORES))}):(?!/)", re.IGNORECASE)
_FOR_URI = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})
LONGEST_KEY = 1024 - 128
"""Maximum length, in bytes, of the path of a table or root in an object store. Keys are limited to
1,024 bytes, including the file names that Lance appends.
"""
_LONGEST_PATH = 4096 - 256


def absolute(address: str) -> str:
    """Return an address in a form that pyarrow and Lance interpret identically.

    A path is made absolute, and a ``file:`` URI on this machine is decoded to an absolute path. The
    URI of an object store gets the scheme that Lance supports, and loses a trailing slash; it
    remains percent-encoded, because Lance decodes it.

    Raises:
        InvalidInputError: code 13, the address is incomplete, pyarrow and Lance interpret it
            differently, or no file or object can have such a name.
    """
    if not address:
        raise InvalidInputError("the address of a directory is empty; specify a path or a URI")
    shown_address = _excerpt(address)
    if (sign := _CONTROL.search(address)) is not None:
        what = "a NUL" if sign[0] == "\0" else f"the control character {sign[0]!r}"
        raise InvalidInputError(f"address {shown_address}: it contains {what}; remove it")
    try:
        address.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"address {shown_address}: it is not valid Unicode") from error
    if address != (stripped := address.strip(" ")) and _URI.fullmatch(stripped):
        raise InvalidInputError(
            f"address {shown_address}: a URI cannot start or end with spaces; remove them, or "
            f"write %20"
        )
    if (found := _NO_SLASHES.match(address)) is not None:
        form = "file:///path" if found["scheme"].lower() == "file" else f"{found['scheme']}://..."
        raise InvalidInputError(f"address {shown_address}: write it as {form}")
    uri = _URI.fullmatch(address)
    if uri is None:
        return _local(os.path.abspath(os.path.expanduser(address)), shown_address)
    scheme, rest = uri["scheme"].lower(), uri["rest"]
    scheme = SAME_SCHEMES.get(scheme, scheme)
    _refuse_tail(rest, shown_address)
    if scheme in LOCAL_SCHEMES:
        return _local(_local_path(rest, shown_address), shown_address)
    if scheme not in _STORES | _FOR_LANCE_ALONE:
        raise InvalidInputError(
            f"address {shown_address}: Lance does not support {scheme}://; use a path, "
            "s3://, gs://, az:// or abfss://"
        )
    return _object_uri(scheme, rest, shown_address)


def _refuse_tail(rest: str, shown_address: str) -> None:
    for sign, name, code in (("#", "fragment", "%23"), ("?", "query", "%3F")):
        if sign in rest:
            raise InvalidInputError(
                f"address {shown_address}: a location cannot have a {name}; write {code} for "
                f"{sign!r} in a name, and pass object store options as 'storage.*' properties"
            )


def _local_path(rest: str, shown_address: str) -> str:
    """Return the path of a ``file:`` URI."""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise InvalidInputError(
                f"address {shown_address}: it is on the host {host!r}; a file URI for this "
                f"machine starts with 'file:///'"
            )
        rest = slash + path
    path = _decoded(rest, shown_address)
    if ".." in path.split("/"):
        raise InvalidInputError(f"address {shown_address}: '..' in a URI is ambiguous; remove it")
    return os.path.abspath("/" + path.lstrip("/")) if path.strip("/") else ""


def _local(path: str, shown_address: str) -> str:
    """Return the absolute form of a path; reject a path that cannot be a directory."""
    if not path:
        raise InvalidInputError(f"address {shown_address}: the URI contains no bucket or directory")
    # POSIX keeps two leading slashes, but Lance does not, so reduce them to one.
    path = "/" + path.lstrip("/")
    longest = max(len(os.fsencode(name)) for name in path.split("/"))
    if longest > MAX_LEVEL_BYTES or len(os.fsencode(path)) > _LONGEST_PATH:
        raise InvalidInputError(
            f"address {shown_address}: its longest name has {longest} bytes (maximum "
            f"{MAX_LEVEL_BYTES}), and the path has {len(os.fsencode(path))} bytes (maximum "
            f"{_LONGEST_PATH}); shorten it"
        )
    return path


def _object_uri(scheme: str, rest: str, shown_address: str) -> str:
    authority, _, path = rest.removeprefix("//").rstrip("/").partition("/")
    if not rest.startswith("//") or not authority:
        raise InvalidInputError(
            f"address {shown_address}: the URI contains no bucket or directory; write it as "
            f"{scheme}://bucket/path"
        )
    user, at, host = authority.rpartition("@")
    if at and (scheme not in _AZURE or ":" in user or not user or not host):
        raise InvalidInputError(
            f"{scheme}://...: the address contains a user name or password; pass "
            "credentials as 'storage.*' properties"
        )
    if scheme in _STORES and ":" in host:
        raise InvalidInputError(
            f"address {shown_address}: a bucket cannot have a port; set the property "
            f"'storage.endpoint' to the server, and write the address as {scheme}://bucket/path"
        )
    key = _decoded(path, shown_address)
    if _decoded(authority, shown_address) != authority or "\\" in authority or " " in authority:
        raise InvalidInputError(
            f"address {shown_address}: {authority!r} is not a valid bucket name"
        )
    levels = key.split("/") if path else []
    if "" in levels:
        raise InvalidInputError(
            f"address {shown_address}: it contains a double slash; write a single slash"
        )
    if not {".", ".."}.isdisjoint(levels):
        raise InvalidInputError(
            f"address {shown_address}: '.' and '..' in a URI are ambiguous; remove them"
        )
    if len(key.encode()) > LONGEST_KEY:
        raise InvalidInputError(
            f"address {shown_address}: its path has {len(key.encode())} bytes, but an object "
            f"store permits at most {LONGEST_KEY} for a table; shorten it"
        )
    return f"{scheme}://{authority}/{path}" if path else f"{scheme}://{authority}"


def _decoded(text: str, shown_address: str) -> str:
    """Return a percent-decoded part of a URI."""
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"address {shown_address}: its percent-encoded bytes are not UTF-8; encode the name "
            f"as UTF-8"
        ) from error
    if (sign := _CONTROL.search(decoded)) is not None:
        raise InvalidInputError(
            f"address {shown_address}: it contains the percent-encoded control character "
            f"{sign[0]!r}; remove it"
        )
    return decoded


def _excerpt(address: str) -> str:
    """Return an address without passwords, for messages."""
    text = shown(address)
    return repr(text if len(text) <= 100 else f"{text[:100]}...")


def absolute_as_written(address: str) -> str:
    """Return an address like `absolute`, but preserve ``file:`` URIs as ``file:///...``.

    This form is for servers that resolve a path, unlike a URI, on their default file system.

    Raises:
        InvalidInputError: code 13, as for `absolute`.
    """
    made = absolute(address) if address else os.getcwd()
    return f"file://{as_end_of_uri(made)}" if is_uri(address) and not is_uri(made) else made


def as_end_of_uri(path: str) -> str:
    """Escape the characters that would end the path if the path were parsed as part of a URI."""
    kept = path.rstrip(" ")  # parsers drop spaces at the end of a URI
    return kept.translate(_FOR_URI) + "%20" * (len(path) - len(kept))


def stored_form(location: str) -> str:
    """Return a location from a catalog in `absolute` form, or unchanged if that is impossible.

    A location that is returned unchanged cannot be opened; `absolute` reports the reason.
    """
    try:
        return absolute(location) if _URI.fullmatch(location) else _without_end(location)
    except InvalidInputError:
        return _without_end(location)


def _without_end(location: str) -> str:
    return location.rstrip("/") or location


def is_uri(location: str) -> bool:
    """Return whether a location is a URI rather than a path."""
    return _URI.fullmatch(location) is not None or _NO_SLASHES.match(location) is not None


def absolute_or_current(path: str | None) -> str:
    """Return the absolute form of a path or URI; an empty string means the current directory."""
    return absolute(path) if path else os.getcwd()


def as_address(location: str) -> str:
    """Return a location in a form for servers that parse URIs; Lance opens the same location.

    Characters that are invalid in a URI are percent-encoded; a plain path is returned unchanged.
    """
    if "://" not in location:
        return location
    return _ILLEGAL.sub(lambda found: quote(found[0], safe=""), location)


MAX_LEVEL_BYTES = 255
"""Maximum length of a file or directory name, in bytes."""
# `fresh_location` adds 9 bytes.
LONGEST_LEVEL = MAX_LEVEL_BYTES - 9


def default_location(root: str, names: Sequence[str]) -> str:
    """Return the location of a table or database that was created without one.

    Args:
        root: storage root, a path or URI.
        names: levels below it, outermost first.

    Returns:
        ``{root}/{names joined by /}``, with each name percent-encoded. Lance decodes URIs into
        paths, so names with a slash or a percent sign are encoded twice below a URI in order to
        remain a single level. On local storage, a name that is too long for a directory is
        truncated, and part of its SHA-256 is appended.

    Raises:
        InvalidInputError: code 13, a name is ``.`` or ``..``, which refers to another directory.
    """
    for name in names:
        if name in (".", ".."):
            raise InvalidInputError(
                f"name {name!r} cannot be part of a default location; specify a location, or "
                "use another name"
            )
    encoded = [quote(name, safe="") for name in names]
    if "://" not in root or root.startswith("file://"):
        encoded = [
            text if len(text) <= LONGEST_LEVEL else _shortened(name)
            for name, text in zip(names, encoded, strict=True)
        ]
    if "://" in root:
        encoded = [quote(text) if "%2F" in text or "%25" in text else text for text in encoded]
    return "/".join([root.rstrip("/"), *encoded])


def _shortened(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    head = name[:LONGEST_LEVEL]
    while len(start := quote(head, safe="")) > LONGEST_LEVEL - 17:
        head = head[:-1]
    return f"{start}-{digest}"


def is_local(location: str) -> bool:
    """Return whether a location is on a file system of this machine."""
    found = SCHEME.fullmatch(location)
    return found is None or found[1].lower() in LOCAL_SCHEMES


def require_short_levels(location: str) -> None:
    """Reject a location on local storage that contains a name too long for a file system.

    Raises:
        InvalidInputError: code 13.
    """
    if not is_local(location):
        return
    path = unquote(location.partition("://")[2]) if "://" in location else location
    for level in path.split("/"):
        size = len(level.encode("utf-8", "surrogatepass"))
        if size > MAX_LEVEL_BYTES:
            raise InvalidInputError(
                f"location {location[:60]!r}... contains a name of {size} bytes, but file systems "
                f"allow at most {MAX_LEVEL_BYTES}; shorten it, or specify another location"
            )


def plain_path(location: str) -> str:
    """Return a location in a normalized form, for comparisons."""
    return stored_form(location)


def fresh_location(location: str) -> str:
    """Return a location next to one that is in use: ``<location>-<8 hex digits>``."""
    return f"{location.rstrip('/')}-{os.urandom(4).hex()}"
