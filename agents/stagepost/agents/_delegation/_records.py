"""Parts of the state of a run that have a form of their own."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from pydantic import BaseModel

from .._context._view import View
from .._definition._budget import Spent
from .._models._messages import ChatMessage
from .._models._settings import ModelSettings


class Changes(TypedDict, total=False):
    """The changes of a step to the state, or the initial state."""

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
    call: str
    conversations: Mapping[str, object]
    nested: Mapping[str, object]
    heard: int
    said: Mapping[str, object]
    handoff: Mapping[str, object]
    settings: ModelSettings
    parts: bool
    view: View
    read: int
    ended: bool
    found: Sequence[str]
    program: Mapping[str, object] | None
    memory: Mapping[str, object]
    programs: Mapping[str, object]
    kind: str


class Handed(NamedTuple):
    """The last handoff of a run, or of the runs that it continues.

    Attributes:
        agent: Name of the agent that has the conversation since.
        by: Name of the agent that had it.
        tool: The tool by which it handed over.
        at: How much of the transcript there was, the result of the tool included.
        times: How often this run was handed over.
    """

    agent: str
    by: str
    tool: str
    at: int
    times: int


class Program(NamedTuple):
    """The program under way.

    Attributes:
        at: When the model has answered it, in seconds since 1970: the time that it is told.
        is_last: Whether its turn is the last one.
        agent: Name of the agent that has written it.
    """

    at: float
    is_last: bool
    agent: str


class Programs(NamedTuple):
    """What is known of the programs of an agent beside what they keep by name. All values in their stored form.

    Attributes:
        results: Values of the last programs, the latest first.
        journal: Values of tasks.
        summaries: What was said of steps of the plan.
        error: Why the last program failed: kind, text, and a hint if there is one; None if it has not.
        prints: Whether one has printed.
    """

    results: Sequence[object] = ()
    journal: Mapping[str, object] = {}
    summaries: Mapping[str, str] = {}
    error: Sequence[str | None] | None = None
    prints: bool = False


class Said(NamedTuple):
    """A message of a conversation with an outside caller.

    Attributes:
        key: The key that it was sent with.
        at: Its place in the transcript.
    """

    key: str
    at: int

    @property
    def stored(self) -> Changes:
        """Its form in the state."""
        return {"said": {"key": self.key, "at": self.at}}
