"""The tool ``message_agent``: what it takes, and which conversation a call belongs to.

A conversation is a line of runs of one agent below the run that asks: each message starts the next of them, with what
was said before as its beginning. Calls to one conversation come one after the other, in the order of the calls; which
call is which turn is settled when the model has answered, and saved with its answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, JsonValue
from pydantic_core import from_json, to_json

from .._definition._definition import MESSAGE_AGENT, AgentDefinition
from .._tools._arguments import InvalidArguments
from .._tools._tool import Tool, tool

IDLE: Final = 300.0  # seconds; then a conversation has ended

_ABOUT: Final = """Send a message to another agent and wait for its answer.

Give agent_name to start a conversation, or conversation_id to go on with one; conversations with several agents, or
several with one, may go on at once. The agent knows nothing but what was said in its conversation. The result is an
object of conversation_id, agent_name, response and is_complete: once that is true, the conversation has ended.

Agents:
"""

Entry = dict[str, Any]
"""One call to be made, as JSON."""

Lane = Sequence[Entry]
"""Calls to be made one after the other."""


class Talk(BaseModel, frozen=True):
    """A conversation, as the state of the run that holds it keeps it.

    Attributes:
        agent: Name of the agent.
        turns: How many messages it has answered.
        run: The run below which its last turn was made.
        last: When that was, in seconds since 1970.
        ended: Whether it can go on no more.
    """

    agent: str
    turns: int = 0
    run: str = ""
    last: float = 0.0
    ended: bool = False


def message_tool(agents: Sequence[AgentDefinition]) -> Tool[..., object]:
    """The tool by which a model speaks to these agents."""

    def message_agent(
        message: str, agent_name: str | None = None, conversation_id: str | None = None, *, end: bool = False
    ) -> None:
        """What a call looks like.

        Args:
            message: What to say.
            agent_name: Start a conversation with this agent.
            conversation_id: Go on with this conversation.
            end: Whether this is the last message: the conversation then ends.
        """

    message_agent.__annotations__["agent_name"] = Literal[tuple(agent.name for agent in agents)] | None
    return tool(name=MESSAGE_AGENT, description=_ABOUT + "\n".join(map(_line, agents)), idempotent=True)(message_agent)


def _line(agent: AgentDefinition) -> str:
    about = f"- {agent.name}: {agent.description}" if agent.description else f"- {agent.name}"
    if agent.input is None:
        return about
    return (
        f"{about} (a message may be a JSON object of this schema: {to_json(agent.input.model_json_schema()).decode()})"
    )


def lanes(
    calls: Sequence[Entry],
    talks: Mapping[str, Mapping[str, Any]],
    messages: Tool[..., object] | None,
    *,
    now: float,
) -> Sequence[Lane]:
    """What may go on at once: each call by itself, but all messages to one conversation in their order.

    Args:
        calls: The calls of an answer.
        talks: The run's conversations, by id.
        messages: The tool; None if the agent has nobody to talk to.
        now: When the model has answered. That is when its messages were written, however long they take to arrive.
    """
    made: dict[str, list[Entry]] = {}
    for call in calls:
        placed = (
            call if messages is None or call["name"] != MESSAGE_AGENT else _placed(call, talks, made, messages, now)
        )
        made.setdefault(placed.get("talk", {}).get("id", call["number"]), []).append(placed)
    return list(made.values())


def _placed(
    call: Entry,
    talks: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, Sequence[Entry]],
    messages: Tool[..., object],
    now: float,
) -> Entry:
    """The call with its place in a conversation, or what is wrong with it."""
    try:
        arguments = messages.parse(call["arguments"])
    except InvalidArguments:
        return call  # whoever makes it says what is wrong
    agent, known, end = (arguments.get(name) for name in ("agent_name", "conversation_id", "end"))
    if (agent is None) == (known is None):
        return {**call, "complaint": "give either agent_name, to start a conversation, or conversation_id, to go on"}
    if agent is not None:
        return {
            **call,
            "talk": {"id": f"{str(agent)[:60]}-{call['number']}", "agent": agent, "turn": 0, "end": bool(end)},
        }
    if known not in talks:
        return {**call, "complaint": f"there is no conversation {known!r}; there are: {', '.join(talks) or 'none'}"}
    talk = Talk.model_validate(talks[str(known)])
    earlier = made.get(str(known), ())
    if talk.ended or any(other["talk"]["end"] for other in earlier):
        return {**call, "complaint": f"conversation {known!r} has ended: start another one with agent_name"}
    since = {} if earlier else {"run": talk.run, "idle": now - talk.last}
    turn = talk.turns + len(earlier)
    return {**call, "talk": {"id": known, "agent": talk.agent, "turn": turn, "end": bool(end), **since}}


def is_readdressed(arguments: Mapping[str, object], talk: Mapping[str, Any] | None) -> bool:
    """Whether somebody has changed, behind the model's answer, who a message is for or whether it is the last one.

    That is settled with the answer, since other messages may wait for this one.

    Args:
        arguments: Of the call as it is made.
        talk: Its place in a conversation; None if as the model wrote it, it had none.
    """
    if talk is None:
        return True
    to, place = ("agent_name", talk["agent"]) if talk["turn"] == 0 else ("conversation_id", talk["id"])
    known = {"agent_name": None, "conversation_id": None, to: place, "end": talk["end"]}
    return any((arguments.get(name) or None) != (value or None) for name, value in known.items())


def request_of(message: str, agent: AgentDefinition) -> str | Mapping[str, JsonValue]:
    """What the agent is asked with: the fields of its input, if the message is a JSON object, or else a text."""
    if agent.input is None:
        return message
    try:
        value = from_json(message)
    except ValueError:
        return message
    return value if isinstance(value, dict) else message


def grown(talks: Mapping[str, Mapping[str, Any]], results: Iterable[Mapping[str, Any]]) -> Mapping[str, object]:
    """The run's conversations behind some results."""
    return {**talks, **{result["talk"]["id"]: result["talk"]["is"] for result in results if "talk" in result}}
