"""A rename to a name that could not be written on a route afterwards."""

from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from tests.servers.web import Answer, Asked, WebServer


def content(asked: Asked) -> Answer:
    return Answer(body={})


@pytest.mark.parametrize(
    "new", [{"new_table_name": "a$b"}, {"new_table_name": "u", "new_namespace_id": ["a$b"]}]
)
def test_it_is_refused_before_it_is_sent(new: dict[str, object]) -> None:
    with WebServer(content) as server, connect("rest", {"uri": server.uri}) as namespace:
        with pytest.raises(InvalidInputError, match="delimiter"):
            namespace.rename_table({"id": ["t"], **new})
        assert server.asked == []
        namespace.rename_table({"id": ["t"], "new_table_name": "u"})
        assert len(server.asked) == 1
