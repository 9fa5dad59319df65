"""A conversation with an agent: messages from the terminal, answers as they come."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any
from uuid import uuid4

from stagepost._dataclasses import dataclass
from stagepost.agents import Agent, StreamPart, converse
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.workflows import Runner

from .._access import check_free, existing
from .._definitions import load, named
from .._errors import UsageError
from .._exits import Exit
from .._screen import Screen
from .._where import Where
from ._asking import Asking, Nobody
from ._keyboard import Keyboard, keyboard
from ._own_talk import OwnTalk
from ._showing import Transcript
from ._talk import Talk

_QUIT = ("/quit", "/exit")


@dataclass(frozen=True, slots=True)
class Chat:
    """What was asked for.

    Attributes:
        agent: ``module:name``, or the name by which a service or the runner of ``--app`` knows it.
        where: Where it runs and is stored; by default in this process and in memory.
        conversation: Which one goes on; None for a new one.
    """

    agent: str
    where: Where = Where()
    conversation: str | None = None

    @property
    def url(self) -> str | None:
        """The address of the service that has the agent: one of the environment has only agents with plain names."""
        is_own = self.where.app is not None or ":" in self.agent
        return self.where.url if is_own and self.where.url is None else self.where.service


async def chatted(chat: Chat, screen: Screen) -> Exit:
    """Talk until the input ends."""
    name = chat.conversation or uuid4().hex[:12]
    url = chat.url
    code: Exit | None = None
    session: _Session | None = None
    try:
        with keyboard() as keys:
            async with _own(chat, name) if url is None else _at_service(chat, name, screen) as talk:
                session = _Session(talk, keys, screen)
                code = await session.run()
                return code
    finally:
        if code is None and screen.is_terminal:  # interrupted, perhaps within a line
            screen.line()
        if url is not None and code is None and session is not None and session.is_answering:
            screen.hint("the service goes on with the answer")
        if session is not None and (url or chat.where.file) is not None:
            place = f"--file {chat.where.file}" if url is None else f"--url {url}"
            screen.hint(f"to go on: stagepost chat {chat.agent} {place} --conversation {name}")


@asynccontextmanager
async def _at_service(chat: Chat, name: str, screen: Screen) -> AsyncIterator[Talk]:
    """A conversation with an agent of a service."""
    async with chat.where.connected() as service:
        if ":" in chat.agent:
            raise UsageError(f"{chat.agent}: a service knows its agents by their names: give that, without a module")
        from ..._client._talk import ServiceTalk  # noqa: PLC0415  # only with an address

        lost = "the service does not answer, trying again"
        yield await ServiceTalk(service, chat.agent, name, lambda: screen.hint(lost)).opened()


@asynccontextmanager
async def _own(chat: Chat, name: str) -> AsyncIterator[Talk]:
    """A conversation with an agent of this process."""
    agent = _agent(chat.agent)
    async with _runner(chat, agent) as runner, converse(runner, agent, id=name, idle=None) as talk:
        yield await OwnTalk(runner, talk, chat.where.by).opened()


def _agent(name: str) -> Agent[Any] | str:
    """What was named: an agent, or a name that stays one."""
    if ":" not in name:
        return name
    found = named(name, "the agent")
    if not isinstance(found, Agent):
        raise UsageError(f"{name} is no agent: {found!r:.80}")
    return found


@asynccontextmanager
async def _runner(chat: Chat, agent: Agent[Any] | str) -> AsyncIterator[Runner]:
    """What the agent runs on."""
    file = chat.where.file
    if chat.where.app is not None:
        async with load(chat.where.app, "chat").runner(file, "talk to its agents") as runner:
            yield runner
        return
    if isinstance(agent, str):
        raise UsageError(f"the agent {agent!r} is not of the form MODULE:NAME; a name alone needs --app or --url")
    async with AsyncExitStack() as stack:
        if file is None:
            store: MemoryStore | SqliteStore = await stack.enter_async_context(MemoryStore())
        else:
            if file.exists():
                check_free(existing(file), "talk to its agents")
            store = await stack.enter_async_context(SqliteStore(file, lock_timeout=0))
        runner = Runner(store, workflows=[agent], keep_for=None, keep_keys=None)
        yield await stack.enter_async_context(runner)


class _Session:
    """One sitting of a conversation.

    Attributes:
        is_answering: Whether the agent is about to answer.
    """

    def __init__(self, talk: Talk, keys: Keyboard, screen: Screen) -> None:
        self.is_answering = False
        self._talk = talk
        self._keys = keys
        self._transcript = Transcript(screen)
        self._screen = screen
        self._asking = Asking(talk, keys, self._transcript)

    async def run(self) -> Exit:
        """Finish what was begun, then answer one message after the other."""
        self._transcript.before(self._talk.said, self._talk.before)
        try:
            if (rest := self._talk.rest()) is not None:
                self._screen.hint("the last message was not answered yet")
                await self._play(rest)
            while (said := await self._keys.line("> ")) is not None:
                if said.strip() in _QUIT:
                    break
                if said.strip():
                    await self._play(self._talk.say(said))
        except Nobody:
            return Exit.WAITING
        if self._screen.is_terminal and not self._screen.as_json:
            self._screen.line()
        return Exit.OK

    async def _play(self, parts: AsyncGenerator[StreamPart, None]) -> None:
        self.is_answering = True
        async with aclosing(parts):
            async for part in parts:
                self._transcript.part(part)
                await self._asking.about(part)
        self.is_answering = False
