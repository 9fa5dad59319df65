"""A model, with the hooks of the agent that asks it."""

from collections.abc import Awaitable

from stagepost.workflows import StepContext

from .._definition._hooks import ModelContext, ModelHook, model_chain
from .._models._model import ModelRequest, ModelResponse
from ._member import Member
from ._traced import traced_answer


class HookedModel:
    """Asks an agent's model, with hooks around each question.

    Args:
        member: The agent.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._hooks = tuple(hook for hook in member.hooks if isinstance(hook, ModelHook))
        self._answer = member.model.answer

    def __call__(self, request: ModelRequest, number: int, context: StepContext) -> Awaitable[ModelResponse]:
        """The answer to a turn's question.

        Args:
            request: The question.
            number: Turns before this one, including those of runs that this one continues.
            context: The step that asks.
        """
        asked = self._asked(request, number, context)
        tracing = context.tracing
        if tracing is None:
            return asked
        member = self._member
        return traced_answer(asked, tracing, request, number, context, member=member, model=member.model)

    def _asked(self, request: ModelRequest, number: int, context: StepContext) -> Awaitable[ModelResponse]:
        if not self._hooks:
            return self._answer(request)
        member = self._member
        told = ModelContext(context.run_id, member.agent.name, member.path, number + 1, context.deps)
        return model_chain(self._hooks, self._answer, told)(request)
