"""Changes a namespace's properties atomically.

Source: the Iceberg REST catalog protocol, ``POST .../namespaces/{namespace}/properties``. A single
request may both set and remove properties, but Apache Polaris applies only the first half of such a
request and then returns 409.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lance_namespace_client.errors import InternalError, LanceNamespaceError

from ..core.errors import first_line
from ..core.json_api import HttpFailure, JsonApi

__all__ = ["change_properties"]


def change_properties(
    api: JsonApi,
    namespace: str,
    before: Mapping[str, str],
    changed: Mapping[str, str],
    removed: Sequence[str],
) -> None:
    """Set and remove properties of a namespace.

    A change that both sets and removes properties takes two requests. If the second one fails, the
    first one is rolled back.

    Args:
        api: the server.
        namespace: path of the namespace.
        before: the current properties.
        changed: properties to set.
        removed: names of properties to remove; missing ones are ignored.

    Raises:
        HttpFailure: the server rejects the change, and nothing is changed.
    """
    path = f"{namespace}/properties"
    present = [key for key in removed if key in before]
    if changed:
        api.submit(path, _body(changed, ()))
    if not present:
        return
    try:
        api.submit(path, _body({}, present))
    except (HttpFailure, LanceNamespaceError) as failure:
        touched = {**changed, **dict.fromkeys(present, "")}
        _roll_back(api, path, before, touched, failure)
        raise


def _roll_back(
    api: JsonApi,
    path: str,
    before: Mapping[str, str],
    touched: Mapping[str, str],
    failure: Exception,
) -> None:
    """Restore the properties; a request without a response may or may not have taken effect."""
    old = {key: before[key] for key in touched if key in before}
    new = [key for key in touched if key not in before]
    try:
        if old:
            api.submit(path, _body(old, ()))
        if new:
            api.submit(path, _body({}, new))
    except (HttpFailure, LanceNamespaceError) as error:
        raise InternalError(
            f"the change to {path} was applied only partially ({first_line(failure)}) and could "
            f"not be rolled back ({first_line(error)}); check the properties "
            f"{', '.join(sorted(touched))}"
        ) from error


def _body(updates: Mapping[str, str], removals: Sequence[str]) -> dict[str, Any]:
    return {"removals": list(removals), "updates": dict(updates)}
