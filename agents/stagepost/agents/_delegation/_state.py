"""The state of an agent's run: its keys, and the form that each of them has there.

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

A key that says nothing is not there, so that it costs nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypedDict

from pydantic import BaseModel

from stagepost.checkpoint import TypedCodec
from stagepost.workflows import ListCodec

from .._definition._budget import Spent, SpentCodec
from .._models._messages import AssistantMessage, ChatMessage, ToolCall
from .._models._settings import ModelSettings
from ._calls import Aside, Talk

OUTPUT: Final = "output"
FAILURE: Final = "failure"
ENDED: Final = "ended"

_MESSAGES: Final = ListCodec(list[ChatMessage], immutable=True, verify=False)  # frozen, and made of texts
_SETTINGS: Final = TypedCodec(ModelSettings, immutable=True)
_SPENT: Final = SpentCodec()


class Changes(TypedDict, total=False):
    """What a step changes in the state, or what a state starts with."""

    messages: Sequence[ChatMessage]
    fields: BaseModel
    begun: str
    calls: int
    at: float
    spent: Spent
    output: object
    failure: str
    turn: int
    root: str
    conversations: Mapping[str, object]
    nested: Mapping[str, object]
    heard: int
    said: Mapping[str, object]
    settings: ModelSettings
    ended: bool


class Said(NamedTuple):
    """A message of a conversation with somebody outside.

    Attributes:
        key: The key that it was sent with.
        at: Its place in the transcript.
    """

    key: str
    at: int

    @property
    def stored(self) -> Changes:
        """What a state says of it."""
        return {"said": {"key": self.key, "at": self.at}}


class RunState:
    """What a state says.

    Args:
        given: The state.
    """

    __slots__ = ("_given", "_spent", "_turn")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._spent: Spent | None = None  # these two are asked for often: state is not read twice
        self._turn: int | None = None

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """What was said."""
        said: Sequence[ChatMessage] = self._given["messages"]
        return said

    @property
    def spent(self) -> Spent:
        """What the run has used by itself."""
        spent = self._spent
        if spent is None:
            spent = self._spent = self._given["spent"]
        return spent

    @property
    def last_calls(self) -> Sequence[ToolCall]:
        """The calls of the last answer, where what they come to is not said yet."""
        answer = self.messages[-1]
        return answer.calls if isinstance(answer, AssistantMessage) else ()

    @property
    def turn(self) -> int:
        """Number of the turn that comes next, also over the runs before this one."""
        turn = self._turn
        if turn is None:
            turn = self._turn = self._given.get("turn", 0) + self.spent.turns
        return turn

    @property
    def fields(self) -> BaseModel | None:
        """The request's fields."""
        return self._given.get("fields")

    @property
    def begun(self) -> str | None:
        """Number of the call that counts as begun since the last answer."""
        return self._given.get("begun")

    @property
    def answered_at(self) -> float:
        """When the model has answered last; 0.0 if it may speak to nobody."""
        at: float = self._given.get("at", 0.0)
        return at

    @property
    def root(self) -> str | None:
        """The run at the root; None if this run is."""
        return self._given.get("root")

    @property
    def talks(self) -> Mapping[str, Talk]:
        """The conversations with other agents."""
        return {key: Talk.model_validate(talk) for key, talk in self._given.get("conversations", {}).items()}

    @property
    def nested(self) -> Mapping[str, Mapping[str, Any]]:
        """What the runs below this one have used, as `Spent.stored`."""
        nested: Mapping[str, Mapping[str, Any]] = self._given.get("nested", {})
        return nested

    @property
    def heard(self) -> int:
        """Number of the last message that was sent to the run while it was under way; 0 if there was none."""
        heard: int = self._given.get("heard", 0)
        return heard

    @property
    def settings(self) -> ModelSettings | None:
        """How the model is to answer, if whoever started the run has said so."""
        return self._given.get("settings")

    @property
    def output(self) -> Any:
        """The final answer; None while there is none."""
        return self._given.get(OUTPUT)

    @property
    def failure(self) -> str:
        """Why the model has given up."""
        why: str = self._given[FAILURE]
        return why

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to do."""
        return ENDED in self._given

    @property
    def said(self) -> Said | None:
        """Which message of a conversation with somebody outside the run answers; None if it answers none."""
        said = self._given.get("said")
        return None if said is None else Said(said["key"], said["at"])

    def kept_talks(self) -> Changes:
        """The conversations, for a run that goes on after this one."""
        return {"conversations": self._given["conversations"]} if "conversations" in self._given else {}

    def with_results(self, messages: Sequence[ChatMessage], asides: Iterable[Aside]) -> Changes:
        """What tool calls change.

        Args:
            messages: Their results.
            asides: What is to be known of them beside that.
        """
        changes: Changes = {"messages": messages}
        talks: dict[str, object] = {}
        nested: dict[str, object] = {}
        for aside in asides:
            if aside.talk is not None:
                talks[aside.talk[0]] = aside.talk[1].model_dump()
            if aside.nested is not None:
                nested.update(aside.nested)
        if talks:
            changes["conversations"] = {**self._given.get("conversations", {}), **talks}
        if nested:
            changes["nested"] = {**self.nested, **nested}
        return changes


def wants_one(given: Mapping[str, Any]) -> bool:
    """Whether what the last answer wants to be called is made one call after the other."""
    calls: int = given["calls"]
    return calls == 1


def wants_several(given: Mapping[str, Any]) -> bool:
    """Whether some of what the last answer wants to be called may go on at once."""
    calls: int = given["calls"]
    return calls > 1


def types_of(fields: type[BaseModel] | None, output: object) -> Mapping[str, Any]:
    """The types of those keys that are not plain JSON.

    Args:
        fields: Model of the agent's requests.
        output: Type of its answers.
    """
    return {"messages": _MESSAGES, "spent": _SPENT, "fields": fields, OUTPUT: output, "settings": _SETTINGS}
