"""The loop of an agent as a workflow: ask the model, call the tools that it requests, ask again, until it has answered.

Each answer of the model and each tool's result is a commit of its own, and writes only what is new. One call is a step;
several at once are a fan-out, which takes two more commits, before the first and after the last. A summary of what the
model no longer sees is a step, too. The state contains everything that the loop knows; see `RunState`.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NoReturn, cast

from pydantic import JsonValue

from stagepost.checkpoint import Snapshot
from stagepost.workflows import END, AnswerTypes, Graph, Pattern, State, key_exists, step
from stagepost.workflows.patterns import BeginTold

from .._definition._budget import Spent
from .._definition._request import brief_of
from .._delegation._delegate_tool import DelegateTool
from .._delegation._delegation import Delegation
from .._delegation._result import AgentResult
from .._delegation._state import ENDED, FAILURE, OUTPUT, PROGRAM, RunState, types_of
from .._delegation._wants import is_in_program, wants_one, wants_several, wants_summary
from .._output._output import output_of
from .._tools._answer_reader import AnswerReader
from ..errors import AgentGaveUp, BudgetExceeded, CostUnknown
from ._accounting import Accounting
from ._answers import answers_of
from ._asking import Asking
from ._calling import ToolCalling, one, several
from ._foreseen import foreseen, pending
from ._handed import Transcript
from ._member import Member, Team
from ._news import MESSAGE
from ._offer import Offer
from ._opening import asked, asked_again, over
from ._pending_calls import PendingCalls
from ._seats import Seat, Seats
from ._summarizing import Summarizing
from ._turn import Turn

CALLING: Final = ("tool", "tools")  # the places where tools are called


class AgentLoop(Graph):
    """The workflow that does an agent's work.

    Args:
        member: The agent in its place.
        delegation: Asks the agents below it.
        team: Opens models and connections, and knows their secrets.
        others: The agents that a run may be handed over to, each with what asks the agents below it.

    Attributes:
        agent: The agent.
        below: The loops of all agents below it, for a root agent.
        members: The agents that may have a run, by name, that one first which is asked first.
        asking: Names of their tools whose calls are runs of other agents.
    """

    def __init__(
        self,
        member: Member,
        delegation: Delegation,
        team: Team,
        others: Sequence[tuple[Member, Delegation]] = (),
    ) -> None:
        agent = member.agent
        types = types_of(agent.input, agent.output)
        super().__init__(agent.name, max_steps=None, types=types, lifespan=team.lifespan)  # the budget sets the limits
        self.name = member.name
        self.agent = agent
        self.below: Sequence[AgentLoop] = ()
        self.members: Mapping[str, Member] = {each.agent.name: each for each in (member, *(it for it, _ in others))}
        tools = [tool for each in self.members.values() for tool in each.agent.tools]
        self.asking = frozenset(tool.name for tool in tools if isinstance(tool, DelegateTool))
        self._member = member
        self._team = team
        self._brief = brief_of(agent)
        self._output = output_of(agent.output)
        members = tuple(self.members.values())
        transcript, answers = Transcript(members), answers_of([each.agent for each in members])
        own = self._seat(member, delegation, transcript)
        seats = {other.holder: self._seat(other, below, transcript) for other, below in others}
        self._toolboxes = {agent.name: own.toolbox, **{str(name): seat.toolbox for name, seat in seats.items()}}
        self._draw(Seats({None: own, agent.name: own, **seats}) if seats else own, answers)

    @property
    def companions(self) -> Sequence[Pattern]:
        return self.below

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        return self._team.hidden

    def told(self, runner: object, begin: BeginTold) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        return self._team.told(runner, begin)

    @property
    def traced_agent(self) -> str:
        """Name of the agent whose work its runs are."""
        return self.agent.name

    @property
    def depth(self) -> int:
        """The number of agents above it."""
        return self._member.depth

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

    def go_on(
        self, before: State, payload: object, root: str | None = None, *, run_id: str | None = None
    ) -> Mapping[str, object]:
        """The initial state of a run that continues another one.

        Args:
            before: The other's state.
            payload: What the agent is asked now.
            root: The run at the root, if there is one above it.
            run_id: The other's id, if both are stored: its transcript is referred to, and not stored again.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        return asked_again(self._brief, before, payload, root=root, run_id=run_id)

    def end(self, before: State | None, run_id: str | None) -> Mapping[str, object]:
        """The initial state of a run that asks nothing, and only records the end of a conversation.

        Args:
            before: State of the last run before it; None if there is none.
            run_id: Id of that.
        """
        return over(before, run_id)

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

    @property
    def idle(self) -> float:
        """After how many seconds without a message a conversation with it has ended."""
        return self._member.idle

    def result(self, state: State, clock: Callable[[], float] | None = None) -> AgentResult[Any]:
        """The result of a run.

        Args:
            state: Its final state.
            clock: Seconds since 1970, by which the run has told the time.
        """
        known = RunState(state)
        usage, turns, holder = known.total.usage, known.spent.turns, self.holder(state)
        member = self.members.get(holder)
        language = None if member is None else member.agent.programs
        said = tuple(known.messages)
        return AgentResult(known.output, said, usage, turns, state, clock=clock, agent=holder, language=language)

    def holder(self, state: State) -> str:
        """Name of the agent that has a run: the one that was asked, until it hands over."""
        return RunState(state).holder or self.agent.name

    def foresee(self, snapshot: Snapshot, state: State, path: str) -> Iterator[str]:
        known, is_calling = RunState(state), snapshot.root.next in CALLING
        calls = pending(snapshot, known) if is_calling else ()
        yield from foreseen(calls, self.holder(state), self._toolboxes)
        needs_turn = not is_calling and snapshot.root.next != PROGRAM
        check = self.agent.budget.check_turn if needs_turn else self.agent.budget.check_calls
        try:
            check(self.agent.name, known.spent)
        except (BudgetExceeded, CostUnknown) as error:
            yield f"it fails: {error}"
        yield from super().foresee(snapshot, state, path)

    def _seat(self, member: Member, delegation: Delegation, transcript: Transcript) -> Seat:
        """What an agent does in a run. The budget is that of the agent which is asked first."""
        agent = member.agent
        language = agent.programs
        reader = AnswerReader(output_of(agent.output) if language is None else None, agent.output_mode)
        offer = Offer(member, reader)
        accounting = Accounting(self._member)
        pending = PendingCalls(member, offer.messages)
        calling = ToolCalling(
            member, accounting, reader, delegation, pending=pending, offer=offer, transcript=transcript
        )
        brief = self._brief if agent is self.agent else brief_of(agent)
        programs = prompting = None
        if language is not None:
            from ._program_prompting import ProgramPrompting  # noqa: PLC0415 - programs take time to import
            from ._programming import Programming  # noqa: PLC0415

            programs = Programming(
                member, language, accounting=accounting, offer=offer, pending=pending, calling=calling
            )
            prompting = ProgramPrompting(member, language)
        asking = Asking(member, brief, reader, offer, transcript, programs=prompting)
        turn = Turn(accounting, asking, reader, pending, calling, programs=programs)
        return Seat(turn, calling, Summarizing(member, accounting, transcript), offer.fixed, programs=programs)

    def _draw(self, seat: Seat | Seats, answers: AnswerTypes) -> None:
        self.add("infer", step("infer", seat.take, signals={MESSAGE: str}))
        self.add("summarize", step("summarize", seat.summarize))
        self.add("tool", one(seat.in_turn, answers))
        self.add("tools", several(seat.lanes, seat.lane, seat.in_order, answers))
        self.add("give-up", step("give-up", self._give_up, inline=True))
        self.edge("infer", "tool", when=wants_one)
        self.edge("infer", "tools", when=wants_several)
        self.edge("infer", END, when=key_exists(OUTPUT))
        self.edge("infer", "give-up", when=key_exists(FAILURE))
        self.edge("infer", END, when=key_exists(ENDED))
        self.edge("infer", "summarize", when=wants_summary)
        if any(member.agent.programs is not None for member in self.members.values()):
            self._draw_programs(seat)
        self.edge("infer", "infer")
        self.edge("summarize", "infer")
        self.edge("tool", "infer")
        self.edge("tools", "infer")
        self.start("infer")
        self.finish("give-up")

    def _draw_programs(self, seat: Seat | Seats) -> None:
        self.add(PROGRAM, step(PROGRAM, seat.program, signals={MESSAGE: str}))
        for source in ("infer", "tool", "tools"):
            self.edge(source, PROGRAM, when=is_in_program)
        self.edge(PROGRAM, "tool", when=wants_one)
        self.edge(PROGRAM, "tools", when=wants_several)
        self.edge(PROGRAM, END, when=key_exists(OUTPUT))
        self.edge(PROGRAM, "give-up", when=key_exists(FAILURE))
        self.edge(PROGRAM, "infer")

    def _give_up(self, state: State) -> NoReturn:
        known = RunState(state)
        raise AgentGaveUp(self.agent.name, known.failure, known.kind)
