"""Verbs of conversations with agents."""

from collections.abc import Iterable
from typing import Any, Final

from stagepost.agents import (
    AssistantMessage,
    ChatMessage,
    MessageSaid,
    OpenConversation,
    TaskNotFinished,
    TaskStream,
    UserMessage,
    converse,
)
from stagepost.checkpoint import RunInfo
from stagepost.workflows import RunConflict

from .._wire._asked import SayMessage
from .._wire._conversations import ConversationShown, Said
from .._wire._workflows import RunStarted
from ._base import Base
from ._scopes import misuse, verb

_LABEL: Final = "conversation"  # what the turns of a conversation are found by


class Conversing(Base):
    """The part of `Verbs` that talks to agents, message by message: `stagepost.agents.converse`."""

    @verb
    async def conversation(self, conversation_id: str, agent: str, *, limit: int = 100) -> ConversationShown:
        """What was said in a conversation; nothing, if it has not begun.

        Args:
            conversation_id: The conversation.
            agent: The agent.
            limit: At most so many texts, the last ones.

        Raises:
            WorkflowNotFound: There is no such agent.
            NotAnAgent: The name stands for a workflow that is not an agent.
            RunConflict: It is a conversation with another agent.
            InvalidName: The id has characters that are not allowed.
            InputRefused: The id is too long.
        """
        self._talk(conversation_id, agent)
        last = await self._last_turn(conversation_id, agent)
        said = [] if last is None else texts((await self._tasks.get(last.run_id)).messages)
        return ConversationShown(
            conversation_id=conversation_id,
            agent=agent,
            said=said[-limit:],
            before=max(len(said) - limit, 0),
            open=last.run_id if last is not None and last.status.is_open else None,
        )

    @verb
    async def say(self, conversation_id: str, message: SayMessage, *, key: str | None = None) -> RunStarted:
        """Say something in a conversation, which begins or goes on with it.

        Args:
            conversation_id: The conversation.
            message: What is said, and to whom.
            key: A message with one key is said once.

        Raises:
            TaskNotFinished: The agent still answers the last message.
            ConversationOver: It takes no more messages.
            WorkflowNotFound: There is no such agent.
            NotAnAgent: The name stands for a workflow that is not an agent.
            InvalidRequest: The agent does not take the request.
            RunConflict: It is a conversation with another agent, or the key stands for another message.
            InvalidName: The id has characters that are not allowed.
            InputRefused: The id is too long.
        """
        async with await self._saying(conversation_id, message, key) as stream:
            run_id = stream.task_id
        info = await self._runner.runs.info(run_id)
        return RunStarted(run_id=run_id, workflow=info.workflow, status=info.status.value)

    @verb
    async def say_stream(
        self, conversation_id: str, message: SayMessage, *, key: str | None = None, after: str | None = None
    ) -> TaskStream[Any]:
        """The same, with the stream of the answer from the first token on; what is said is sent when it is entered."""
        return await self._saying(conversation_id, message, key, after)

    async def _saying(
        self, conversation_id: str, message: SayMessage, key: str | None, after: str | None = None
    ) -> TaskStream[Any]:
        talk = self._talk(conversation_id, message.agent)
        last = await self._last_turn(conversation_id, message.agent)
        if last is None or not last.status.is_open:
            return talk.stream(message.request, key=key)
        if key is None or last.key != f"{conversation_id}/{key}":
            raise TaskNotFinished(last.run_id, last.status)
        if isinstance(message.request, str) and await self._asked(last.run_id) != message.request:
            raise RunConflict(last.run_id, "message")
        return self._tasks.stream(last.run_id, after=after)

    def _talk(self, conversation_id: str, agent: str) -> OpenConversation[Any]:
        with misuse():
            return converse(self._runner, agent, id=conversation_id, idle=None, waits=False)

    async def _last_turn(self, conversation_id: str, agent: str) -> RunInfo | None:
        """The last turn, open or not; runs that its steps have started have its label, too."""
        labels, after = {_LABEL: conversation_id}, None
        while True:
            page = await self._runner.runs.list(labels=labels, newest_first=True, after=after)
            turn = next((each for each in page.items if _is_turn(each, conversation_id)), None)
            if turn is not None and turn.workflow != agent:
                raise RunConflict(turn.run_id, f"agent ({turn.workflow!r})")
            after = page.next
            if turn is not None or after is None:
                return turn

    async def _asked(self, run_id: str) -> str | None:
        """The message that a turn answers."""
        async with self._tasks.stream(run_id) as stream:
            async for part in stream:
                if isinstance(part, MessageSaid) and part.role == "user":
                    return part.text
        return None


def texts(messages: Iterable[ChatMessage]) -> list[Said]:
    """What was said by people and by the agent, without calls and their results."""
    spoken = (each for each in messages if isinstance(each, UserMessage | AssistantMessage) and each.text)
    return [Said(role=each.role, text=each.text) for each in spoken]


def _is_turn(info: RunInfo, conversation_id: str) -> bool:
    name, _, number = info.run_id.rpartition("-")
    return name == conversation_id and number.isdecimal()
