"""Properties of a directory namespace."""

from __future__ import annotations

from typing import ClassVar

import attrs

from ..core.config import Config, option
from .filesystem import directory_path

__all__ = ["DirectoryConfig"]


@attrs.define(kw_only=True)
class DirectoryConfig(Config):
    """Properties of a directory namespace."""

    impl: ClassVar[str] = "dir"

    root: str = option(
        name="path",
        also=("root",),
        converter=directory_path,
        doc="the directory: a URI, an absolute path, or a path relative to the current directory",
    )
