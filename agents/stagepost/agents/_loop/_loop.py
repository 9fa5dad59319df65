"""The loop of an agent as a workflow: ask the model, call the tools that it requests, ask again, until it has answered.

Each answer of the model and each tool's result is a commit of its own, and writes only what is new. One call is a step;
several at once are a fan-out, which takes two more commits, before the first and after the last. A summary of what the
model no longer sees is a step, too. The state contains everything that the loop knows; see `RunState`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from pydantic import JsonValue

from stagepost.workflows import END, Graph, Pattern, State, key_exists, step

from .._definition._budget import Spent
from .._definition._request import Brief
from .._delegation._delegation import Delegation
from .._delegation._result import AgentResult
from .._delegation._state import ENDED, FAILURE, OUTPUT, RunState, types_of, wants_one, wants_several, wants_summary
from .._models._model import Model
from .._output._output import output_of
from .._tools._answer_reader import AnswerReader
from ..errors import AgentGaveUp
from ._accounting import Accounting
from ._asking import Asking
from ._calling import ToolCalling
from ._member import Member, Team
from ._news import MESSAGE
from ._offer import Offer
from ._opening import asked, asked_again, over
from ._pending_calls import PendingCalls
from ._summarizing import Summarizing
from ._turn import Turn

CALLING: Final = ("tool", "tools")  # the places where tools are called


class AgentLoop(Graph):
    """The workflow that does an agent's work.

    Args:
        member: The agent in its place.
        delegation: Asks the agents below it.
        team: Opens models and connections, and knows their secrets.

    Attributes:
        agent: The agent.
        below: The loops of all agents below it, for a root agent.
    """

    def __init__(
        self,
        member: Member,
        delegation: Delegation,
        team: Team,
    ) -> None:
        agent = member.agent
        types = types_of(agent.input, agent.output)
        super().__init__(agent.name, max_steps=None, types=types, lifespan=team.lifespan)  # the budget sets the limits
        self.name = member.name
        self.agent = agent
        self.below: Sequence[AgentLoop] = ()
        self._member = member
        self._team = team
        self._brief = Brief(agent.name, agent.prompt, agent.input)
        self._output = output_of(agent.output)
        self._draw(*self._parts(delegation))

    @property
    def companions(self) -> Sequence[Pattern]:
        return self.below

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        return self._team.hidden

    @property
    def depth(self) -> int:
        """The number of agents above it."""
        return self._member.depth

    @property
    def model(self) -> Model:
        """What it asks."""
        return self._member.model

    @property
    def writers(self) -> Sequence[Model]:
        """The models that write its summaries."""
        return self._member.writers

    def accept(self, payload: object) -> Mapping[str, object]:
        """The initial state of a run for this payload.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        return asked(self._brief, payload)

    def begin(self, payload: object, root: str) -> Mapping[str, object]:
        """The same for a child run.

        Args:
            payload: What it is asked.
            root: The run at the root.
        """
        return {**self.accept(payload), "root": root}

    def go_on(self, before: State, payload: object, root: str | None = None) -> Mapping[str, object]:
        """The initial state of a run that continues another one.

        Args:
            before: The other's state.
            payload: What the agent is asked now.
            root: The run at the root, if there is one above it.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        return asked_again(self._brief, before, payload, root)

    def end(self) -> Mapping[str, object]:
        """The initial state of a run that asks nothing, and only records the end of a conversation."""
        return over()

    def reply(self, state: State) -> object:
        """The final answer."""
        return RunState(state).output

    def plain_reply(self, state: State) -> JsonValue:
        """The final answer as JSON values."""
        answer = self.reply(state)
        return cast("str", answer) if self._output is None else self._output.plain(answer)

    def total(self, state: State) -> Spent:
        """What a run and all runs below it have used."""
        return RunState(state).total

    def result(self, state: State) -> AgentResult[Any]:
        """The result of a run, from its final state."""
        known = RunState(state)
        return AgentResult(known.output, tuple(known.messages), known.total.usage, known.spent.turns, state)

    def _parts(self, delegation: Delegation) -> tuple[Turn, ToolCalling, Summarizing]:
        """What takes turns, what makes their calls, and what writes summaries."""
        reader = AnswerReader(self._output, self.agent.output_mode)
        offer = Offer(self._member, reader)
        accounting = Accounting(self._member)
        pending = PendingCalls(self._member, offer.messages)
        calling = ToolCalling(self._member, accounting, reader, delegation, pending=pending, offer=offer)
        asking = Asking(self._member, self._brief, reader, offer)
        turn = Turn(accounting, asking, reader, pending, calling)
        return turn, calling, Summarizing(self._member, accounting)

    def _draw(self, turn: Turn, calling: ToolCalling, summarizing: Summarizing) -> None:
        self.add("infer", step("infer", turn.take, signals={MESSAGE: str}))
        self.add("summarize", step("summarize", summarizing.take))
        self.add("tool", calling.one())
        self.add("tools", calling.several())
        self.add("give-up", step("give-up", self._give_up, inline=True))
        self.edge("infer", "tool", when=wants_one)
        self.edge("infer", "tools", when=wants_several)
        self.edge("infer", END, when=key_exists(OUTPUT))
        self.edge("infer", "give-up", when=key_exists(FAILURE))
        self.edge("infer", END, when=key_exists(ENDED))
        self.edge("infer", "summarize", when=wants_summary)
        self.edge("infer", "infer")
        self.edge("summarize", "infer")
        self.edge("tool", "infer")
        self.edge("tools", "infer")
        self.start("infer")
        self.finish("give-up")

    def _give_up(self, state: State) -> NoReturn:
        raise AgentGaveUp(self.agent.name, RunState(state).failure)
