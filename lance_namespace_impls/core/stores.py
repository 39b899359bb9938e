"""Opens object stores and local storage through pyarrow.fs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from attrs import field, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from .errors import first_line
from .location import absolute, is_uri
from .options import EXPIRES_AT_MILLIS, is_ignorable, redact, shown

__all__ = [
    "ResolvedAddress",
    "check_options",
    "applicable_options",
    "open_store",
    "resolve",
    "store_failure",
]

S3_ATTEMPTS = 4
_FAR_FUTURE = datetime(2100, 1, 1, tzinfo=UTC)
_TRUE = frozenset({"1", "true", "on", "yes", "y"})
_FALSE = frozenset({"0", "false", "off", "no", "n", ""})
_ALLOW_HTTP = ("allow_http", "aws_allow_http", "azure_allow_http", "google_allow_http")
# In Lance, these variables override the options, and later variables override earlier ones.
_HTTP_VARIABLES = ("AZURE_STORAGE_ALLOW_HTTP", "AZURE_STORAGE_USE_HTTP", "AWS_ALLOW_HTTP")

# For each kind of store: Lance's name for an option, and the option's aliases. An environment
# variable has one of these names in upper case; the first variable that is set is used.
_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "s3": {
        "aws_access_key_id": ("access_key_id",),
        "aws_secret_access_key": ("secret_access_key",),
        "aws_session_token": ("aws_token", "session_token", "token"),
        "aws_region": ("region", "aws_default_region", "default_region"),
        "aws_endpoint": ("aws_endpoint_url_s3", "aws_endpoint_url", "endpoint_url", "endpoint"),
        "aws_virtual_hosted_style_request": ("virtual_hosted_style_request",),
        "aws_skip_signature": ("skip_signature",),
        "allow_http": _ALLOW_HTTP,
        "proxy_url": ("aws_proxy_url",),
    },
    "gs": {
        "google_service_account": (
            "service_account",
            "google_service_account_path",
            "service_account_path",
        ),
        "google_service_account_key": ("service_account_key",),
        "google_application_credentials": ("application_credentials",),
        "google_storage_token": ("google_bearer_token", "bearer_token"),
        "google_base_url": ("base_url",),
        "google_skip_signature": ("skip_signature",),
        "google_project_id": ("project_id",),
        "allow_http": _ALLOW_HTTP,
    },
    "az": {
        "azure_storage_account_name": ("account_name",),
        "azure_storage_account_key": (
            "azure_storage_access_key",
            "azure_storage_master_key",
            "master_key",
            "account_key",
            "access_key",
        ),
        "azure_storage_sas_key": ("azure_storage_sas_token", "sas_key", "sas_token"),
        "azure_storage_client_id": ("azure_client_id", "client_id"),
        "azure_storage_client_secret": ("azure_client_secret", "client_secret"),
        "azure_storage_tenant_id": (
            "azure_storage_authority_id",
            "azure_tenant_id",
            "azure_authority_id",
            "tenant_id",
            "authority_id",
        ),
        "azure_storage_endpoint": ("azure_endpoint", "endpoint"),
        "azure_storage_use_emulator": ("use_emulator",),
        "allow_http": _ALLOW_HTTP,
    },
}
_KINDS = {"s3": "s3", "gs": "gs", "az": "az", "abfss": "az"}
_CREDENTIALS: Mapping[str, frozenset[str]] = {
    "s3": frozenset({"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}),
    "gs": frozenset(
        {
            "google_service_account",
            "google_service_account_key",
            "google_application_credentials",
            "google_storage_token",
        }
    ),
    "az": frozenset(
        {
            "azure_storage_account_key",
            "azure_storage_sas_key",
            "azure_storage_client_id",
            "azure_storage_client_secret",
            "azure_storage_tenant_id",
        }
    ),
}
"""Groups of options whose environment variables are used only together."""
_ENDPOINTS = {"s3": "aws_endpoint", "gs": "google_base_url", "az": "azure_storage_endpoint"}
_BOOLEANS = frozenset(
    {
        "allow_http",
        "aws_virtual_hosted_style_request",
        "aws_skip_signature",
        "google_skip_signature",
        "azure_storage_use_emulator",
    }
)
# pyarrow has no arguments for these options; it reads them from the environment.
_READ_BY_PYARROW = frozenset({"google_application_credentials"})
_EMULATOR = {
    "azure_storage_account_name": "devstoreaccount1",
    "azure_storage_account_key": (
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    ),
}


@frozen(kw_only=True)
class ResolvedAddress:
    """An address and its options, in the form that both pyarrow and Lance use."""

    location: str
    """The absolute path or URI, as `location.absolute` returns it."""
    path: str
    """The path within the pyarrow file system."""
    kind: str | None
    """``s3``, ``gs`` or ``az``; None means local storage, and ``other`` means a store that only
    Lance supports.
    """
    options: Mapping[str, str] = field(repr=lambda options: repr(redact(options)))
    """The options under Lance's primary names, including those from the environment."""
    own: frozenset[str] = field(factory=frozenset, repr=False)
    """Names of the options that were passed by the caller; the others come from the environment."""

    @property
    def bucket(self) -> str:
        """The bucket or container."""
        return self.path.partition("/")[0]

    @property
    def is_reached_by_pyarrow(self) -> bool:
        """Whether pyarrow has an equivalent for every option; if not, its credentials might
        differ.
        """
        return self.kind is None or (self.kind == "s3" and not self._without_equal())

    def filesystem(self) -> Any:
        """Open the ``pyarrow.fs.FileSystem`` for the address.

        Raises:
            InvalidInputError: code 13, pyarrow has no file system for the address, or no equivalent
                of an option.
        """
        from pyarrow import fs  # slow to import, and not needed to resolve an address

        if self.kind is None:
            return fs.LocalFileSystem()
        make, arguments = self.arguments()
        if self.kind == "s3" and not {"region", "endpoint_override"} & set(arguments):
            # Look up the bucket's region, as Lance does. If the lookup fails, the actual request
            # fails as well and reports the problem.
            with suppress(OSError):
                arguments["region"] = fs.resolve_s3_region(self.bucket)
        try:
            return make(**arguments)
        except Exception as error:
            raise InvalidInputError(
                f"{self.location} cannot be opened: {first_line(error)}"
            ) from error

    def arguments(self) -> tuple[Any, dict[str, Any]]:
        """Return the pyarrow file system class for an object store, and its arguments.

        Raises:
            InvalidInputError: code 13, as for `filesystem`.
        """
        from pyarrow import fs

        if self.kind not in _NAMES:
            scheme = self.location.partition(":")[0]
            raise InvalidInputError(
                f"{self.location} cannot be opened: {scheme}:// cannot be listed; use a path, "
                "s3://, gs://, az:// or abfss://"
            )
        if without := self._without_equal():
            raise InvalidInputError(
                f"{self.location} cannot be opened: {', '.join(without)} cannot be applied to "
                "listings, only to tables; set the equivalent environment variables of the "
                "store instead"
            )
        match self.kind:
            case "s3":
                return fs.S3FileSystem, self._s3()
            case "gs":
                return fs.GcsFileSystem, self._gs()
            case _:
                return fs.AzureFileSystem, self._az()

    def _without_equal(self) -> list[str]:
        """Return options for the server or the credentials that have no equivalent in pyarrow."""
        assert self.kind is not None
        none = {"google_service_account", "google_service_account_key"}
        names = _NAMES.get(self.kind, {})
        return sorted(
            key
            for key in self.options
            if (key in none or (key in _READ_BY_PYARROW and key in self.own))
            or (key in self.own and key not in names and not is_ignorable(key))
        )

    def _has(self, name: str) -> bool:
        return self.options.get(name) == "true"

    def _s3(self) -> dict[str, Any]:
        names = {
            "aws_access_key_id": "access_key",
            "aws_secret_access_key": "secret_key",
            "aws_session_token": "session_token",
            "aws_region": "region",
            "proxy_url": "proxy_options",
        }
        from pyarrow import fs

        # Do not use the standard strategy: its quota applies to the whole process, and one outage
        # exhausts it permanently.
        out: dict[str, Any] = {
            "retry_strategy": fs.AwsDefaultS3RetryStrategy(max_attempts=S3_ATTEMPTS)
        }
        out |= {new: self.options[old] for old, new in names.items() if self.options.get(old)}
        if self._has("aws_skip_signature"):
            out = {
                k: v
                for k, v in out.items()
                if k not in ("access_key", "secret_key", "session_token")
            }
            out["anonymous"] = True
        endpoint = self.options.get("aws_endpoint", "")
        if self._has("aws_virtual_hosted_style_request"):
            out["force_virtual_addressing"] = True
            endpoint = endpoint and self._without_bucket(endpoint)
        if endpoint:
            out["endpoint_override"] = endpoint
            if endpoint.startswith("http://"):
                out["scheme"] = "http"
        return out

    def _without_bucket(self, endpoint: str) -> str:
        """Return an endpoint in pyarrow's form, without the bucket that Lance's form includes."""
        scheme, _, rest = endpoint.partition("://")
        start = f"{self.bucket}."
        if not rest.startswith(start):
            raise InvalidInputError(
                f"{self.location} cannot be opened: with virtual_hosted_style_request, the "
                f"endpoint must start with the bucket; write {scheme}://{start}{rest}"
            )
        return f"{scheme}://{rest.removeprefix(start)}"

    def _gs(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if project := self.options.get("google_project_id"):
            out["project_id"] = project
        if self._has("google_skip_signature"):
            out["anonymous"] = True
        elif token := self.options.get("google_storage_token"):
            expires = self.options.get(EXPIRES_AT_MILLIS)
            out["access_token"] = token
            out["credential_token_expiration"] = (
                datetime.fromtimestamp(int(expires) / 1000, UTC) if expires else _FAR_FUTURE
            )
        if endpoint := self.options.get("google_base_url"):
            out["scheme"], _, out["endpoint_override"] = endpoint.partition("://")
        return out

    def _az(self) -> dict[str, Any]:
        names = {
            "azure_storage_account_name": "account_name",
            "azure_storage_account_key": "account_key",
            "azure_storage_sas_key": "sas_token",
            "azure_storage_client_id": "client_id",
            "azure_storage_client_secret": "client_secret",
            "azure_storage_tenant_id": "tenant_id",
        }
        out: dict[str, Any] = {
            new: self.options[old] for old, new in names.items() if self.options.get(old)
        }
        if "account_name" not in out:
            raise InvalidInputError(
                f"{self.location} cannot be opened: no account is specified; set the property "
                "'storage.account_name', or AZURE_STORAGE_ACCOUNT_NAME"
            )
        if endpoint := self.options.get("azure_storage_endpoint"):
            scheme, _, rest = endpoint.partition("://")
            host, _, path = rest.partition("/")
            account = out["account_name"]
            if path == account:
                authority = host
            elif not path and host.startswith(f"{account}."):
                authority = host.removeprefix(account)
            else:
                raise InvalidInputError(
                    f"{self.location} cannot be opened: the endpoint has no account; write it as "
                    f"{scheme}://{host}/{account} or {scheme}://{account}.{host}"
                )
            out |= {"blob_storage_authority": authority, "blob_storage_scheme": scheme}
            out |= {"dfs_storage_authority": authority, "dfs_storage_scheme": scheme}
        return out


def resolve(address: str, options: Mapping[str, str]) -> ResolvedAddress:
    """Resolve an address and its options to the location and the options that both libraries use.

    Explicit options take precedence over the environment. All code that opens storage uses this
    function, so pyarrow and Lance send their requests to the same server with the same credentials.

    Args:
        address: a path or URI.
        options: object-store options with pylance's names, such as ``aws_endpoint``.

    Raises:
        InvalidInputError: code 13, the address or an option is invalid.
    """
    location = absolute(address)
    if not is_uri(location):
        return ResolvedAddress(location=location, path=location, kind=None, options=dict(options))
    scheme, _, rest = location.partition("://")
    kind = _KINDS.get(scheme, "other")
    authority, slash, key = rest.partition("/")
    container, _, host = authority.partition("@")
    path = unquote(f"{container}{slash}{key}")
    if kind == "other":
        return ResolvedAddress(location=location, path=path, kind=kind, options=dict(options))
    own = _by_first_name(kind, options, location)
    if kind == "az" and host:
        account = host.partition(".")[0]
        if own.setdefault("azure_storage_account_name", account) != account:
            raise InvalidInputError(
                f"{location}: the account in the address differs from account_name in the "
                "options; omit one of them"
            )
    found = _with_environment(kind, own, location)
    if kind == "az" and found.get("azure_storage_use_emulator") == "true":
        found = {**_EMULATOR, **found}
        emulator = os.environ.get("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:10000")
        account = found["azure_storage_account_name"]
        found.setdefault("azure_storage_endpoint", f"{emulator.rstrip('/')}/{account}")
        found["allow_http"] = "true"
    if kind == "s3":
        _refuse_half_of_a_key(found, location)
        if "aws_access_key_id" in own and os.environ.get("AWS_SESSION_TOKEN"):
            found.setdefault("aws_session_token", "")  # Lance would otherwise use the variable
    if endpoint := found.get(_ENDPOINTS[kind]):
        found[_ENDPOINTS[kind]] = _checked_endpoint(endpoint, found, location)
    if kind == "s3" and "aws_endpoint" in found and os.environ.get("AWS_ENDPOINT_URL_S3"):
        found["aws_endpoint_url_s3"] = found[
            "aws_endpoint"
        ]  # Lance would otherwise prefer the variable
    return ResolvedAddress(
        location=location, path=path, kind=kind, options=found, own=frozenset(own)
    )


def check_options(root: str | None, options: Mapping[str, str]) -> None:
    """Reject invalid object store options before they are used.

    Args:
        root: location of the tables, if they have a common one.
        options: object-store options with pylance's names.

    Raises:
        InvalidInputError: code 13.
    """
    if root is not None and is_uri(root):
        resolve(root, options)
        return
    for kind, endpoint in _ENDPOINTS.items():
        own = {
            key: value
            for key, value in options.items()
            if key.lower() in (endpoint, *_NAMES[kind][endpoint], *_ALLOW_HTTP)
        }
        found = _by_first_name(kind, own, "storage")
        if found.get(endpoint):
            _checked_endpoint(found[endpoint], _with_environment(kind, found, "storage"), "storage")


def applicable_options(address: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that apply to the kind of object store in an address."""
    scheme, _, rest = absolute(address).partition("://")
    names = _NAMES.get(_KINDS.get(scheme, ""), {})
    if "@" in rest.partition("/")[0]:
        return {}  # the address specifies the account, but the options are for another account
    known = {*names, *(other for others in names.values() for other in others)}
    return {key: value for key, value in options.items() if key.lower() in known}


def _by_first_name(kind: str, options: Mapping[str, str], location: str) -> dict[str, str]:
    """Return options under Lance's primary names.

    Raises:
        InvalidInputError: code 13, an option has two values, or a boolean is neither true nor
            false.
    """
    first = {other: name for name, others in _NAMES[kind].items() for other in (name, *others)}
    out: dict[str, str] = {}
    given: dict[str, str] = {}
    for key, value in options.items():
        name = first.get(key.lower(), key.lower())
        if name in _BOOLEANS:
            value = _boolean(key, value, location)
        if name in out and out[name] != value:
            raise InvalidInputError(
                f"{location}: {given[name]!r} and {key!r} are names of the same option, but have "
                "different values; set only one of them"
            )
        out[name], given[name] = value, key
    return out


def _boolean(key: str, value: str, location: str) -> str:
    text = value.strip().lower()
    if text not in _TRUE | _FALSE:
        raise InvalidInputError(
            f"{location}: the option {key!r} must be true or false, not {value!r}"
        )
    return "true" if text in _TRUE else "false"


def _with_environment(kind: str, own: Mapping[str, str], location: str) -> dict[str, str]:
    """Return options, supplemented by those from the environment."""
    environment = {key.lower(): value for key, value in os.environ.items() if value}
    out = dict(own)
    credentials = _CREDENTIALS[kind]
    has_credentials = not credentials.isdisjoint(own)
    for name, others in _NAMES[kind].items():
        if name in own or name == "allow_http" or (name in credentials and has_credentials):
            continue
        order = (*others, name) if name == "aws_endpoint" else (name, *others)
        variable = next((each for each in order if each in environment), None)
        if variable is not None:
            value = environment[variable]
            out[name] = _boolean(variable.upper(), value, location) if name in _BOOLEANS else value
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if kind == "gs" and emulator:
        out.setdefault("google_base_url", emulator if "://" in emulator else f"http://{emulator}")
    overriding = [each for each in _HTTP_VARIABLES if os.environ.get(each)]
    if overriding:
        chosen = _boolean(overriding[-1], os.environ[overriding[-1]], location)
        out["allow_http"] = "false" if own.get("allow_http", "true") == "false" else chosen
    elif "allow_http" not in own and "allow_http" in environment:
        out["allow_http"] = _boolean("ALLOW_HTTP", environment["allow_http"], location)
    return out


def _refuse_half_of_a_key(options: dict[str, str], location: str) -> None:
    """Reject an access key ID without a secret, or a secret without an ID (code 13)."""
    halves = ("aws_access_key_id", "aws_secret_access_key")
    missing = [name for name in halves if not options.get(name)]
    if len(missing) == 1:
        raise InvalidInputError(
            f"{location}: the option {missing[0]} is missing; set both the access key ID and the "
            f"secret, or neither"
        )
    if missing:
        options.pop("aws_session_token", None)  # a session token without an access key is useless


def _checked_endpoint(endpoint: str, options: Mapping[str, str], location: str) -> str:
    """Return an endpoint without a trailing slash.

    Raises:
        InvalidInputError: code 13, the endpoint is not a server address, or plain HTTP is not
            allowed.
    """
    where = f"{location}: the endpoint {shown(endpoint)!r}"
    scheme, separator, rest = endpoint.strip().rstrip("/").partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in ("http", "https") or not rest:
        raise InvalidInputError(
            f"{where} is not the address of a server; write it as https://host or http://host:port"
        )
    authority = rest.partition("/")[0]
    if "@" in authority:
        raise InvalidInputError(
            f"{where} contains a user name or password; pass credentials as object store options"
        )
    if not {"?", "#", "\\", " "}.isdisjoint(rest):
        raise InvalidInputError(f"{where} has a query, fragment, backslash or space; remove it")
    try:
        port = urlsplit(f"//{authority}").port
        host = urlsplit(f"//{authority}").hostname
    except ValueError:
        port, host = 0, None
    if not host or port == 0:
        raise InvalidInputError(f"{where} has no valid host and port; write http://host:port")
    if scheme == "http" and options.get("allow_http") != "true":
        variable = next((each for each in reversed(_HTTP_VARIABLES) if os.environ.get(each)), None)
        hint = f", and unset {variable}" if variable else ""
        raise InvalidInputError(
            f"{where} is plain HTTP, which is not allowed; use https, or set the option "
            f"allow_http=true ('storage.allow_http'){hint}"
        )
    return f"{scheme}://{rest}"


# pyarrow's names for object store responses, and the protocol errors that they represent.
_STORE_FAILURES: dict[str, type[LanceNamespaceError]] = {
    "NETWORK_CONNECTION": ServiceUnavailableError,
    "SERVICE_UNAVAILABLE": ServiceUnavailableError,
    "REQUEST_TIMEOUT": ServiceUnavailableError,
    "SLOW_DOWN": ThrottlingError,
    "THROTTLING": ThrottlingError,
    "NO_SUCH_BUCKET": InvalidInputError,
    "ACCESS_DENIED": PermissionDeniedError,
    "INVALID_ACCESS_KEY_ID": UnauthenticatedError,
    "INVALID_CLIENT_TOKEN_ID": UnauthenticatedError,
    "SIGNATURE_DOES_NOT_MATCH": UnauthenticatedError,
}
_STORE_FAILURE = re.compile(r"AWS Error (\w+)(?: \(HTTP status (-?\d+)\))?")
# Responses for which pyarrow has no name: responses to HEAD have no body, and a response without a
# status was truncated.
_STORE_STATUS: dict[str, type[LanceNamespaceError]] = {
    "-1": ServiceUnavailableError,
    "429": ThrottlingError,
    "500": ServiceUnavailableError,
    "502": ServiceUnavailableError,
    "503": ServiceUnavailableError,
    "504": ServiceUnavailableError,
}


def store_failure(error: Exception) -> type[LanceNamespaceError] | None:
    """Return the error class for an object store failure; None if the message is unknown."""
    found = _STORE_FAILURE.search(str(error))
    if found is None:
        return None
    return _STORE_FAILURES.get(found[1]) or _STORE_STATUS.get(found[2] or "")


def open_store(root: str, options: Mapping[str, str]) -> tuple[Any, str]:
    """Return the ``pyarrow.fs.FileSystem`` for a URI or path, and the path within the file system.

    Args:
        root: a URI or path.
        options: object-store options with pylance's names, such as ``aws_endpoint``.

    Raises:
        InvalidInputError: code 13, there is no file system for the address, or the options are
            invalid.
    """
    resolved = resolve(root, options)
    return resolved.filesystem(), resolved.path
