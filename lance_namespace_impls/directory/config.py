"""Properties of a directory namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Config, Foreign, option
from ..core.location import absolute
from ..core.options import shown

__all__ = ["DirectoryConfig"]

_MANIFEST = ("auto", "true", "false")


def _manifest(value: str) -> str:
    """Parse the value of the property ``manifest``.

    Raises:
        InvalidInputError: code 13, the value is unknown.
    """
    text = value.strip().lower()
    if text not in _MANIFEST:
        raise InvalidInputError(
            f"dir: property 'manifest' must be one of {', '.join(_MANIFEST)}, not {shown(value)!r}"
        )
    return text


@attrs.define(kw_only=True)
class DirectoryConfig(Config):
    """Properties of a directory namespace."""

    impl: ClassVar[str] = "dir"
    foreign: ClassVar[Mapping[str, Foreign]] = {
        "dir_listing_to_manifest_migration_enabled": Foreign(
            "run `lance-ns migrate --to manifest` once", ("false",)
        ),
        "credential_vendor.enabled": Foreign(
            "a directory vends no credentials; set those of the store as 'storage.*', or use a "
            "catalog that vends them (polaris)",
            ("false",),
        ),
        "credential_vendor.": Foreign(
            "a directory vends no credentials; set those of the store as 'storage.*', or use a "
            "catalog that vends them (polaris)"
        ),
        "vend_input_storage_options": Foreign(
            "'storage.*' is always returned in process, and by a server with "
            "--vend-storage-options",
            ("true", "false"),
        ),
        "vend_input_storage_options_refresh_interval_millis": Foreign(
            "the options in 'storage.*' do not expire; set storage.expires_at_millis if they do"
        ),
    }

    root: str = option(
        name="path",
        also=("root",),
        converter=absolute,
        doc="the directory: a URI, an absolute path, or a path relative to the current directory",
    )

    manifest: str = option(
        also=("manifest_enabled",),
        default="auto",
        converter=_manifest,
        doc="whether a `__manifest` table stores namespaces, properties and tables: "
        "`true` creates one with the first change, `false` ignores an existing "
        "manifest, `auto` uses one if present",
    )

    dir_listing_enabled: bool = option(
        default=True,
        doc="with a manifest: whether the tables in the root are the subdirectories `name.lance`, "
        "which clients that only list directories can see; if false, the manifest alone "
        "determines the tables",
    )

    table_version_tracking_enabled: bool = option(
        default=False,
        doc="with a manifest: whether it manages the versions of new tables, so that commits "
        "that bypass it are invisible; a table's property managed_versioning overrides this, except "
        "for tables in the root that clients can list",
    )

    commit_retries: int | None = option(
        default=None,
        unit="retries",
        minimum=0,
        doc="number of retries of a manifest change after conflicts; by default, changes are "
        "retried for a minute",
    )

    inline_optimization_enabled: bool = option(
        default=True,
        doc="accepted for compatibility with pylance; has no effect, because every change "
        "compacts the manifest",
    )

    def __attrs_post_init__(self) -> None:
        """Enable the manifest if directory listing is disabled."""
        if not self.dir_listing_enabled:
            if self.manifest == "false":
                raise InvalidInputError(
                    "dir: dir_listing_enabled=false and manifest=false are mutually exclusive; "
                    "remove one of them"
                )
            self.manifest = "true"
