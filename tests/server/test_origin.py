"""By which names a server is reached."""

from __future__ import annotations

import pytest

from lance_namespace_client.errors import PermissionDeniedError
from lance_namespace_impls.server import Access
from lance_namespace_impls.server.http.requests import Headers


@pytest.mark.parametrize("given", ["lance.example.com", "Lance.Example.COM", "lance.example.com."])
@pytest.mark.parametrize(
    "host", ["lance.example.com", "LANCE.example.com:2333", "lance.example.com."]
)
def test_a_name_is_one_in_any_case_and_with_a_dot_at_its_end(given: str, host: str) -> None:
    access = Access(allow_hosts=[given])
    access.check(Headers([(b"host", host.encode())]))
    with pytest.raises(PermissionDeniedError, match="does not accept the host name"):
        access.check(Headers([(b"host", b"other.example.com")]))
