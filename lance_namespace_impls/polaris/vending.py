"""Converts the credentials that Apache Polaris vends for a table to object store options.

Source: Apache Polaris' Generic Table API, ``storage-access-configs``; the keys have the names of
Iceberg's file IO.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..extend.iceberg_rest import as_opened

__all__ = ["vended_options"]

_EXPIRES = "expires_at_millis"
_SAME = {
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "s3.session-token-expires-at-ms": _EXPIRES,
    "s3.endpoint": "aws_endpoint",
    "client.region": "aws_region",
    "s3.region": "aws_region",
    "s3.client.region": "aws_region",
    "gcs.oauth2.token": "google_storage_token",
    "gcs.oauth2.token-expires-at": _EXPIRES,
}
_SAS_TOKEN = "adls.sas-token."
_SAS_EXPIRES = "adls.sas-token-expires-at-ms."


def vended_options(location: str, response: Mapping[str, Any]) -> dict[str, str]:
    """Return the object store options in the server's response for a table.

    Args:
        location: location of the table; the configuration whose prefix is the longest match is
            used.
        response: the server's response for the table.
    """
    matching = [
        each
        for each in response.get("storage-access-configs") or ()
        if _is_below(location, str(each.get("prefix") or ""))
    ]
    if not matching:
        return {}
    chosen = max(matching, key=lambda each: len(str(each.get("prefix") or "")))
    config = {str(k): str(v) for k, v in (chosen.get("config") or {}).items() if v is not None}
    options = {option: config[key] for key, option in _SAME.items() if key in config}
    if config.get("s3.path-style-access", "").lower() == "false":
        options["aws_virtual_hosted_style_request"] = "true"
    if options.get("aws_endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    return options | _azure(location, config)


def _is_below(location: str, prefix: str) -> bool:
    """Return whether a location is a prefix or below it; ``s3a`` counts as ``s3``."""
    folder = as_opened(prefix)
    return f"{as_opened(location)}/".startswith(f"{folder}/") if folder else True


def _azure(location: str, config: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the storage account that a location names.

    The keys end with the account's host or name.
    """
    host = urlsplit(location).hostname or ""
    account = host.partition(".")[0]
    names = (host, account)
    options = {}
    if token := _first(config, _SAS_TOKEN, names):
        options = {"azure_storage_account_name": account, "azure_storage_sas_token": token}
        if expires := _first(config, _SAS_EXPIRES, names):
            options[_EXPIRES] = expires
    return options


def _first(config: Mapping[str, str], start: str, names: Iterable[str]) -> str | None:
    return next((config[start + name] for name in names if start + name in config), None)
