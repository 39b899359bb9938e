"""The address of the API, if the property ``endpoint`` is that of the server alone."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

import httpx

from ..core.http import Retries, new_client, send
from .config import IcebergRestConfig

__all__ = ["ApiAddress"]


class ApiAddress:
    """Returns the address that the paths of the API follow; safe for threads.

    An endpoint without a path may be the server's: some catalogs serve the API below a path that
    their other clients add. One request finds out, with the first call; the answer is kept.

    Args:
        config: the endpoint, and the path to look at.
    """

    def __init__(self, config: IcebergRestConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._found: str | None = None
        if not config.api_path or urlsplit(config.endpoint).path:
            self._found = config.endpoint

    def __call__(self) -> str:
        """Return the address; the endpoint itself if nothing answers at the path."""
        if self._found is None:
            with self._lock:
                if self._found is None:
                    return self._look()
        return self._found

    def _look(self) -> str:
        below = f"{self._config.endpoint}{self._config.api_path}"
        try:
            # Whatever is answered but 404 is the API's: it may want a token, or a warehouse.
            status = self._status(f"{below}/v1/config")
        except httpx.RequestError:
            return self._config.endpoint  # the call itself reports the problem
        self._found = self._config.endpoint if status == httpx.codes.NOT_FOUND else below
        return self._found

    def _status(self, uri: str) -> int:
        with new_client(self._config, uri) as client:
            request = client.build_request("GET", uri)
            return send(client, request, Retries(self._config).repeatable).status_code
