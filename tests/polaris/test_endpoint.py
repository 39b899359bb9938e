"""The address of the server is sufficient, as in the settings of the official packages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from tests.servers.web import Answer, Asked, WebServer


class Server(WebServer):
    """A catalog with its API below a path, where it also issues tokens."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def respond(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix(self.path)
        if not asked.path.startswith(f"{self.path}/v1/"):
            failure = {"message": "HTTP 404 Not Found", "type": "NotFoundException", "code": 404}
            return Answer(status=404, body={"error": failure})
        if path == "/v1/oauth/tokens":
            return Answer(body={"access_token": "t0ken", "token_type": "bearer"})
        if asked.headers.get("authorization") != "Bearer t0ken":
            return Answer(status=401)
        if path == "/v1/config":
            return Answer(body={"overrides": {"prefix": "lake"}})
        return Answer(body={"namespaces": [["sales"]]})


@pytest.fixture(params=["/api/catalog", ""])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(request.param) as running:
        yield running


@pytest.mark.parametrize("login", [{"credential": "id:secret"}, {"auth_token": "t0ken"}])
@pytest.mark.parametrize("end", ["", "/"])
def test_an_endpoint_without_a_path(server: Server, login: dict[str, str], end: str) -> None:
    with connect("polaris", {"endpoint": server.uri + end, **login}) as polaris:
        for _ in range(2):
            assert list(polaris.iter_namespaces(["lake"])) == ["sales"]
    probes = [each for each in server.asked if each.path == "/api/catalog/v1/config"]
    # One probe finds the path; the other request is for the warehouse, if the API is at the path.
    assert len(probes) == (2 if server.path else 1)


def test_an_endpoint_with_a_path_is_used_as_given(server: Server) -> None:
    properties = {"endpoint": f"{server.uri}{server.path}/v1", "auth_token": "t0ken"}
    with connect("polaris", properties) as polaris:
        assert list(polaris.iter_namespaces(["lake"])) == ["sales"]
    if server.path:
        assert len(server.asked) == 2


def test_a_path_without_the_api_is_not_a_missing_namespace() -> None:
    with Server("/api/catalog") as server:
        for impl, path in (("polaris", "/other"), ("iceberg", "")):
            properties = {"endpoint": server.uri + path, "auth_token": "t0ken"}
            refused = pytest.raises(InvalidInputError, match=r"no Iceberg REST API .*'endpoint'")
            with connect(impl, properties) as catalog, refused:
                catalog.list_namespaces({"id": ["lake"]})
