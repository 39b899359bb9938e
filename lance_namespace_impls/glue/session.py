"""Creates the Glue client and its credentials.

The client is equivalent to the result of ``boto3.client("glue")``, but is created with botocore
alone. Importing the rest of boto3, which is for other services, would take a tenth of the time
until the first call returns.
"""

from __future__ import annotations

from typing import Any

from botocore.config import Config as BotoConfig
from botocore.credentials import CredentialProvider, CredentialResolver, RefreshableCredentials
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.session import Session

from ..core.instrumentation import upstream_call
from .config import GlueConfig

__all__ = ["make_client"]

# Role credentials are renewed when this fraction of their lifetime remains, but at most this many
# seconds before they expire. Within the first limit, calls may renew them; within the second limit,
# calls must wait for the renewal.
MAY_RENEW = (1 / 3, 900)
MUST_RENEW = (1 / 6, 600)


def make_client(config: GlueConfig) -> Any:
    """Create a Glue client whose role credentials are renewed automatically.

    Raises:
        botocore.exceptions.BotoCoreError: for example, there is no region, or the profile is
            unknown.
        botocore.exceptions.ClientError: STS rejects the role.
        ValueError: the endpoint is not a URL.
    """
    session = _new_session(config)
    keys = {
        "aws_access_key_id": config.access_key_id,
        "aws_secret_access_key": config.secret_access_key,
        "aws_session_token": config.session_token,
    }
    if config.assume_role_arn is not None:
        region = {"region_name": config.assume_role_region}
        sts = _new_client(config, session, "sts", **keys, **region)
        # A session caches the first credentials that it finds, so the role needs a separate
        # session.
        session, keys = _new_session(config), {}
        role = CredentialResolver([_Role(config, sts)])
        session.register_component("credential_provider", role)
    return _new_client(config, session, "glue", endpoint_url=config.endpoint, **keys)


def _new_session(config: GlueConfig) -> Session:
    session = Session(profile=config.profile_name)
    if config.region is not None:
        session.set_config_variable("region", config.region)
    return session


def _new_client(config: GlueConfig, session: Session, service: str, **more: Any) -> Any:
    client = session.create_client(service, config=_client_options(config), **more)
    if config.max_retries is None:
        client.meta.events.register(f"needs-retry.{service}", _fail_without_retry)
    events = client.meta.events
    events.register(f"before-call.{service}", _begin_call)
    events.register(f"after-call.{service}", _end_call)
    events.register(f"after-call-error.{service}", _end_call)
    return client


_CALL = "lance_namespace_call"


def _begin_call(model: Any, context: dict[str, Any], **_: Any) -> None:
    opened = upstream_call("glue", model.name)
    context[_CALL] = (opened, opened.__enter__())


def _end_call(
    context: dict[str, Any], exception: BaseException | None = None, **event: Any
) -> None:
    opened, call = context.pop(_CALL)
    if exception is not None:
        call.result = type(exception).__name__
    elif "Error" in event["parsed"]:
        call.result = str(event["parsed"]["Error"].get("Code"))
    opened.__exit__(None, None, None)


def _fail_without_retry(caught_exception: Exception | None = None, **_: Any) -> None:
    """Fail immediately if the service is unreachable, unless `max_retries` is set.

    botocore's default retries would multiply the timeout.
    """
    if isinstance(caught_exception, ConnectTimeoutError | EndpointConnectionError):
        raise caught_exception


def _client_options(config: GlueConfig) -> BotoConfig:
    retries: dict[str, Any] = {}
    if config.retry_mode is not None:
        retries["mode"] = config.retry_mode
    if config.max_retries is not None:
        retries["total_max_attempts"] = config.max_retries + 1
    return BotoConfig(
        connect_timeout=config.connect_timeout,
        read_timeout=config.read_timeout,
        retries=retries or None,
    )


class _Role(CredentialProvider):  # type: ignore[misc]
    """The credentials of an assumed role, which are renewed before they expire."""

    METHOD = "sts-assume-role"

    def __init__(self, config: GlueConfig, sts: Any) -> None:
        super().__init__()
        self._sts = sts
        self._seconds = config.assume_role_timeout_sec
        self._request = {
            "RoleArn": config.assume_role_arn,
            "RoleSessionName": config.assume_role_session_name or "lance-namespace",
            "DurationSeconds": self._seconds,
        }
        if config.assume_role_external_id is not None:
            self._request["ExternalId"] = config.assume_role_external_id

    def load(self) -> RefreshableCredentials:
        return RefreshableCredentials.create_from_metadata(
            self._fetch(),
            refresh_using=self._fetch,
            method=self.METHOD,
            advisory_timeout=self._before_end(MAY_RENEW),
            mandatory_timeout=self._before_end(MUST_RENEW),
        )

    def _before_end(self, window: tuple[float, int]) -> int:
        part, longest = window
        return min(int(self._seconds * part), longest)

    def _fetch(self) -> dict[str, str]:
        credentials = self._sts.assume_role(**self._request)["Credentials"]
        return {
            "access_key": credentials["AccessKeyId"],
            "secret_key": credentials["SecretAccessKey"],
            "token": credentials["SessionToken"],
            "expiry_time": credentials["Expiration"].isoformat(),
        }
