"""The errors of what a model sees of a run."""

from typing import Final

from ._model import ModelRejected
from ._root import AgentError

_LEFT: Final = (
    "all that may be left out is left out: ask for less, or ask a model that can read more; a shorter prompt, fewer "
    "tools or a lower ContextPolicy(result_limit=…) help, too; then resume the task, or follow it up"
)
_NEVER: Final = (
    "nothing may be left out, for the agent has ContextPolicy(compact=()): leave that out, ask for less, or ask a "
    "model that can read more; then resume the task, or follow it up"
)


class InvalidCompaction(AgentError, ValueError):
    """A policy for what a model sees has an invalid value.

    Attributes:
        what: The policy or the compaction.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why


class CompactionFailed(AgentError):
    """A compaction of an agent has raised an error, which is the cause, or has returned something invalid.

    Attributes:
        agent: Name of the agent.
        compaction: Class of the compaction.
        why: What has happened.
    """

    def __init__(self, agent: str, compaction: str, why: str) -> None:
        super().__init__(f"{compaction}.cut() of agent {agent!r} has failed: {why}")
        self.agent = agent
        self.compaction = compaction
        self.why = why


class ContextTooLong(ModelRejected):
    """The prompt is longer than the model can read.

    An agent then leaves out what its `ContextPolicy` allows, and asks again. It fails with this error once nothing more
    may be left out. The run can be resumed, and followed up.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
        status: HTTP status of the refusal, if there is one.
    """

    problem = "was asked with a longer prompt than it can read"
    advice = "leave out more, or ask a model that can read more"

    def __init__(
        self, model: str, detail: str, *, attempt: int = 1, status: int | None = None, advice: str | None = None
    ) -> None:
        if advice is not None:
            self.advice = advice
        super().__init__(model, detail, attempt=attempt, status=status)

    def final(self, *, may_compact: bool) -> "ContextTooLong":
        """The same for a run in which nothing more can be left out.

        Args:
            may_compact: Whether the agent's policy allows to leave out anything.
        """
        advice = _LEFT if may_compact else _NEVER
        return ContextTooLong(self.model, self.detail, attempt=self.attempt, status=self.status, advice=advice)
