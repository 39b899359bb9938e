"""Properties of a Glue namespace."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Config, option, timeout_option
from ..core.options import shown

__all__ = ["CATALOG", "DATABASE", "GlueConfig"]

CATALOG = "catalog"
DATABASE = "database"

# Limits of STS for the duration of a role session.
MIN_SESSION_SECONDS = 900
MAX_SESSION_SECONDS = 43200


def _one_of(*choices: str) -> Any:
    def check(config: GlueConfig, attribute: attrs.Attribute[Any], value: str | None) -> None:
        if value is not None and value not in choices:
            raise InvalidInputError(
                f"glue: property {attribute.name!r} must be one of {', '.join(choices)}, "
                f"not {shown(value)!r}"
            )

    return check


@attrs.define(kw_only=True)
class GlueConfig(Config):
    """Properties of a Glue namespace."""

    impl: ClassVar[str] = "glue"

    catalog_id: str | None = option(
        default=None,
        doc="catalog to use as the root namespace: an account, or account:catalog; defaults to "
        "the caller's account",
    )
    endpoint: str | None = option(
        default=None,
        doc="address of the service if it is not AWS; other metastores implement the same API",
    )
    region: str | None = option(
        default=None, doc="AWS region of Glue; defaults to the region in the environment"
    )
    profile_name: str | None = option(
        default=None, doc="profile in the AWS configuration files that provides the credentials"
    )
    access_key_id: str | None = option(default=None, secret=True, doc="ID of a static access key")
    secret_access_key: str | None = option(
        default=None, secret=True, doc="secret access key that belongs to access_key_id"
    )
    session_token: str | None = option(
        default=None, secret=True, doc="session token of temporary credentials"
    )
    assume_role_arn: str | None = option(
        default=None, doc="ARN of the IAM role to assume for all Glue calls"
    )
    assume_role_region: str | None = option(
        default=None, doc="AWS region of the STS endpoint; defaults to `region`"
    )
    assume_role_external_id: str | None = option(
        default=None, doc="external ID that the role requires from other accounts"
    )
    assume_role_session_name: str | None = option(
        default=None, doc="name of the role session; defaults to lance-namespace"
    )
    assume_role_timeout_sec: int = option(
        default=3600,
        unit="seconds",
        minimum=MIN_SESSION_SECONDS,
        maximum=MAX_SESSION_SECONDS,
        doc="duration of the role session; its credentials are renewed before they expire",
    )
    max_retries: int | None = option(
        default=None,
        unit="retries",
        minimum=0,
        maximum=100,
        doc="maximum number of retries per call; defaults to the AWS configuration, except that "
        "failed connections are not retried",
    )
    retry_mode: str | None = option(
        default=None,
        validator=_one_of("legacy", "standard", "adaptive"),
        doc="how botocore waits between retries: legacy, standard or adaptive",
    )
    connect_timeout: float = timeout_option(
        "connect_timeout",
        default=10.0,
        minimum=0.001,
        maximum=3600,
        doc="maximum time to connect, per attempt",
    )
    read_timeout: float = timeout_option(
        "read_timeout",
        default=60.0,
        minimum=0.001,
        maximum=3600,
        doc="maximum time to wait for a response, per attempt",
    )
    default_namespace_type: str = option(
        default=CATALOG,
        validator=_one_of(CATALOG, DATABASE),
        doc="kind of namespace that CreateNamespace creates for an identifier with one name: "
        "catalog, or database in the root catalog",
    )

    def __attrs_post_init__(self) -> None:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            missing = "secret_access_key" if self.secret_access_key is None else "access_key_id"
            raise InvalidInputError(
                f"glue: incomplete key pair: {missing!r} is missing; set both or neither"
            )
        if self.session_token is not None and self.access_key_id is None:
            raise InvalidInputError(
                "glue: 'session_token' needs 'access_key_id' and 'secret_access_key'"
            )
        if self.profile_name is not None and self.access_key_id is not None:
            raise InvalidInputError(
                "glue: 'profile_name' and 'access_key_id' are two sets of credentials; set only "
                "one of them"
            )
        if self.assume_role_arn is None:
            self._refuse_role_settings()

    def _refuse_role_settings(self) -> None:
        """Reject role settings without a role: the calls would run with other credentials."""
        for name in ("region", "external_id", "session_name"):
            if getattr(self, f"assume_role_{name}") is not None:
                raise InvalidInputError(
                    f"glue: 'assume_role_{name}' has no effect without 'assume_role_arn'"
                )
