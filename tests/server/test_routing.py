from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.server.http.routing import RouteTable, decode

TABLE = RouteTable()
# Operation in the general specification -> its current name.
GENERAL = {
    **{f"{verb}Namespace": f"{verb}Namespace" for verb in ("Create", "Alter", "Drop")},
    **{f"{verb}Table": f"{verb}Table" for verb in ("Create", "Register", "Alter", "Drop")},
    **{f"List{kind}": f"List{kind}" for kind in ("Operations", "Namespaces", "Tables")},
    **{f"{kind}Exists": f"{kind}Exists" for kind in ("Namespace", "Table")},
    **{f"Get{kind}": f"Describe{kind}" for kind in ("Namespace", "Table")},
}


@pytest.mark.requirement("general-036")
def test_the_names_of_the_general_specification_are_known():
    today = {name: row.name for row in OPERATIONS.values() for name in row.names}
    assert today.items() >= GENERAL.items()


@pytest.mark.requirement("general-099")
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_every_operation_has_two_routes(operation):
    path = operation.path.replace("{id}", "a%24b").replace("{index_name}", "i%2F1")
    found = TABLE.find(path)
    assert found is not None
    assert found.methods[operation.http_method] == (operation, False)
    assert found.segments == ("a%24b", "i%2F1")[: len(operation.path_fields)]
    for name in operation.names:
        by_name = TABLE.find(f"/{name}")
        assert by_name is not None
        assert dict(by_name.methods) == {"POST": (operation, True)}


def test_a_table_name_can_be_a_word_of_a_route():
    found = TABLE.find("/v1/table/version/describe")
    assert found is not None
    assert found.methods["POST"].operation.name == "DescribeTable"
    assert found.segments == ("version",)
    found = TABLE.find("/v1/table/version/batch-create")
    assert found is not None
    assert found.methods["POST"].operation.name == "BatchCreateTableVersions"


def test_an_empty_segment_is_kept():
    found = TABLE.find("/v1/namespace//list")
    assert found is not None
    assert found.segments == ("",)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1//",
        "/v1/table//",
        "/v1/table/t",
        "/v1/table/t/list/",
        "/describetable",
    ],
)
def test_other_paths_have_no_route(path):
    assert TABLE.find(path) is None


def test_a_get_route_accepts_head():
    found = TABLE.find("/v1/table")
    assert found is not None
    assert set(found.methods) == {"GET", "HEAD"}


def test_a_misspelled_route_has_suggestions():
    assert "POST /DescribeTable" in TABLE.nearest("POST", "/DescribeTabel")


def test_segments_are_utf8():
    assert decode("%C3%BC%2F%2E%24+") == "ü/.$+"
    with pytest.raises(InvalidInputError, match="UTF-8"):
        decode("%ff")
