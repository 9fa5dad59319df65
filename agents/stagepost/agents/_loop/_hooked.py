"""A model, with the hooks of the agent that asks it."""

from collections.abc import Awaitable
from functools import partial

from stagepost.workflows import StepContext

from .._definition._hooks import AnswerModel, ModelContext, is_model_hook, model_chain
from .._models._model import ModelRequest, ModelResponse
from ._member import Member
from ._telling import Telling
from ._traced import traced_answer


class HookedModel:
    """Asks an agent's model, with hooks around each question.

    Args:
        member: The agent.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._hooks = tuple(hook for hook in member.hooks if is_model_hook(hook))
        self._answer = member.model.answer

    def __call__(
        self, request: ModelRequest, number: int, context: StepContext, telling: Telling | None
    ) -> Awaitable[ModelResponse]:
        """The answer to a turn's question.

        Args:
            request: The question.
            number: Turns before this one, including those of runs that this one continues.
            context: The step that asks.
            telling: Tells those who listen to the run; None if nobody does. What the model says is told, with whatever
                request a hook asks it; what a hook says in its place is not.
        """
        answer = self._answer
        if telling is not None:
            telling.begin()
            answer = partial(telling.answer, answer)
        asked = self._asked(answer, request, number, context)
        tracing = context.tracing
        if tracing is None:
            return asked
        member = self._member
        return traced_answer(asked, tracing, request, number, context, member=member, model=member.model)

    def _asked(
        self, answer: AnswerModel, request: ModelRequest, number: int, context: StepContext
    ) -> Awaitable[ModelResponse]:
        if not self._hooks:
            return answer(request)
        member = self._member
        told = ModelContext(context.run_id, member.agent.name, member.path, number + 1, context.deps)
        return model_chain(self._hooks, answer, told)(request)
