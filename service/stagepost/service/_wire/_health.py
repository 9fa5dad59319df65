"""How the service is, as it is told over HTTP."""

from typing import Literal, TypeAlias

from ._output import Output

ConditionName: TypeAlias = Literal["ok", "degraded", "unavailable"]
"""How something is."""


class CheckShown(Output):
    """What one check has found."""

    status: ConditionName
    """How it is."""
    detail: str
    """A few words about it."""
    seconds: float
    """How long it took to find out."""


class HealthShown(Output):
    """How the service is."""

    status: ConditionName
    """The worst of what was found, and ``degraded`` at worst of what is not needed."""
    checks: dict[str, CheckShown] | None = None
    """What was found, by the names of the checks; only for a key with the scope ``read``."""
