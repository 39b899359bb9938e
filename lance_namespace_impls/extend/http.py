"""Building blocks for catalogs with an HTTP API: properties, JSON client, storage options."""

from __future__ import annotations

from ..catalog.namespace import Namespace
from ..core.config import prefix_option, timeout_option
from ..core.confinement import is_local
from ..core.http import HttpConfig
from ..core.json_api import HttpFailure, JsonApi
from ..core.location import absolute, fresh_location
from ..core.options import is_secret_option
from ..core.storage import TableStorage

__all__ = [
    "HttpConfig",
    "HttpFailure",
    "JsonApi",
    "Namespace",
    "TableStorage",
    "absolute",
    "fresh_location",
    "is_local",
    "is_secret_option",
    "prefix_option",
    "timeout_option",
]
