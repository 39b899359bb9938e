"""Classifies object store options as destinations, credentials, or neither.

The classification uses lists of known names; an option that is on no list may be a secret.

Source: the configuration keys of the object_store library, which pylance passes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from lance_namespace_client.errors import InvalidInputError

__all__ = [
    "HIDDEN",
    "KNOWN",
    "is_ignorable",
    "is_secret_option",
    "joined_options",
    "overlaid",
    "redact",
    "secret_parts",
    "shown",
    "with_vended",
]

HIDDEN = "***"
EXPIRES_AT_MILLIS = "expires_at_millis"
"""Name of the storage option that contains the expiration time of the other options, in
milliseconds since 1970.
"""

_DESTINATIONS = frozenset({
    "account_name", "allow_http", "allow_invalid_certificates", "authority_host",
    "authority_id", "azure_authority_host", "base_url", "bucket", "bucket_name",
    "bypass_ssl_verify", "container_credentials_full_uri",
    "container_credentials_relative_uri", "container_name", "endpoint", "endpoint_url",
    "endpoint_url_sts", "federated_token_file", "identity_endpoint", "imdsv1_fallback",
    "metadata_endpoint", "msi_endpoint", "proxy_ca_certificate", "proxy_excludes", "proxy_url",
    "role_arn", "role_session_name", "root_certificate", "s3_express", "tenant_id",
    "use_emulator", "use_fabric_endpoint", "virtual_hosted_style_request",
    "web_identity_token_file",
})  # fmt: skip
_HARMLESS = frozenset({
    "anonymous", "checksum_algorithm", "client_max_retries", "client_retry_timeout",
    "conditional_put", "connect_timeout", "content_type", "copy_if_not_exists",
    "default_content_type", "default_region", "disable_tagging", "download_retry_count",
    "expires_at_millis", "http1_only", "http2_keep_alive_interval", "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle", "http2_max_frame_size", "http2_only", "io_threads",
    "max_retries", "pool_idle_timeout", "pool_max_idle_per_host", "project_id",
    "randomize_addresses", "region", "request_payer", "request_timeout", "retry_timeout",
    "server_side_encryption", "skip_signature", "timeout", "unsigned_payload",
    "upload_concurrency", "use_opendal", "user_agent",
})  # fmt: skip
KNOWN = _DESTINATIONS | _HARMLESS
"""Names of options, without the vendor's prefix, that are known not to be secret."""
_VENDORS = re.compile(r"(?:aws_|azure_storage_|azure_|google_|gcs_|gs_|s3_(?!express))")
_ANONYMOUS = frozenset({"skip_signature", "anonymous"})
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")


def _name(key: str) -> str:
    """Return the name of an option without the vendor's prefix, if it has one."""
    plain = _VENDORS.sub("", key.lower().replace("-", "_"), count=1)
    return "endpoint" if plain in ("endpoint_url", "endpoint_url_s3") else plain


def is_ignorable(key: str) -> bool:
    """Return whether an option affects neither the destination nor the credentials of requests."""
    return _name(key) in _HARMLESS


def is_secret_option(key: str) -> bool:
    """Return whether an option's value must be hidden because it is not known to be harmless."""
    return _name(key) not in KNOWN


def redact(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with all secrets hidden, including passwords and signatures in URLs."""
    return {
        key: HIDDEN if is_secret_option(key) else shown(value) for key, value in options.items()
    }


def shown(text: str) -> str:
    """Return a string with the passwords, queries and fragments of URLs hidden."""
    return _URL.sub(lambda found: _redacted_url(found[0]), text) if "://" in text else text


def secret_parts(text: str) -> set[str]:
    """Return the parts of a string that `shown` hides, to remove them from messages."""
    found: set[str] = set()
    for url in _URL.findall(text) if "://" in text else ():
        _, user, _, tail = _parts(url)
        for part in (user, user.partition(":")[2], tail.lstrip("?#")):
            found |= {part, unquote(part)}
    return {part for part in found if part}


def _redacted_url(url: str) -> str:
    start, user, place, tail = _parts(url)
    return f"{start}{f'{HIDDEN}@' if user else ''}{place}{f'{tail[0]}{HIDDEN}' if tail else ''}"


def _parts(url: str) -> tuple[str, str, str, str]:
    """Split a URL into scheme, user information, host with path, and the rest after the path."""
    scheme, _, rest = url.partition("://")
    end = min((rest.index(sign) for sign in "?#" if sign in rest), default=len(rest))
    place, tail = rest[:end], rest[end:]
    user = ""
    # In Azure's abfs://container@account, the part before the @ is a container, not a user.
    if not scheme.lower().startswith(("abfs", "wasb")):
        authority, slash, path = place.partition("/")
        user, _, host = authority.rpartition("@")
        place = f"{host}{slash}{path}"
    return f"{scheme}://", user, place, tail


def overlaid(configured: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return options overridden by others; all aliases of an overridden option are removed."""
    named = set(map(_name, own))
    return {**{key: text for key, text in configured.items() if _name(key) not in named}, **own}


def joined_options(
    configured: Mapping[str, str], own: Mapping[str, str], what: str
) -> dict[str, str]:
    """Return the storage options of a table: the namespace's, overridden by the table's own.

    If a table's own options redirect its requests to another server, only credentials from the same
    options are sent to that server, never those of the namespace or the environment.

    Args:
        configured: the namespace's options.
        own: the table's own options.
        what: the table, as the start of the message.

    Raises:
        InvalidInputError: code 13, the table's own options redirect requests but contain no
            credentials.
    """
    if not own:
        return dict(configured)
    known = {_name(key): value for key, value in configured.items()}
    elsewhere = sorted(
        key for key, value in own.items()
        if _name(key) in _DESTINATIONS and known.get(_name(key)) != value
    )  # fmt: skip
    if not elsewhere:
        return overlaid(configured, own)
    if not any(is_secret_option(key) or _is_anonymous(key, own[key]) for key in own):
        raise InvalidInputError(
            f"{what}: the table's own {', '.join(elsewhere)} would send the namespace's "
            "credentials to another server; also set credentials for the table, or set the option "
            "for the whole namespace"
        )
    kept = {key: value for key, value in configured.items() if not is_secret_option(key)}
    return overlaid(kept, own)


def with_vended(configured: Mapping[str, str], vended: Mapping[str, str]) -> Mapping[str, str]:
    """Return a namespace's storage options combined with those that its catalog vends for a table.

    Vended credentials replace the configured ones, because a mixture would be invalid; for
    destinations and connection settings, the configuration takes precedence.
    """
    if not vended:
        return configured
    if any(map(is_secret_option, vended)):
        configured = {
            key: value
            for key, value in configured.items()
            if not is_secret_option(key) and _name(key) != EXPIRES_AT_MILLIS
        }
    named = set(map(_name, configured))
    return {**{k: v for k, v in vended.items() if _name(k) not in named}, **configured}


def _is_anonymous(key: str, value: str) -> bool:
    return _name(key) in _ANONYMOUS and value.lower() == "true"
