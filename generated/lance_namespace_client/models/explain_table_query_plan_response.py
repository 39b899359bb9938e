# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ExplainTableQueryPlanResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["ExplainTableQueryPlanResponse"]


@define(kw_only=True)
class ExplainTableQueryPlanResponse(Model):
    """The plan of a query; over HTTP the body is the bare string."""

    plan: str
    """The plan as text for people to read; its form is not fixed."""

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


ExplainTableQueryPlanResponse._wire = (
    Wire("plan", "plan", string, required=True),
    Wire("context", "context", mapping(string)),
)
