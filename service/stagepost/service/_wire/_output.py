"""The root of all that goes out."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

RunStatusName: TypeAlias = Literal["running", "waiting", "completed", "failed", "cancelled", "dead"]
"""Where a run stands."""


class Output(BaseModel):
    """Root of all output."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)
