"""Why a run of an agent has failed, as people and models are told."""

import re
from typing import Final

_PLACE: Final = re.compile(r"^(?:GraphError: )?graph '[^']*' failed at node '[^']*': ")


def own_error(error: str) -> str:
    """The error of a run without the place in the agent's graph, of which nobody who asks the agent knows."""
    return _PLACE.sub("", error)
