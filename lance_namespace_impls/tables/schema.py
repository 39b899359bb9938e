"""Arrow schemas as the protocol's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_client.models import JsonArrowSchema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_json_schema"]


def to_json_schema(schema: pa.Schema) -> JsonArrowSchema:
    """Write an Arrow schema as the protocol has it."""
    from lance.schema import schema_to_json

    written: dict[str, Any] = schema_to_json(schema)
    if schema.metadata:
        written["metadata"] = {
            key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for key, value in schema.metadata.items()
        }
    return JsonArrowSchema.from_dict(written)
