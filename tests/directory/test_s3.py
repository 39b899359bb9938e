"""A directory in an object store (moto's S3): pyarrow and pylance use the same locations."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from lance_namespace_client.errors import LanceNamespaceError, UnsupportedError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.location import default_location
from tests.behaviour.machine import explore
from tests.behaviour.subject import Identifier, Subject, rows_in_storage
from tests.behaviour.subjects import directory_subject, manifest_subject
from tests.servers.s3 import GuardedS3
from tests.sql.subject import sql_subject

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": [1, 2, 3]})
RUNS = 3


def options(s3: GuardedS3) -> dict[str, str]:
    return s3.options() | {"aws_secret_access_key": "not-shown"}


def properties(s3: GuardedS3, folder: str) -> dict[str, str]:
    storage = {f"storage.{key}": value for key, value in options(s3).items()}
    return {"path": f"s3://{s3.bucket}/{folder}", **storage}


@pytest.fixture
def namespace(s3: GuardedS3) -> Iterator[Any]:
    with connect("dir", properties(s3, "some prefix")) as found:
        yield found


@pytest.mark.requirement("general-077", "general-085")
@pytest.mark.parametrize("name", ["t", "a b", "a%20b%2Fc 50%", "a+b&c=d:e", "a#b", "a?b", "ü日本"])
def test_a_name_has_the_same_location_for_pyarrow_and_pylance(
    namespace: Namespace, s3: GuardedS3, name: str
) -> None:
    created = namespace.create_table({"id": [name], "properties": {"k": "v"}}, ROWS)
    assert list(namespace.iter_tables(include_declared=False)) == [name]
    assert namespace.open_table([name]).to_table() == ROWS
    assert all(
        key.startswith(f"some prefix/{name}.lance/") for key in s3.objects() - {"some prefix/"}
    )
    assert namespace.describe_table({"id": [name]}).location == created.location
    namespace.deregister_table({"id": [name]})
    namespace.register_table({"id": [name], "location": created.location})
    assert namespace.count_table_rows({"id": [name]}).count == 3
    namespace.drop_table({"id": [name]})
    assert not [key for key in s3.objects() if name in key]


def test_storage_options_are_returned_with_the_table(namespace: Namespace, s3: GuardedS3) -> None:
    import lance

    namespace.create_table({"id": ["t"]}, ROWS)
    found = namespace.describe_table({"id": ["t"], "with_table_uri": True})
    assert found.storage_options == options(s3)
    assert found.table_uri == found.location == f"s3://{s3.bucket}/some prefix/t.lance"
    assert lance.dataset(found.location, storage_options=found.storage_options).count_rows() == 3


def test_it_pickles_with_its_options_and_shows_no_secret(namespace: Namespace) -> None:
    namespace.declare_table({"id": ["t"]})
    assert "not-shown" not in repr(namespace)
    with pickle.loads(pickle.dumps(namespace)) as again:
        assert list(again.iter_tables()) == ["t"]


def test_a_plain_directory_is_a_table(namespace: Namespace, s3: GuardedS3) -> None:
    s3.client().put_object(Bucket=s3.bucket, Key="some prefix/old/data/x.lance", Body=b"")
    s3.client().put_object(Bucket=s3.bucket, Key="some prefix/file.txt", Body=b"")
    assert list(namespace.iter_tables()) == ["old"]
    namespace.create_table({"id": ["old"]}, ROWS)
    assert namespace.describe_table({"id": ["old"]}).location == f"s3://{s3.bucket}/some prefix/old"


def test_renaming_is_not_supported(namespace: Namespace) -> None:
    namespace.create_table({"id": ["t"]}, ROWS)
    with pytest.raises(UnsupportedError, match="cannot rename") as caught:
        namespace.rename_table({"id": ["t"], "new_table_name": "u"})
    assert caught.value.code == 0
    assert "RenameTable" not in namespace.list_operations({}).operations
    assert list(namespace.iter_tables()) == ["t"]


def test_an_unavailable_store_is_code_17(s3: GuardedS3) -> None:
    away = {"storage.aws_endpoint": "http://127.0.0.1:9"}
    with connect("dir", {**properties(s3, "x"), **away}) as namespace:
        for call in (
            lambda: namespace.list_tables({}),
            lambda: namespace.create_table({"id": ["t"]}, ROWS),
        ):
            with pytest.raises(LanceNamespaceError, match="127") as caught:
                call()
            assert caught.value.code == 17
            assert "not-shown" not in str(caught.value)


def test_an_incomplete_key_pair_is_rejected(s3: GuardedS3) -> None:
    half = properties(s3, "x")
    del half["storage.aws_secret_access_key"]
    with pytest.raises(LanceNamespaceError, match="secret_access_key") as caught:
        connect("dir", half)
    assert caught.value.code == 13


def _in_uri(name: str) -> str:
    return name.replace("%", "%25").replace("#", "%23").replace("?", "%3F")


def test_it_behaves_like_its_model(s3: GuardedS3, tmp_path: Path) -> None:
    root = f"s3://{s3.bucket}/model"

    def reset() -> dict[Identifier, dict[str, str]]:
        s3.clear()
        return {}

    local = directory_subject(tmp_path)
    with connect("dir", properties(s3, "model")) as namespace:
        capabilities = namespace.capabilities
    explore(
        Subject(
            name="s3",
            connect=lambda: connect("dir", properties(s3, "model")),
            reset=reset,
            capabilities=capabilities,
            location=lambda identifier, properties: f"{root}/{_in_uri(identifier[-1])}.lance",
            names=local.names,
            refused_names=local.refused_names,
            storage_options=options(s3),
            rows_in_storage=lambda location: rows_in_storage(location, options(s3)),
        ),
        RUNS,
    )


def test_a_database_with_managed_tables_behaves_like_its_model(
    s3: GuardedS3, tmp_path: Path
) -> None:
    root = f"s3://{s3.bucket}/managed"
    place = {f"storage.{key}": value for key, value in options(s3).items()}

    def connected() -> Namespace:
        return connect("sql", {**catalog, "root": root, **place})

    subject = sql_subject(str(tmp_path / "catalog.db"), tmp_path, managed=True)
    catalog = {"uri": str(tmp_path / "catalog.db"), "managed": "true"}

    def reset() -> Any:
        s3.clear()
        return subject.reset()

    explore(
        evolve(
            subject,
            name="sql with tables in s3",
            connect=connected,
            reset=reset,
            location=lambda identifier, properties: default_location(root, identifier),
            elsewhere=lambda name: f"{root}/elsewhere/{name}",
            storage_options=options(s3),
            rows_in_storage=lambda location: rows_in_storage(location, options(s3)),
        ),
        RUNS,
    )


@pytest.mark.parametrize("managed", [False, True], ids=["storage", "managed"])
def test_a_manifest_behaves_like_its_model(s3: GuardedS3, tmp_path: Path, managed: bool) -> None:
    root = f"s3://{s3.bucket}/manifest"

    def reset() -> dict[Identifier, dict[str, str]]:
        s3.clear()
        return {}

    alone = {
        "manifest": "true",
        "dir_listing_enabled": "false",
        "table_version_tracking_enabled": str(managed).lower(),
    }
    local = manifest_subject(tmp_path)
    explore(
        evolve(
            local,
            name="s3 with a manifest",
            managed=managed,
            connect=lambda: connect("dir", {**properties(s3, "manifest"), **alone}),
            reset=reset,
            elsewhere=lambda name: f"{root}/elsewhere/{name}",
            storage_options=options(s3),
            rows_in_storage=lambda location: rows_in_storage(location, options(s3)),
        ),
        RUNS,
    )
