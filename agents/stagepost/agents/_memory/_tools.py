"""The tools of a memory."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final, NamedTuple, NoReturn

import anyio
from pydantic_core import to_json

from stagepost.checkpoint import CannotStore, Statement
from stagepost.hub import check_name
from stagepost.workflows import StepContext

from .._tools._context import ToolContext
from .._tools._returned import ToolResult
from .._tools._step_tool import StepTool
from .._tools._tool import tool
from ..errors import MemoryUnavailable
from ._entry import MemoryEntry
from ._reading import Reading
from ._words import Place, clean

_NO_STORE: Final = "a run in memory has no store to keep it in: start it on a Runner, for example with a MemoryStore"


class Keeper(NamedTuple):
    """What the tools of a memory know of it; see `Memory`.

    Attributes:
        name: Its name.
        prefix: What the names of its tools begin with.
        place: Whose memories a call reaches.
        length: The most characters of an entry.
        most: The most entries of a place.
        results: The most entries that a call returns.
        recalled: The most characters that these have.
    """

    name: str
    prefix: str
    place: Callable[[ToolContext], Place]
    length: int
    most: int
    results: int
    recalled: int


class Access(NamedTuple):
    """What a call reaches.

    Attributes:
        place: Whose memories.
        reading: Finds entries there.
        call: The call.
        step: The step that makes it.
    """

    place: Place
    reading: Reading
    call: ToolContext
    step: StepContext

    def write(self, statements: Sequence[Statement]) -> None:
        """Have statements executed when the result of the call is saved."""
        for text, values in statements:
            self.step.write(text, *values)


class MemoryTool(StepTool):
    """A tool of a memory.

    Args:
        action: What it does.
        keeper: The memory.
    """

    shape: ClassVar[Callable[..., None]]
    _keeper: Keeper

    def __init__(self, action: str, keeper: Keeper) -> None:
        name = check_name("tool name", keeper.prefix + action)

        def function(context: ToolContext, **_arguments: object) -> NoReturn:
            raise MemoryUnavailable(context.agent, keeper.name, _NO_STORE)

        shape = tool(name=name, idempotent=True, retries=None)(type(self).shape)
        super().__init__(**{**vars(shape), "function": function})
        vars(self).update(_keeper=keeper)

    async def perform(self, arguments: Mapping[str, object], call: ToolContext, step: StepContext) -> ToolResult:
        """Make a call.

        Raises:
            MemoryUnavailable: The run has no memory.
        """
        if not step.is_durable:
            raise MemoryUnavailable(call.agent, self._keeper.name, _NO_STORE)
        place = self._keeper.place(call)
        access = Access(place, await Reading.of(step.query, place), call, step)
        try:
            return await self._performed(clean(str(*arguments.values())), access)
        except CannotStore:
            return _refused("nothing was done: it contains a secret")

    @abstractmethod
    async def _performed(self, given: str, access: Access) -> ToolResult:
        """Make a call with its only argument."""


class Remember(MemoryTool):
    """Adds an entry."""

    @staticmethod
    def shape(text: str) -> None:
        """Remember a fact beyond this conversation.

        Args:
            text: One fact, in words that make sense without this conversation.
        """

    async def _performed(self, given: str, access: Access) -> ToolResult:
        keeper = self._keeper
        if not 0 < len(given) <= keeper.length:
            why = f"a memory has 1 to {keeper.length:,} characters, and this has {len(given):,}"
            return _refused(f"nothing was remembered: {why}")
        added = _added(access)
        async with added.lock:
            return await self._added(given, access, added.ids)

    async def _added(self, given: str, access: Access, added: set[str]) -> ToolResult:
        entry_id, most = access.place.id_of(given), self._keeper.most
        has_it, others = await access.reading.room(entry_id, added)
        if has_it:
            return ToolResult(f"{entry_id} was remembered before")
        if others + len(added - {entry_id}) >= most:
            why = f"there are {most:,} memories already: forget what is of no use any more"
            return _refused(f"nothing was remembered: {why}")
        at = datetime.fromtimestamp(access.step.clock(), UTC)
        entry = MemoryEntry(entry_id, given, at, access.step.run_id, access.call.agent)
        access.write(access.reading.backend.add(access.place, entry))
        added.add(entry_id)
        return ToolResult(f"remembered as {entry_id}")


class Recall(MemoryTool):
    """Finds entries."""

    @staticmethod
    def shape(query: str = "") -> None:
        """Search what was remembered.

        The result is a list of memories, each with its id and its day: those that share most words with the query come
        first, or the newest if there is no query.

        Args:
            query: Words to search for.
        """

    async def _performed(self, given: str, access: Access) -> ToolResult:
        keeper = self._keeper
        found, characters = list[dict[str, str]](), 0
        for entry in await access.reading.find(given, keeper.results):
            characters += len(entry.text)
            if characters > keeper.recalled:
                break
            found.append({"id": entry.id, "day": f"{entry.created_at:%Y-%m-%d}", "text": entry.text})
        return ToolResult(to_json(found).decode())


class Forget(MemoryTool):
    """Removes an entry."""

    @staticmethod
    def shape(id: str) -> None:  # noqa: A002  # the word for it
        """Forget something that was remembered.

        Args:
            id: Its id.
        """

    async def _performed(self, given: str, access: Access) -> ToolResult:
        if not (await access.reading.room(given)).has_it:
            return _refused(f"there is no memory with the id {given!r:.80}: {self._keeper.prefix}recall finds ids")
        access.write(access.reading.backend.remove(access.place, given))
        return ToolResult(f"{given} is forgotten")


def _refused(why: str) -> ToolResult:
    return ToolResult(why, is_error=True)


class _Added(NamedTuple):
    """What calls of one turn have added; which of it is saved is not known, since each call is saved by itself.

    Attributes:
        turn: The turn.
        ids: The ids.
        lock: Held by the call that counts.
    """

    turn: int
    ids: set[str]
    lock: anyio.Lock


def _added(access: Access) -> _Added:
    memo, key = access.step.memo, f"memory {access.place}"
    known = memo.get(key)
    if not isinstance(known, _Added) or known.turn != access.call.turn:
        known = memo[key] = _Added(access.call.turn, set(), anyio.Lock())
    return known
