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
    """The plan as text for human readers; its format is not fixed."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ExplainTableQueryPlanResponse._wire = (
    Wire("plan", "plan", string, required=True),
    Wire("context", "context", mapping(string)),
)
