"""Asking the model: the request of a turn, and its answer as stored in the transcript."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import BaseModel

from stagepost.workflows import StepContext

from .._definition._definition import provider_tools_of
from .._definition._prompting import PromptContext
from .._definition._request import Brief
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._around import check_parts, check_provider_tools
from .._models._filled_prompt import FilledPrompt
from .._models._masking import without_secret_content
from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, UserMessage, asked_parts
from .._models._model import ModelRequest, ModelResponse, ToolSchema
from .._tools._answer_reader import AnswerReader
from ..errors import ContextTooLong
from ._bytes import with_bytes
from ._call_ids import distinct
from ._handed import Transcript
from ._hooked import HookedModel
from ._keeping import without_secrets
from ._member import Member
from ._offer import Offer, keep
from ._session import instructed
from ._settings import settings_of
from ._telling import Telling
from ._traced import model_name
from ._viewing import Sight, Viewing

if TYPE_CHECKING:
    from ._program_prompting import ProgramPrompting

_LAST_TURN: Final = UserMessage(text="This is your last turn and there are no more tools: give your final answer now.")


class Asked(NamedTuple):
    """What has come of a turn's question.

    Attributes:
        response: The answer; None if a summary has to be written first.
        changes: What of the state changes with what the model sees.
    """

    response: ModelResponse | None
    changes: Changes


class Asking:
    """Asks the model of an agent.

    Args:
        member: The agent.
        brief: Makes its prompt.
        reader: Knows how the model is to end its work.
        offer: Finds what it may call.
        transcript: Shows it what was said.
        programs: Makes the prompt of an agent whose answers are programs; None for others.
    """

    def __init__(
        self,
        member: Member,
        brief: Brief,
        reader: AnswerReader,
        offer: Offer,
        transcript: Transcript,
        *,
        programs: "ProgramPrompting | None" = None,
    ) -> None:
        self._member = member
        self.agent = member.agent.name
        self._brief = brief
        self._reader = reader
        self._offer = offer
        self._transcript = transcript
        self._programs = programs
        self._viewing = Viewing(member)
        self._answer = HookedModel(member)
        self._provider_tools = provider_tools_of(member.agent)
        self._fixed = None if brief.fixed is None else self._instructed(brief.fixed.text)

    async def ask(self, state: RunState, context: StepContext, news: Sequence[UserMessage], *, is_last: bool) -> Asked:
        """What the model answers in one turn, without the secrets that the runner knows.

        Args:
            state: The run's state.
            context: The step.
            news: What was said to the run since the last turn.
            is_last: Whether there will be no turn after this one: there is nothing to call then.

        Raises:
            ContextTooLong: The prompt is too long, and nothing more may be left out of it.
        """
        system, prompt = (self._fixed, None) if self._fixed else await self._system(state, context)
        tools: Sequence[ToolSchema] = self._reader.tools
        if not is_last:
            toolbox = self._offer.fixed or await self._offer.now(state, news, context)
            tools = keep(toolbox, context).schemas
        notice: Sequence[UserMessage] = [_LAST_TURN] if is_last else ()
        if self._programs is not None:
            system, tools = self._programs.system(system.text, state, context, is_last=is_last), ()
            notice = self._programs.notice(state, is_last=is_last)
        if self._member.agent.servers:
            system = instructed(system, context.resources, self._member.name)
        sight = self._viewing.look(state, self._transcript.heard(state), context, news)
        if sight.needs_count:
            await sight.make_room(self._viewing.beside(system, tools))
        settings = settings_of(self._member, state, context, tools)
        if self._provider_tools:
            check_provider_tools(self._member.model, ModelRequest((), provider_tools=self._provider_tools))
        telling = Telling(self._member, state.turn, context) if context.is_heard else None
        while sight.shown.view.due is None:
            said = await self._messages(sight, state, context)
            messages = (system, *said, *news, *notice)
            reads = sight.shown.reads and not is_last and self._programs is None
            told = self._viewing.with_reading(tools) if reads else tools
            request = ModelRequest(
                messages,
                told,
                self._reader.schema,
                settings=settings,
                provider_tools=self._provider_tools,
                left_out=sight.shown.view.answers,
                prompt=prompt,
            )
            try:
                response = await self._answer(request, state.turn, context, telling)
            except ContextTooLong as error:
                sight.after_refusal(error)
            else:
                sight.answered(response.usage)
                return Asked(_clean(response, context), sight.changes)
        return Asked(None, {"view": sight.shown.view, "calls": 0})

    async def _messages(self, sight: Sight, state: RunState, context: StepContext) -> Sequence[ChatMessage]:
        """What the model sees of the transcript, with the bytes of parts."""
        if not state.has_parts:
            return sight.shown.messages
        said = await with_bytes(sight.shown.messages, context)
        check_parts(self._member.model, asked_parts(said))
        return said

    async def _system(self, state: RunState, context: StepContext) -> tuple[SystemMessage, FilledPrompt | None]:
        member = self._member
        asked: PromptContext[BaseModel] = PromptContext(
            member.agent.name, context.run_id, state.fields, context.deps, model_name(member.model)
        )
        made = await self._brief.system(asked)
        if isinstance(made, str):
            return self._instructed(made), None
        return self._instructed(made.text), made

    def _instructed(self, prompt: str) -> SystemMessage:
        """The prompt, with what it has to say of the answer."""
        return SystemMessage(text="\n\n".join(filter(None, (prompt, self._reader.instructions))))


def _clean(response: ModelResponse, context: StepContext) -> ModelResponse:
    """An answer without the secrets that the runner knows.

    What belongs to the provider can only be kept as it came; where a secret is in it, it is left out.
    """
    mask = context.mask
    if not mask:
        return response
    response = without_secrets(response, mask)
    if not response.thinking and not response.provider:
        return response
    own = without_secret_content(response.provider, mask)
    return replace(response, thinking=mask(response.thinking), provider=own)


def as_message(response: ModelResponse, turn: int) -> AssistantMessage:
    """An answer as the transcript keeps it."""
    calls = distinct(response.calls, turn)
    if not response.thinking and not response.provider:
        return AssistantMessage(text=response.text, calls=calls)
    provider = tuple(response.provider)
    return AssistantMessage(text=response.text, calls=calls, thinking=response.thinking, provider=provider)
