"""The stages in which agents are asked: each contains its own failure, and the request goes on."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from pydantic_core import to_json

from stagepost._dataclasses import dataclass
from stagepost.agents import Agent, Usage
from stagepost.agents.quality import Consulted, consult
from stagepost.hub import describe_error, get_logger
from stagepost.workflows import StepContext

from ..channels import Edition, StyleGuide
from ._answers import Composed, Extracted, Plan
from ._conversation import lines_of
from ._settings import StageBudgets
from ._state import AssistantState

OutputT = TypeVar("OutputT")
Updates = dict[str, object]

_DEFAULT_GUIDE: Final = Edition(StyleGuide(), "1.0+defaults")
NO_DATA: Final = "data"
"""The problem of a request whose data could not be had."""
NO_ANSWER: Final = "answer"
"""The problem of a request that nobody could answer."""


@dataclass(frozen=True, slots=True)
class AssistantAgents:
    """Who answers. Each is an agent, or the name of one on the hub.

    Attributes:
        planner: Says how to answer; its output is `Plan`.
        data: Looks up what is needed; its output is `Extracted`.
        composer: Writes the answer; its output is `Composed`.
        single: Answers alone, for requests whose path is ``single``; its output is `Composed`. None if there are none.
    """

    planner: Agent[Plan] | str
    data: Agent[Extracted] | str
    composer: Agent[Composed] | str
    single: Agent[Composed] | str | None = None

    @property
    def own(self) -> tuple[Agent[Any], ...]:
        """Those that are no names."""
        given = (self.planner, self.data, self.composer, self.single)
        return tuple(agent for agent in given if isinstance(agent, Agent))


class Stages:
    """The steps of the pipeline that ask agents.

    Args:
        agents: Whom.
        budgets: How long each may take.
        guide: Gives the edition of the style guide.
        lines: How many lines of the conversation they see.
    """

    def __init__(
        self,
        agents: AssistantAgents,
        budgets: StageBudgets,
        guide: Callable[[], Edition[StyleGuide]] | None,
        lines: int,
    ) -> None:
        self._agents = agents
        self._budgets = budgets
        self._guide = guide
        self._lines = lines

    def left(self, state: AssistantState) -> float:
        """Seconds that are left for all further stages."""
        return self._budgets.total - state.seconds

    async def analyze(self, state: AssistantState, context: StepContext) -> Updates:
        """Read what was said before, take the style guide as it is now, and have it planned how to answer.

        If one agent answers alone, nothing is planned.
        """
        edition = self._edition()
        request = state.request
        history = await lines_of(context, request.tenant, request.conversation_id, self._lines)
        begun: Updates = {"history": history, "guide": edition.value, "style_version": edition.version}
        if request.path == "single":
            return begun
        state = state.model_copy(update=begun)

        async def ask(seconds: float) -> Consulted[Plan]:
            question = _asked(state, context)
            return await consult(self._agents.planner, question, context, seconds=seconds, expect=Plan)

        return {**begun, **await self._stage("analyze", self._budgets.analyze, state, context, ask, _planned)}

    def _edition(self) -> Edition[StyleGuide]:
        """The style guide as it is now; the defaults, if it cannot be had."""
        try:
            return _DEFAULT_GUIDE if self._guide is None else self._guide()
        except Exception as error:  # noqa: BLE001  # it is anybody's code, and the answer goes out
            get_logger("service").warning("style_guide_failed", error=describe_error(error))
            return _DEFAULT_GUIDE

    async def extract(self, state: AssistantState, context: StepContext) -> Updates:
        """Have the data looked up."""
        assert state.plan is not None  # noqa: S101  # it stands behind analyze
        wanted = state.plan.data_request or {}

        async def ask(seconds: float) -> Consulted[Extracted]:
            question = _asked(state, context, data_request=wanted)
            return await consult(self._agents.data, question, context, seconds=seconds, expect=Extracted)

        return await self._stage("data", self._budgets.data, state, context, ask, _found)

    async def compose(self, state: AssistantState, context: StepContext) -> Updates:
        """Have the answer written."""

        async def ask(seconds: float) -> Consulted[Composed]:
            style = state.guide.instructions()
            question = _asked(state, context, data=state.data, style=style)
            return await consult(self._agents.composer, question, context, seconds=seconds, expect=Composed)

        return await self._stage("compose", self._budgets.compose, state, context, ask, _written)

    async def answer_alone(self, state: AssistantState, context: StepContext) -> Updates:
        """Have one agent do all of it."""
        agent = self._agents.single
        assert agent is not None  # noqa: S101  # else there is no such node

        async def ask(seconds: float) -> Consulted[Composed]:
            question = _asked(state, context, style=state.guide.instructions())
            return await consult(agent, question, context, seconds=seconds, expect=Composed)

        return await self._stage("single", self._budgets.total, state, context, ask, _written)

    async def _stage(  # noqa: PLR0917  # a private helper
        self,
        name: str,
        limit: float,
        state: AssistantState,
        context: StepContext,
        ask: Callable[[float], Awaitable[Consulted[OutputT]]],
        read: Callable[[OutputT], Updates],
    ) -> Updates:
        """Ask an agent, and read its answer. Whatever goes wrong becomes the problem of the request."""
        begun, turns, usage = context.clock(), 1, Usage()
        try:
            done = await ask(min(limit, self.left(state)))
            turns, usage = done.turns, done.usage
            found = read(done.output)
        except Exception as error:  # noqa: BLE001  # whatever it is, the user gets an answer
            told = context.mask(describe_error(error))
            get_logger("service").warning("assistant_stage_failed", stage=name, run_id=context.run_id, error=told)
            found = {"problem": NO_DATA if name == "data" else NO_ANSWER, "reason": f"{name}: {told}"}
        return {
            **found,
            "spent": state.took(name, context.clock() - begun),
            "agent_calls": state.agent_calls + 1,
            "llm_calls": state.llm_calls + turns,
            "usage": state.usage + usage,
        }


def _planned(plan: Plan) -> Updates:
    return {"plan": plan}


def _found(extracted: Extracted) -> Updates:
    if extracted.success:
        return {"extracted": extracted}
    return {"extracted": extracted, "problem": NO_DATA, "reason": f"data: {extracted.error or 'no reason given'}"}


def _written(composed: Composed) -> Updates:
    if not composed.response.strip():
        return {"problem": NO_ANSWER, "reason": "compose: the answer is empty"}
    return {"response": composed.response}


def _asked(state: AssistantState, context: StepContext, **more: object) -> str:
    """What an agent is asked: JSON."""
    request, now = state.request, datetime.fromtimestamp(context.clock(), UTC)
    there = now.astimezone(ZoneInfo(request.user.time_zone))
    given: Mapping[str, object] = {
        "message": request.message,
        "channel": request.channel,
        "history": [{"role": line.role, "text": line.text} for line in state.history],
        "user": request.user.model_dump(mode="json"),
        "now": there.isoformat(timespec="minutes"),
        **more,
    }
    return to_json(given).decode()
