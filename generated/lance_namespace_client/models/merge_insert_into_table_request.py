# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `MergeInsertIntoTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import (
    Model,
    Wire,
    array,
    boolean,
    mapping,
    model,
    one_or_many,
    string,
    text,
)

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["MergeInsertIntoTableRequest"]


@define(kw_only=True)
class MergeInsertIntoTableRequest(Model):
    """Request to merge rows into a table by a key column: to update, insert and
    delete in one commit. Over HTTP the source rows are the body, as an Arrow
    IPC stream, and these fields are path or query parameters; a request that
    chooses no action results in InvalidInput (13).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    on: list[str] | None = None
    """Names of the key columns by which source rows and table rows are matched;
    required for every merge. A single name may be sent without an array. A key
    that is null, or contains a null, never matches; a key that occurs twice in
    the source results in InvalidInput (13). A column that is not in the table
    results in TableColumnNotFound (12).
    """

    when_matched_update_all: bool = False
    """Whether a table row that has a match takes all column values of its source
    row; false by default.
    """

    when_matched_update_all_filt: str | None = None
    """SQL condition that a matched pair must meet to be updated, with columns
    written as `source.x` and `target.x`; every match by default. Unused without
    `when_matched_update_all`.
    """

    when_not_matched_insert_all: bool = False
    """Whether source rows without a match in the table are inserted; false by
    default.
    """

    when_not_matched_by_source_delete: bool = False
    """Whether table rows without a match in the source are deleted; false by
    default.
    """

    when_not_matched_by_source_delete_filt: str | None = None
    """SQL condition on the table's columns that limits which unmatched rows are
    deleted; all of them by default. Unused without
    `when_not_matched_by_source_delete`.
    """

    timeout: str | None = None
    """Maximum time the merge may take, as a number with a unit, such as `30s` or
    `5m`; the server's own limit by default. An invalid value results in
    InvalidInput (13).
    """

    use_index: bool = False
    """Whether a scalar index on the key column may be used to find the matches;
    false by default.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


MergeInsertIntoTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("on", "on", one_or_many(text(min_length=1))),
    Wire("when_matched_update_all", "when_matched_update_all", boolean, default=False),
    Wire("when_matched_update_all_filt", "when_matched_update_all_filt", string),
    Wire(
        "when_not_matched_insert_all",
        "when_not_matched_insert_all",
        boolean,
        default=False,
    ),
    Wire(
        "when_not_matched_by_source_delete",
        "when_not_matched_by_source_delete",
        boolean,
        default=False,
    ),
    Wire(
        "when_not_matched_by_source_delete_filt",
        "when_not_matched_by_source_delete_filt",
        string,
    ),
    Wire("timeout", "timeout", string),
    Wire("use_index", "use_index", boolean, default=False),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
