"""The loop of an agent as a workflow: ask the model, call the tools that it wants, ask again, until it has answered.

Each answer of the model and each tool's result is a commit of its own, and writes what is new and nothing else. One
call is a step; several at once are a fan-out, which takes two commits more, before the first and behind the last. The
state holds everything that the loop knows:

=============  ==========================================================================================
messages       what was said: a list that only grows
fields         the request's fields, if it is no plain text
begun          the call that counts as begun since the last answer, if it is the only one and may: its number
calls          how much of what the last answer wants to be called may go on at once
at             when its model has answered last, in seconds since 1970, if it may speak to other agents
spent          what the run has used by itself
output         the final answer; the loop has ended once it is there
failure        why the model has given up, if it has
turn           turns before this run, if it goes on where another one has ended
root           the run at the root, if there is one above this run
conversations  those with other agents, by id, if there are any
nested         what the runs below this one have used, by their keys, if there are any
heard          number of the last message that was sent to the run while it was under way, if there was one
said           which message of a conversation with somebody outside this run answers, if it does; see `_tasks`
settings       how its model is to answer, if whoever started the run has said so
ended          there is nothing to do: the run only says that such a conversation has ended
=============  ==========================================================================================
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NoReturn

from pydantic import BaseModel

from stagepost.checkpoint import TypedCodec
from stagepost.workflows import END, Graph, ListCodec, Pattern, State, StepContext, key_exists, step

from .._definition._budget import Spent
from .._definition._definition import reserved, sub_agents_of
from .._definition._prompting import PromptContext
from .._definition._request import Brief
from .._delegation._delegation import Delegation
from .._delegation._messaging import Lane, lanes, message_tool
from .._delegation._result import AgentResult
from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, UserMessage
from .._models._model import Model, ModelRequest
from .._tools._answer import output_schema
from .._tools._closing import Closing
from .._tools._toolbox import TOOLBOX, Toolbox
from ..errors import AgentGaveUp
from ._beginning import NOT_BEGUN
from ._call_ids import distinct
from ._calling import Due, ToolCalling, pending_calls
from ._counter import COUNTER, Allowance, Counter, Shares
from ._hooked import HookedModel
from ._keeping import without_secrets
from ._member import Member, Team
from ._news import MESSAGE, NO_NEWS, news_of
from ._opening import ENDED, asked, asked_again, over
from ._session import Session
from ._settings import CODEC, SETTINGS, settings_of

CALLING: Final = ("tool", "tools")  # the places where tools are called

_LAST_TURN: Final = "This is your last turn and there are no more tools: give your final answer now."
_MESSAGES: Final = ListCodec(list[ChatMessage], immutable=True, verify=False)  # texts only, and frozen
_SPENT: Final = TypedCodec(Spent, immutable=True, verify=False)  # numbers of our own


class AgentLoop(Graph):
    """The workflow that does an agent's work.

    Args:
        member: The agent in its place.
        delegation: Asks the agents below it.
        team: Opens what it works with, and knows what of that is secret.

    Attributes:
        agent: The agent.
        below: The loops of all agents below it, if nobody is above it.
    """

    def __init__(
        self,
        member: Member,
        delegation: Delegation,
        team: Team,
    ) -> None:
        agent = member.agent
        types = {"messages": _MESSAGES, "spent": _SPENT, "fields": agent.input, "output": agent.output, SETTINGS: CODEC}
        super().__init__(agent.name, max_steps=None, types=types, lifespan=team.lifespan)  # the budget sets the limits
        self.name = member.name
        self.agent = agent
        self.below: Sequence[AgentLoop] = ()
        self._member = member
        self._team = team
        self._brief = Brief(agent.name, agent.prompt, agent.input)
        self._ask = HookedModel(member)
        self._closing = Closing(agent.output)
        self._output_schema = output_schema(agent.output)
        agents = sub_agents_of(agent)
        self._messages = message_tool(agents) if agents else None
        self._own = (*agent.tools, *([] if self._messages is None else [self._messages]))
        self._toolbox = Toolbox.of(self._own, self._closing.tools)
        root = None if member.is_alone else (*member.root, member.depth)
        self._allowance = Allowance(agent.name, agent.budget, root)
        self._calling = ToolCalling(member, self._closing, delegation, self._due, self._found)
        self._draw(self._calling)

    @property
    def companions(self) -> Sequence[Pattern]:
        return self.below

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        return self._team.hidden

    @property
    def depth(self) -> int:
        """How many agents stand above it."""
        return self._member.depth

    @property
    def model(self) -> Model:
        """What it asks."""
        return self._member.model

    def accept(self, payload: object) -> Mapping[str, object]:
        """What a run starts with when the agent is asked with this payload.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        return asked(self._brief, payload)

    def begin(self, payload: object, root: str) -> Mapping[str, object]:
        """The same for a run below another one.

        Args:
            payload: What it is asked.
            root: The run at the root.
        """
        return {**self.accept(payload), "root": root}

    def go_on(self, before: State, payload: object, root: str | None = None) -> Mapping[str, object]:
        """What a run starts with that goes on where another one has ended.

        Args:
            before: The other's state.
            payload: What the agent is asked now.
            root: The run at the root, if there is one above it.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        return asked_again(self._brief, before, payload, root)

    def end(self) -> Mapping[str, object]:
        """What a run starts with that asks nothing, and only says that a conversation has ended."""
        return over()

    def reply(self, state: State) -> object:
        """The final answer."""
        return state["output"]

    def total(self, state: State) -> Spent:
        """What a run and all below it have used."""
        return Shares("", state.get("nested", {})).total(state["spent"])

    def result(self, state: State) -> AgentResult[Any]:
        """What a run has come to, from its final state."""
        turns = state["spent"].turns
        return AgentResult(state["output"], tuple(state["messages"]), self.total(state).usage, turns, state)

    def _draw(self, calling: ToolCalling) -> None:
        self.add("infer", step("infer", self._infer, signals={MESSAGE: str}))
        self.add("tool", calling.one())
        self.add("tools", calling.several())
        self.add("give-up", step("give-up", self._give_up, inline=True))
        self.edge("infer", "tool", when=_wants_one)
        self.edge("infer", "tools", when=_wants_several)
        self.edge("infer", END, when=key_exists("output"))
        self.edge("infer", "give-up", when=key_exists("failure"))
        self.edge("infer", END, when=key_exists(ENDED))
        self.edge("infer", "infer")
        self.edge("tool", "infer")
        self.edge("tools", "infer")
        self.start("infer")
        self.finish("give-up")

    async def _infer(self, state: State, context: StepContext) -> dict[str, object]:
        """One turn."""
        if ENDED in state:
            return {}
        spent: Spent = state["spent"]
        counter = self._counter(state, context, spent)
        shared = spent if counter is None else counter.spent
        self._allowance.check_turn(spent, shared)
        news = await news_of(context, state.get("heard", 0)) if context.has_signals else NO_NEWS
        is_last = self._allowance.is_last_turn(spent, shared)
        request = await self._request(state, context, news.messages, is_last=is_last)
        number = state.get("turn", 0) + spent.turns
        if counter is None:
            response = await self._ask(request, number, context)
        else:
            with counter.turn():
                response = await self._ask(request, number, context)
        response = without_secrets(response, context)
        answer = AssistantMessage(text=response.text, calls=distinct(response.calls, number))
        spent = spent.after(response.usage, tool_calls=len(answer.calls))
        if counter is not None:
            counter.note(context.run_id, spent)
        verdict = self._closing.judge(answer)
        late = await news_of(context, news.heard or state.get("heard", 0)) if verdict.updates else NO_NEWS
        now = context.execution.clock()
        calls = 0 if verdict.updates else self._at_once(state, answer, number, now)
        begins = (
            calls == 1 and context.is_durable and self._allowance.may_call(spent, counter.spent if counter else spent)
        )
        begun = self._calling.begun(answer.calls, number, context) if begins else NOT_BEGUN
        return {
            "messages": [*news.messages, answer, *verdict.messages, *late.messages],
            "calls": calls,
            "spent": spent,
            **begun,
            **({} if self._messages is None else {"at": now}),
            **({"heard": late.heard or news.heard} if late.heard or news.heard else {}),
            **({} if late.messages else verdict.updates),  # it does not know what was said meanwhile: it is asked again
        }

    def _at_once(self, state: State, answer: AssistantMessage, turn: int, now: float) -> int:
        """How many of the calls that an answer of this moment wants may go on at once."""
        return len(answer.calls) if self._member.is_alone else len(self._lanes(state, answer, turn, now))

    def _due(self, state: State) -> Due:
        """What is to be called now; worked out from the last answer, so that nothing is stored twice.

        Raises:
            BudgetExceeded: It may not. That is found here, behind the commit of the answer, so that this is not lost.
        """
        spent: Spent = state["spent"]
        self.agent.budget.check_calls(self.agent.name, spent)
        answer: AssistantMessage = state["messages"][-1]
        turn = state.get("turn", 0) + spent.turns - 1
        return Due(answer.calls, self._lanes(state, answer, turn, state.get("at", 0.0)))

    def _lanes(self, state: State, answer: AssistantMessage, turn: int, now: float) -> Sequence[Lane]:
        """What an answer of this moment wants to be called, by what may go on at once."""
        entries = pending_calls(turn, answer.calls)
        if self._member.is_alone:
            return [[entry] for entry in entries]
        if "root" in state:
            entries = [{**entry, "root": state["root"]} for entry in entries]
        return lanes(entries, state.get("conversations", {}), self._messages, now=now)

    def _give_up(self, state: State) -> NoReturn:
        raise AgentGaveUp(self.agent.name, state["failure"])

    async def _request(
        self, state: State, context: StepContext, news: Sequence[UserMessage], *, is_last: bool
    ) -> ModelRequest:
        system = self._brief.fixed or await self._system(state, context)
        if is_last:
            messages = (system, *state["messages"], *news, UserMessage(text=_LAST_TURN))
            settings = settings_of(self._member, state, context, self._closing.tools)
            return ModelRequest(messages, self._closing.tools, self._output_schema, settings=settings)
        toolbox = context.memo[TOOLBOX] = await self._found(context) if self.agent.servers else self._toolbox
        settings = settings_of(self._member, state, context, toolbox.schemas)
        return ModelRequest(
            (system, *state["messages"], *news), toolbox.schemas, self._output_schema, settings=settings
        )

    async def _system(self, state: State, context: StepContext) -> SystemMessage:
        asked: PromptContext[BaseModel] = PromptContext(
            self.agent.name, context.run_id, state.get("fields"), context.deps
        )
        return SystemMessage(text=await self._brief.system(asked))

    def _counter(self, state: State, context: StepContext, spent: Spent) -> Counter | None:
        """What counts the turns of all runs below one root; None where there is but this one."""
        if self._member.is_alone:
            return None
        counter = context.memo.get(COUNTER)
        if not isinstance(counter, Counter):
            session: Session = context.resources
            counter = context.memo[COUNTER] = session.counter(state.get("root", context.run_id))
        Shares(context.run_id, state.get("nested", {})).tell(counter, spent)
        return counter

    async def _found(self, context: StepContext) -> Toolbox:
        """What there is to call now.

        Raises:
            McpUnavailable: A server cannot be reached.
            ToolClash: Two tools have one name.
        """
        if not self.agent.servers:
            return self._toolbox
        session: Session = context.resources
        connections = session.connections[self.name]
        remote = await connections.tools(beside=self._own, reserved=reserved(self.agent))
        return Toolbox.of((*self._own, *remote), self._closing.tools)


def _wants_one(state: Any) -> bool:
    calls: int = state["calls"]
    return calls == 1


def _wants_several(state: Any) -> bool:
    calls: int = state["calls"]
    return calls > 1
