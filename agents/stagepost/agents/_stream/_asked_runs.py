"""The runs below a run that its calls have started: which call has started which."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from stagepost.checkpoint import RunInfo, RunNotFound

from .._definition._definition import MESSAGE_AGENT
from .._delegation._delegate_tool import delegate_key
from .._delegation._messaging import new_conversation, turn_key
from .._loop._history import MESSAGES
from .._models._messages import ToolCall
from ._asked import arguments_of
from ._source import Source
from ._stored import StoredRun
from ._tree import Tree


class Requested(NamedTuple):
    """A call of an answer.

    Attributes:
        call: The call.
        place: Place of its result.
        number: Its number.
        earlier: How many calls of the answer before it go on with each conversation.
    """

    call: ToolCall
    place: int
    number: str
    earlier: Counter[str]


class Request(NamedTuple):
    """A call that may ask another agent.

    Attributes:
        run_id: The run that makes it.
        number: Its number.
        key: The key of the run that it starts; empty if that is not known.
        conversation_id: The conversation that it goes on with; None if it does not.
        message: What it says there.
        is_sure: Whether there is no such run if there is none with this key.
    """

    run_id: str
    number: str
    key: str
    conversation_id: str | None = None
    message: str = ""
    is_sure: bool = True

    @classmethod
    def of(cls, tree: Tree, made: Requested) -> "Request | None":
        """What a call asks; None if it asks no agent.

        Args:
            tree: The run.
            made: The call. It is counted among those that go on with its conversation.
        """
        call, number, run_id = made.call, made.number, tree.run.info.run_id
        if call.name != MESSAGE_AGENT:
            may_ask = tree.loop is None or call.name in tree.loop.asking
            return cls(run_id, number, delegate_key(call.name, number)) if may_ask else None
        if number in tree.run.talked:
            return cls(run_id, number, turn_key(*tree.run.talked[number]))
        given = arguments_of(call)
        said = given if isinstance(given, dict) else {}
        agent, conversation = said.get("agent_name"), said.get("conversation_id")
        if isinstance(agent, str) and conversation is None:
            return cls(run_id, number, turn_key(new_conversation(agent, number), 0))
        if not isinstance(conversation, str) or agent is not None:
            return None
        earlier = made.earlier[conversation]
        made.earlier[conversation] += 1
        known = tree.run.conversations.get(conversation) if made.place >= tree.run.length else None
        key = "" if known is None else turn_key(conversation, known["turns"] + earlier)
        return cls(run_id, number, key, conversation, str(said.get("message")), known is not None and not earlier)


class AskedRuns:
    """Finds the runs that calls have started.

    Args:
        source: Where they are.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._below: dict[str, Sequence[RunInfo]] = {}
        self._taken: dict[str, str] = {}

    async def run(self, request: Request) -> StoredRun | None:
        """The run that a call has started; None if there is none."""
        if request.key:
            found = await self._stored(f"{request.run_id}.{request.key}")
            if found is not None and found.call in (None, request.number):
                return found
            if found is None and request.is_sure:
                return None
        return await self._listed(request)

    async def _listed(self, request: Request) -> StoredRun | None:
        """A run that only the list of the runs below tells of."""
        if request.run_id not in self._below:
            self._below[request.run_id] = await self._source.below(request.run_id)
        for info in self._below[request.run_id]:
            if _is_of(info, request) and self._taken.setdefault(info.run_id, request.number) == request.number:
                return await self._stored(info.run_id)
        return None

    async def _stored(self, run_id: str) -> StoredRun | None:
        try:
            return StoredRun(await self._source.snapshot(run_id))
        except RunNotFound:
            return None


def _is_of(info: RunInfo, request: Request) -> bool:
    """Whether a call has started a run: the run says so; or, if it is of a former version, it was told the same."""
    try:
        begun = from_json(info.input)
    except ValueError:
        return False
    if "call" in begun:
        return bool(begun["call"] == request.number)
    conversation = info.run_id.rpartition(".")[2].rpartition("-")[0]
    return conversation == request.conversation_id and _last_said(begun) == request.message


def _last_said(begun: Mapping[str, Any]) -> str | None:
    """The text of the last message that a run was started with."""
    messages = begun.get(MESSAGES) or ()
    said = messages["then"] if isinstance(messages, Mapping) else messages
    return said[-1].get("text") if said else None
