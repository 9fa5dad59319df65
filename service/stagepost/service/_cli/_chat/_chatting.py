"""A conversation with an agent: messages from the terminal, answers as they come."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from stagepost._dataclasses import dataclass
from stagepost.agents import Agent, OpenConversation, Tasks, TaskStream, converse
from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.workflows import Runner

from .._access import check_free, existing
from .._definitions import load, named
from .._errors import UsageError
from .._exits import Exit
from .._screen import Screen
from ._asking import Asking, Nobody
from ._keyboard import Keyboard, keyboard
from ._showing import Transcript

_QUIT = ("/quit", "/exit")


@dataclass(frozen=True, slots=True)
class Chat:
    """What was asked for.

    Attributes:
        agent: ``module:name``, or with `app` a name that its runner knows.
        file: Where the conversation is stored; None for only in memory.
        app: What gives the runner, for agents that need more than themselves.
        conversation: Which one goes on; None for a new one.
        by: Who answers what calls ask.
    """

    agent: str
    file: Path | None = None
    app: str | None = None
    conversation: str | None = None
    by: str | None = None


async def chatted(chat: Chat, screen: Screen) -> Exit:
    """Talk until the input ends."""
    name = chat.conversation or uuid4().hex[:12]
    agent = _agent(chat.agent)
    code: Exit | None = None
    try:
        with keyboard() as keys:
            async with _runner(chat, agent) as runner, converse(runner, agent, id=name, idle=None) as talk:
                code = await _Session(runner, talk, keys, screen, chat.by).run()
                return code
    finally:
        if code is None and screen.is_terminal:  # interrupted, perhaps within a line
            screen.line()
        if chat.file is not None:
            screen.hint(f"to go on: stagepost chat {chat.agent} --file {chat.file} --conversation {name}")


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
    if chat.app is not None:
        async with load(chat.app, "chat").runner(chat.file, "talk to its agents") as runner:
            yield runner
        return
    if isinstance(agent, str):
        raise UsageError(f"the agent {agent!r} is not of the form MODULE:NAME; a name alone needs --app")
    async with AsyncExitStack() as stack:
        if chat.file is None:
            store: MemoryStore | SqliteStore = await stack.enter_async_context(MemoryStore())
        else:
            if chat.file.exists():
                check_free(existing(chat.file), "talk to its agents")
            store = await stack.enter_async_context(SqliteStore(chat.file, lock_timeout=0))
        runner = Runner(store, workflows=[agent], keep_for=None, keep_keys=None)
        yield await stack.enter_async_context(runner)


class _Session:
    """One sitting of a conversation."""

    def __init__(
        self, runner: Runner, talk: OpenConversation[Any], keys: Keyboard, screen: Screen, by: str | None
    ) -> None:
        self._runner = runner
        self._talk = talk
        self._keys = keys
        self._transcript = Transcript(screen)
        self._screen = screen
        self._tasks = Tasks(runner)
        self._asking = Asking(self._tasks, keys, self._transcript, by)

    async def run(self) -> Exit:
        """Finish what was begun, then answer one message after the other."""
        self._transcript.before(tuple(self._talk.messages))
        try:
            await self._finish()
            while (said := await self._keys.line("> ")) is not None:
                if said.strip() in _QUIT:
                    break
                if said.strip():
                    await self._play(self._talk.stream(said))
        except Nobody:
            return Exit.WAITING
        if self._screen.is_terminal and not self._screen.as_json:
            self._screen.line()
        return Exit.OK

    async def _finish(self) -> None:
        """Show the rest of a turn that another process has begun."""
        open_ = (RunStatus.RUNNING, RunStatus.WAITING)
        found = await self._runner.store.find(labels={"conversation": self._talk.id}, status=open_)
        for info in found.items:
            if "." not in info.run_id:
                self._screen.hint("the last message was not answered yet")
                await self._play(self._tasks.stream(info.run_id))

    async def _play(self, stream: TaskStream[Any]) -> None:
        async with stream:
            async for part in stream:
                self._transcript.part(part)
                await self._asking.about(part)
