"""The system prompt of an agent whose answers are programs."""

from collections.abc import Sequence
from typing import Final

from stagepost.programs import FeedbackFacts, Language
from stagepost.workflows import StepContext

from .._delegation._state import RunState
from .._models._messages import SystemMessage, UserMessage
from ._member import Member
from ._offer import kept
from ._program_facts import PromptMaker, turn_number
from ._traced import model_name

_NONE: Final[Sequence[UserMessage]] = ()


class ProgramPrompting:
    """Makes the prompt of each turn.

    Args:
        member: The agent.
        language: In which its programs are written.
    """

    def __init__(self, member: Member, language: Language) -> None:
        self._member = member
        self._language = language
        self._budget = member.agent.budget
        self._maker = PromptMaker(member.agent, language)

    def system(self, mission: str, state: RunState, context: StepContext, *, is_last: bool) -> SystemMessage:
        """The prompt of the next turn.

        Args:
            mission: The agent's own prompt.
            state: The run's state.
            context: The step that asks; it has kept the tools of the turn.
            is_last: Whether no turn can follow.
        """
        toolbox, turn = kept(context), turn_number(self._budget, state.spent.turns + 1, is_last=is_last)
        tools = {} if toolbox is None else toolbox.tools
        text = self._maker.prompt(state, mission, turn, tools, model=model_name(self._member.model))
        return SystemMessage(text=text)

    def notice(self, state: RunState, *, is_last: bool) -> Sequence[UserMessage]:
        """What is said beside the transcript: that a turn is the last one, if only the shared budget says so."""
        number = state.spent.turns + 1
        turn = turn_number(self._budget, number, is_last=is_last)
        if not is_last or turn == turn_number(self._budget, number) or turn.is_single:
            return _NONE
        return [UserMessage(text=self._language.feedback(FeedbackFacts(turn=turn)))]
