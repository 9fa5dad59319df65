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
ended          there is nothing to do: the run only says that such a conversation has ended
=============  ==========================================================================================

A key that says nothing is not there, so that it costs nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypedDict

from pydantic import BaseModel

from stagepost.checkpoint import TypedCodec
from stagepost.workflows import ListCodec

from .._definition._budget import Spent
from .._models._messages import ChatMessage
from ._calls import Talk

OUTPUT: Final = "output"
FAILURE: Final = "failure"
ENDED: Final = "ended"

_MESSAGES: Final = ListCodec(list[ChatMessage], immutable=True, verify=False)  # frozen, and made of texts
_SPENT: Final = TypedCodec(Spent, immutable=True, verify=False)  # numbers of our own


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


@dataclass(frozen=True, slots=True)
class RunState:
    """What a state says.

    Attributes:
        given: The state.
    """

    given: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """What was said."""
        said: Sequence[ChatMessage] = self.given["messages"]
        return said

    @property
    def spent(self) -> Spent:
        """What the run has used by itself."""
        spent: Spent = self.given["spent"]
        return spent

    @property
    def calls(self) -> int:
        """How much of what the last answer wants to be called may go on at once."""
        calls: int = self.given["calls"]
        return calls

    @property
    def turn(self) -> int:
        """Number of the turn that comes next, also over the runs before this one."""
        before: int = self.given.get("turn", 0)
        return before + self.spent.turns

    @property
    def fields(self) -> BaseModel | None:
        """The request's fields."""
        return self.given.get("fields")

    @property
    def begun(self) -> str | None:
        """Number of the call that counts as begun since the last answer."""
        return self.given.get("begun")

    @property
    def answered_at(self) -> float:
        """When the model has answered last; 0.0 if it may speak to nobody."""
        at: float = self.given.get("at", 0.0)
        return at

    @property
    def root(self) -> str | None:
        """The run at the root; None if this run is."""
        return self.given.get("root")

    @property
    def talks(self) -> Mapping[str, Talk]:
        """The conversations with other agents."""
        return {key: Talk.model_validate(talk) for key, talk in self.given.get("conversations", {}).items()}

    @property
    def nested(self) -> Mapping[str, Mapping[str, Any]]:
        """What the runs below this one have used, as `Spent.stored`."""
        nested: Mapping[str, Mapping[str, Any]] = self.given.get("nested", {})
        return nested

    @property
    def heard(self) -> int:
        """Number of the last message that was sent to the run while it was under way; 0 if there was none."""
        heard: int = self.given.get("heard", 0)
        return heard

    @property
    def output(self) -> Any:
        """The final answer; None while there is none."""
        return self.given.get(OUTPUT)

    @property
    def failure(self) -> str:
        """Why the model has given up."""
        why: str = self.given[FAILURE]
        return why

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to do."""
        return ENDED in self.given

    @property
    def said(self) -> Said | None:
        """Which message of a conversation with somebody outside the run answers; None if it answers none."""
        said = self.given.get("said")
        return None if said is None else Said(said["key"], said["at"])

    def kept_talks(self) -> Changes:
        """The conversations, for a run that goes on after this one."""
        return {"conversations": self.given["conversations"]} if "conversations" in self.given else {}

    def with_talks(self, talks: Iterable[tuple[str, Talk]]) -> Changes:
        """What conversations change that were begun or went on."""
        changed = {key: talk.model_dump() for key, talk in talks}
        return {"conversations": {**self.given.get("conversations", {}), **changed}} if changed else {}

    def with_nested(self, totals: Iterable[Mapping[str, Mapping[str, Any]]]) -> Changes:
        """What runs below change that have ended."""
        changed = {key: total for each in totals for key, total in each.items()}
        return {"nested": {**self.nested, **changed}} if changed else {}


def types_of(fields: type[BaseModel] | None, output: object) -> Mapping[str, Any]:
    """The types of those keys that are not plain JSON.

    Args:
        fields: Model of the agent's requests.
        output: Type of its answers.
    """
    return {"messages": _MESSAGES, "spent": _SPENT, "fields": fields, OUTPUT: output}
