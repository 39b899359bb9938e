from __future__ import annotations

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.iceberg import IcebergNamespace

pytestmark = pytest.mark.xdist_group("iceberg")

AWKWARD = (
    "a.b", "a/b", "a b", "50%", "a%20b", "a%2Eb", "a$b", "a+b", "ünï", "日本", "e\u0301", "a\x1fb",
    "a%1Fb", "?", "a#b", "a&b=c", "a;b", "a\\b", ":", "a'b", 'a"b', ".", "..", "%2F", "null",
)  # fmt: skip


@pytest.fixture(params=["iceberg", "nessie"])
def catalog(request: pytest.FixtureRequest) -> IcebergNamespace:
    """Each real server, with the namespace ``db``."""
    found: IcebergNamespace = request.getfixturevalue(request.param)
    return found


def kinds_that_accept(catalog: IcebergNamespace, name: str) -> list[str]:
    """Use a name for a namespace and for tables; return the kinds of objects that accept it.

    Rejected creations must fail with code 13, and accepted names must round-trip.
    """
    taken: list[str] = []
    try:
        catalog.create_namespace({"id": ["wh", "db", name], "properties": {"is": name}})
        taken.append("namespace")
    except LanceNamespaceError as error:
        assert error.code == 13, error
    for parent in (["wh", "db"], *([["wh", "db", name]] if taken else ())):
        identifier = [*parent, f"t{name}"]
        try:
            declared = catalog.declare_table({"id": identifier, "properties": {"is": name}})
            taken.append("table")
        except LanceNamespaceError as error:
            assert error.code == 13, error
            assert catalog.list_tables({"id": parent}).tables == []
            continue
        found = catalog.describe_table({"id": identifier})
        assert (found.table, found.namespace) == (identifier[-1], parent)
        assert found.location == declared.location
        assert found.properties is not None
        assert found.properties["is"] == name
        assert catalog.list_tables({"id": parent}).tables == [identifier[-1]]
        catalog.deregister_table({"id": identifier})
        assert catalog.list_tables({"id": parent}).tables == []
    if "namespace" in taken:
        properties = catalog.describe_namespace({"id": ["wh", "db", name]}).properties
        assert properties is not None
        assert properties["is"] == name
        assert catalog.list_namespaces({"id": ["wh", "db"]}).namespaces == [name]
        catalog.drop_namespace({"id": ["wh", "db", name]})
    assert catalog.list_namespaces({"id": ["wh", "db"]}).namespaces == []
    return taken


# The ignored warnings are about names that Lance cannot use in paths.
@pytest.mark.filterwarnings("ignore:.* cannot be (read|written to)")
@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_round_trips_or_is_rejected(catalog: IcebergNamespace, name: str) -> None:
    taken = kinds_that_accept(catalog, name)
    if name in ("a b", "a$b", "a+b", "ünï", "日本", "e\u0301", "a&b=c", "null"):
        assert taken == ["namespace", "table", "table"]


@pytest.mark.parametrize("name", AWKWARD)
def test_a_missing_name_does_not_resolve_to_another(catalog: IcebergNamespace, name: str) -> None:
    """``a.b``, ``a%2Eb`` and ``a<unit separator>b`` must not resolve to ``b`` nested in ``a``."""
    catalog.create_namespace({"id": ["wh", "a"]})
    catalog.create_namespace({"id": ["wh", "a", "b"]})
    catalog.declare_table({"id": ["wh", "a", "b", "c"]})
    for identifier in (["wh", name], ["wh", "a", name]):
        for method in (catalog.describe_namespace, catalog.list_namespaces, catalog.list_tables):
            with pytest.raises(LanceNamespaceError) as caught:
                method({"id": identifier})
            assert caught.value.code == 1
        with pytest.raises(LanceNamespaceError) as caught:
            catalog.describe_table({"id": [*identifier, "c"]})
        assert caught.value.code == 4
        catalog.drop_namespace({"id": identifier})  # succeeds because there is nothing to drop
    assert catalog.list_tables({"id": ["wh", "a", "b"]}).tables == ["c"]
