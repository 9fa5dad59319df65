"""The result of a run of an agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from pydantic import JsonValue

from stagepost._dataclasses import dataclass
from stagepost.workflows import State

from .._models._messages import ChatMessage, ToolMessage, Usage, UserMessage
from ._conversations import Conversation, conversations
from ._state import RunState

if TYPE_CHECKING:
    from stagepost.programs import Language

OutputT_co = TypeVar("OutputT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AgentResult(Generic[OutputT_co]):
    """The result of a run of an agent.

    Attributes:
        output: The final answer: a text, or an instance of the agent's ``output=``.
        messages: The transcript from the request to the answer, without the prompt.
        usage: Tokens and US dollars, including other agents that were asked.
        turns: How often the model has answered.
        state: The run's final state, for ``agent.run(…, after=result)``.
        blobs: Bytes of the parts of a run in memory, by digest, for the same purpose; for other runs they are in the
            store.
        clock: Seconds since 1970, by which `conversations` tells whose time is up; None if nobody knows.
        agent: Name of the agent that has answered: the one that was asked, unless it handed over.
        language: In which its answers are programs; None if they are none.
    """

    output: OutputT_co
    messages: Sequence[ChatMessage]
    usage: Usage
    turns: int
    state: State = field(repr=False, compare=False)
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    clock: Callable[[], float] | None = field(default=None, repr=False, compare=False)
    agent: str = ""
    language: "Language | None" = field(default=None, repr=False, compare=False)

    @property
    def memory(self) -> Mapping[str, JsonValue]:
        """What programs have kept with ``def``, as JSON values; functions as what they print as."""
        return self._plain(RunState(self.state).memory(self.agent))

    @property
    def journal(self) -> Mapping[str, JsonValue]:
        """Values of the tasks of programs, as JSON values, by id."""
        return self._plain(RunState(self.state).programs(self.agent).journal)

    @property
    def summaries(self) -> Mapping[str, str]:
        """What programs have said of the steps of the plan, by id."""
        return RunState(self.state).programs(self.agent).summaries

    def with_journal(self, values: Mapping[str, JsonValue]) -> Self:
        """The same with values of tasks, such as an answer of a person, for ``agent.run(…, after=result)``.

        Args:
            values: By id; a program that asks for the task gets them.

        Raises:
            LookupError: The agent writes no programs, so that nobody would read them.
        """
        if self.language is None:
            raise LookupError(f"agent {self.agent!r} writes no programs, which alone read a journal: give it programs=")
        known = RunState(self.state)
        programs = known.programs(self.agent)
        journal = {**programs.journal, **self.language.dump(values)}
        changes = known.with_programs(self.agent, programs._replace(journal=journal), known.memory(self.agent))
        state = self.state
        for name, value in changes.items():
            state = state.set(name, value)
        return replace(self, state=state)

    def _plain(self, stored: Mapping[str, object]) -> Mapping[str, JsonValue]:
        from stagepost.programs import AmbiguousKeys, plain  # noqa: PLC0415 - programs take time to import, and most agents write none

        made: dict[str, JsonValue] = {}
        if self.language is not None:
            for name, of in self.language.load(stored).items():
                try:
                    made[name] = plain(of)
                except AmbiguousKeys:
                    made[name] = self.language.show(of)
        return made

    @property
    def conversations(self) -> Sequence[Conversation]:
        """Those with other agents, with all that was said in them, and whether they have ended by now."""
        now = -inf if self.clock is None else self.clock()
        return conversations(self.messages, RunState(self.state).talks, now)


def with_blobs(result: AgentResult[OutputT_co], blobs: Mapping[str, bytes]) -> AgentResult[OutputT_co]:
    """The result of a run in memory with the bytes of its parts, which no store has."""
    if not blobs:
        return result
    return replace(result, messages=tuple([_filled(message, blobs) for message in result.messages]), blobs=blobs)


def _filled(message: ChatMessage, blobs: Mapping[str, bytes]) -> ChatMessage:
    if not isinstance(message, UserMessage | ToolMessage) or not message.parts:
        return message
    known = [(part, blobs.get(part.digest or "")) for part in message.parts]
    parts = [part if data is None else part.with_data(data) for part, data in known]
    return message.model_copy(update={"parts": tuple(parts)})
