"""Object stores and local storage, through pyarrow.fs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from .errors import first_line

__all__ = ["open_store", "reaches", "store_failure", "takes"]

S3_ATTEMPTS = 4

# pylance's names for object-store options, and what pyarrow calls the same.
_S3_OPTIONS = {
    "aws_access_key_id": "access_key",
    "access_key_id": "access_key",
    "aws_secret_access_key": "secret_key",
    "secret_access_key": "secret_key",
    "aws_session_token": "session_token",
    "session_token": "session_token",
    "aws_region": "region",
    "region": "region",
    "aws_endpoint": "endpoint_override",
    "aws_endpoint_url": "endpoint_override",
    "endpoint": "endpoint_override",
}
_GCS_OPTIONS = {"google_project_id": "project_id"}
_AZURE_OPTIONS = {
    "azure_storage_account_name": "account_name",
    "account_name": "account_name",
    "azure_storage_account_key": "account_key",
    "account_key": "account_key",
    "azure_storage_sas_key": "sas_token",
    "sas_key": "sas_token",
}


# pyarrow's names for what an object store answers, and the errors that they stand for.
_STORE_FAILURES: dict[str, type[LanceNamespaceError]] = {
    "NETWORK_CONNECTION": ServiceUnavailableError,
    "SERVICE_UNAVAILABLE": ServiceUnavailableError,
    "REQUEST_TIMEOUT": ServiceUnavailableError,
    "SLOW_DOWN": ThrottlingError,
    "THROTTLING": ThrottlingError,
    "ACCESS_DENIED": PermissionDeniedError,
    "INVALID_ACCESS_KEY_ID": UnauthenticatedError,
    "INVALID_CLIENT_TOKEN_ID": UnauthenticatedError,
    "SIGNATURE_DOES_NOT_MATCH": UnauthenticatedError,
}
_STORE_FAILURE = re.compile(r"AWS Error (\w+)(?: \(HTTP status (-?\d+)\))?")
# What pyarrow has no name for: an answer to HEAD has no text, and one without a status was cut.
_STORE_STATUS: dict[str, type[LanceNamespaceError]] = {
    "-1": ServiceUnavailableError,
    "429": ThrottlingError,
    "500": ServiceUnavailableError,
    "502": ServiceUnavailableError,
    "503": ServiceUnavailableError,
    "504": ServiceUnavailableError,
}


def store_failure(error: Exception) -> type[LanceNamespaceError] | None:
    """Return the error that a failure of an object store is; None where pyarrow's text is not known."""
    found = _STORE_FAILURE.search(str(error))
    if found is None:
        return None
    return _STORE_FAILURES.get(found[1]) or _STORE_STATUS.get(found[2] or "")


def open_store(root: str, options: Mapping[str, str]) -> tuple[Any, str]:
    """Return the ``pyarrow.fs.FileSystem`` of a place, and the place as a path in it.

    Args:
        root: a URI or absolute path.
        options: object-store options by pylance's names, such as ``aws_endpoint``.

    Raises:
        InvalidInputError: code 13, there is no file system for it, or the options do not fit.
    """
    if "://" not in root:
        return fs.LocalFileSystem(), root
    parts = urlsplit(root)
    path = unquote(f"{parts.netloc}{parts.path}")
    try:
        match parts.scheme:
            case "s3":
                return fs.S3FileSystem(**_s3(options)), path
            case "gs" | "gcs":
                return fs.GcsFileSystem(**_renamed(options, _GCS_OPTIONS)), path
            case "az" | "abfs" | "abfss":
                return fs.AzureFileSystem(**_renamed(options, _AZURE_OPTIONS)), path
            case _:
                filesystem, base = fs.FileSystem.from_uri(root)
                return filesystem, base
    except Exception as error:
        raise InvalidInputError(f"{root} cannot be opened: {first_line(error)}") from error


def takes(root: str, options: Mapping[str, str]) -> bool:
    """Return whether any of these options is one of the kind of object store that a URI names."""
    names = {
        "s3": _S3_OPTIONS,
        **dict.fromkeys(("gs", "gcs"), _GCS_OPTIONS),
        **dict.fromkeys(("az", "abfs", "abfss"), _AZURE_OPTIONS),
    }.get(urlsplit(root).scheme, {})
    return any(key.lower() in names for key in options)


def reaches(root: str, options: Mapping[str, str]) -> bool:
    """Return whether pyarrow reaches a place as pylance does: every option has a name there.

    Where it does not, pyarrow would go without a credential that pylance has.
    """
    if "://" not in root:
        return True
    known = {*_S3_OPTIONS, "aws_allow_http", "allow_http", "expires_at_millis"}
    return urlsplit(root).scheme == "s3" and {key.lower() for key in options} <= known


def _renamed(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[key.lower()]: value for key, value in options.items() if key.lower() in names}


def _s3(options: Mapping[str, str]) -> dict[str, Any]:
    out = _renamed(options, _S3_OPTIONS)
    # The standard strategy has a quota for the whole process, which one outage uses up for good.
    out["retry_strategy"] = fs.AwsDefaultS3RetryStrategy(max_attempts=S3_ATTEMPTS)
    if str(out.get("endpoint_override", "")).startswith("http://"):
        out["scheme"] = "http"
    return out
