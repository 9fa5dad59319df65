"""The step in which a model writes the summary of what the agent's model no longer sees."""

from dataclasses import replace
from typing import Final

from stagepost.hub import get_logger
from stagepost.workflows import State, StepContext

from .._context._rendering import summary_request
from .._context._view import View
from .._context._window import SummaryBy, summary_by
from .._definition._hooks import ModelContext, is_model_hook, model_chain
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._around import model_window
from .._models._messages import encodable
from .._models._model import Model, ModelRequest, ModelResponse
from ..errors import ContextTooLong
from ._accounting import Accounting
from ._handed import Transcript
from ._member import Member
from ._traced import traced_answer

_OF_WINDOW: Final = 0.5  # of what the writer can read
_CHARACTERS: Final = 3  # that a token has at least, roughly
_AT_MOST: Final = 4  # tries
_LONGEST: Final = 20_000  # characters of a summary
_FIRST: Final = 100_000  # characters of a conversation, once it was too long for a writer of whom nothing is known
_USUAL: Final = SummaryBy()


class Summarizing:
    """Has summaries written for an agent's runs.

    Args:
        member: The agent.
        accounting: Keeps its runs within budgets.
        transcript: What was said in them, as the agent sees it.
    """

    def __init__(self, member: Member, accounting: Accounting, transcript: Transcript) -> None:
        self._member = member
        self._accounting = accounting
        self._transcript = transcript
        self._hooks = tuple(hook for hook in member.hooks if is_model_hook(hook))

    async def take(self, given: State, context: StepContext) -> Changes:
        """The changes to a run's state: the view with the summary, and what it has cost.

        Raises:
            BudgetExceeded: The model may not be asked any more.
        """
        state = RunState(given)
        view, due = state.view, state.view.due
        if due is None:
            return {}
        account = self._accounting.open(state, context)
        response = await account.during(self._written(state, context))
        after = replace(view.without(due.places, due.answers), due=None)
        if response is None:
            return {"view": after, "read": 0}
        account.charge_beside(response.usage)
        text = encodable(context.mask(response.text)).strip()[:_LONGEST]
        return {"view": replace(after, summary=text or view.summary), "spent": account.spent, "read": 0}

    async def _written(self, state: RunState, context: StepContext) -> ModelResponse | None:
        """The model's answer; None if it takes no conversation of any length."""
        model, by = self._writer(state.view)
        window = model_window(model)
        room = None if window is None else int(window * _OF_WINDOW) * _CHARACTERS
        for _ in range(_AT_MOST):
            request = summary_request(self._transcript.of(state), state.view, by, room)
            try:
                return await self._ask(model, request, state.turn, context)
            except ContextTooLong as error:
                room = min(len(request.messages[-1].text) // 2, _FIRST if room is None else room // 2)
                get_logger("agents").warning("summary_too_long", agent=self._member.agent.name, error=error.detail)
        return None

    def _writer(self, view: View) -> tuple[Model, SummaryBy]:
        """Who writes, and how."""
        number = 0 if view.due is None else view.due.by
        compact, writers = self._member.context.compact, self._member.writers
        if number >= len(compact):  # the policy is not that of the process that wanted the summary
            return self._member.model, _USUAL
        by = summary_by(compact[number])
        if by.model is not None:
            return writers[number], by
        own = replace(
            self._member.agent.settings, max_tokens=None, stop=None, tool_choice=None, parallel_tool_calls=None
        )
        settings = by.settings.over(own)
        return self._member.model, replace(by, settings=settings)

    async def _ask(self, model: Model, request: ModelRequest, turn: int, context: StepContext) -> ModelResponse:
        """Ask a model, with the agent's hooks around it; nobody gets the pieces of a summary."""

        async def answer(asked: ModelRequest) -> ModelResponse:
            return await model.answer(replace(asked, on_token=None))

        member = self._member
        told = ModelContext(context.run_id, member.agent.name, member.path, turn + 1, context.deps, is_summary=True)
        asked = model_chain(self._hooks, answer, told)(request)
        if context.tracing is None:
            return await asked
        return await traced_answer(
            asked, context.tracing, request, turn, context, member=member, model=model, what="summary"
        )
