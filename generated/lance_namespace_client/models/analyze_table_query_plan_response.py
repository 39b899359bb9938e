# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AnalyzeTableQueryPlanResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["AnalyzeTableQueryPlanResponse"]


@define(kw_only=True)
class AnalyzeTableQueryPlanResponse(Model):
    """The measured plan of a query; over HTTP the body is the bare string."""

    analysis: str
    """The plan with its measurements as text for human readers; its format is not
    fixed.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AnalyzeTableQueryPlanResponse._wire = (
    Wire("analysis", "analysis", string, required=True),
    Wire("context", "context", mapping(string)),
)
