"""What a new model is made with: for providers and servers that no model of the package can ask.

Anything with ``answer`` is a `Model`. Derive from `ModelAdapter` and write `ModelAdapter.ask`, which asks once, and the
rest is as for the models of the package: retries, time limits, tokens, error classes, masked secrets, settings. Whoever
does not derive from it can use the parts. `stagepost.agents.testing.MODEL_CHECKS` tells whether it is a model.
"""

from ._models._adapter import Attempt, ModelAdapter
from ._models._masking import KeyMask
from ._models._statuses import retry_after, status_error
from ._models._tokens import Tokens
from ._retries import retried

__all__ = [
    "Attempt",
    "KeyMask",
    "ModelAdapter",
    "Tokens",
    "retried",
    "retry_after",
    "status_error",
]
