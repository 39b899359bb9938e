"""A damaged dataset is a protocol error, even where pylance itself panics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InternalError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving


def test_a_panic_of_pylance_is_an_internal_error(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1] * 1000}))
        (manifest,) = (tmp_path / "t.lance" / "_versions").glob("*.manifest")
        manifest.write_bytes(manifest.read_bytes()[100:])
        with pytest.raises(InternalError, match="CountTableRows t: pylance failed"):
            namespace.count_table_rows({"id": ["t"]})
        with serving(namespace) as uri, connect("rest", {"uri": uri}) as remote:
            with pytest.raises(LanceNamespaceError) as refused:
                remote.count_table_rows({"id": ["t"]})
            assert refused.value.code == 18
        # The rest of the catalog is still there.
        assert list(namespace.iter_tables()) == ["t"]
