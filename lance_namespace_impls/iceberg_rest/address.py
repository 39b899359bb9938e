"""Detects the API's URL if the property ``endpoint`` names only the server."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

import httpx

from ..core.http import Retries, new_client, send
from .config import IcebergRestConfig

__all__ = ["ApiAddress"]


class ApiAddress:
    """Determines the base URL of the API; thread-safe.

    An endpoint without a path may name only the server, because some catalogs serve the API below a
    path that their own clients append. This is detected by one additional request before the first
    call, and the result is cached.

    Args:
        config: the endpoint, and the path to check.
    """

    def __init__(self, config: IcebergRestConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._base: str | None = None
        if not config.api_path or urlsplit(config.endpoint).path:
            self._base = config.endpoint

    def __call__(self) -> str:
        """Return the base URL, which is the endpoint itself if there is no API at the path."""
        if self._base is None:
            with self._lock:
                if self._base is None:
                    return self._detect()
        return self._base

    def _detect(self) -> str:
        below = f"{self._config.endpoint}{self._config.api_path}"
        try:
            # Any status except 404 comes from the API; the API may require a token or a warehouse.
            status = self._status(f"{below}/v1/config")
        except httpx.RequestError:
            return self._config.endpoint  # the call itself reports the problem
        self._base = self._config.endpoint if status == httpx.codes.NOT_FOUND else below
        return self._base

    def _status(self, uri: str) -> int:
        with new_client(self._config, uri) as client:
            request = client.build_request("GET", uri)
            return send(client, request, Retries(self._config).repeatable).status_code
