"""The error that the caller of an agent gets, found in what the patterns of its workflow have made of it."""

from stagepost.workflows import PatternError

from ..errors import AgentError, AgentFailed


def failure_of(agent: str, error: PatternError) -> AgentError:
    """What went wrong in the step itself, if it is an error of this layer, or one that names it."""
    own: BaseException = error
    while isinstance(own, PatternError) and own.__cause__ is not None:
        own = own.__cause__
    if isinstance(own, AgentError):
        return own
    failed = AgentFailed(agent, own)
    failed.__cause__ = error
    return failed
