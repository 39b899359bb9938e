"""Properties of a namespace behind a REST server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import option
from ..core.http import HttpConfig, check_uri
from ..core.identifiers import DEFAULT_DELIMITER

__all__ = ["RestConfig"]


@attrs.define(kw_only=True)
class RestConfig(HttpConfig):
    """Properties of a namespace behind a REST server."""

    impl: ClassVar[str] = "rest"
    not_taken: ClassVar[Mapping[str, str]] = {
        "root": "the server chooses the locations of its tables",
        "cache_mib": "the server opens the tables, and has its own cache",
        "skip_unreadable": "the server lists its tables; set it there",
        "confine_locations": "the server always confines locations",
        "allow_locations": "the server decides which locations it allows",
    }

    uri: str = option(doc="URL of the server, such as http://localhost:2333")
    delimiter: str = option(
        default=DEFAULT_DELIMITER, doc="separator between the levels of an identifier in a URL"
    )
    api_key: str | None = option(default=None, secret=True, doc="API key, sent as 'x-api-key'")

    def __attrs_post_init__(self) -> None:
        """Reject invalid values (code 13)."""
        super().__attrs_post_init__()
        self.uri = check_uri(self.impl, self.uri)
        self.check_header("api_key", self.api_key or "")
        if not self.delimiter:
            raise InvalidInputError("rest: property 'delimiter' must not be empty")
