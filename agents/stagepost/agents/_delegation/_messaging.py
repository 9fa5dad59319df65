"""The tool ``message_agent``: its parameters, and the conversation of each call.

A conversation is a sequence of child runs of one agent: each message starts the next one, which begins with what was
said before. Calls to one conversation run one after another, in order; which call is which turn is decided when the
model has answered, and saved with its answer.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from .._definition._definition import MESSAGE_AGENT, AgentDefinition
from .._tools._arguments import InvalidArguments
from .._tools._tool import Tool, tool
from ._calls import Lane, PendingCall, Place, Talk

_LONGEST: Final = 60  # characters of a name in an id
IDLE: Final = 300.0  # seconds; then a conversation has ended, unless an agent says otherwise

_ABOUT: Final = """Send a message to another agent and wait for its answer.

Give agent_name to start a conversation, or conversation_id to go on with one; conversations with several agents, or
several with one, may go on at once. The agent knows nothing but what was said in its conversation. The result is an
object of conversation_id, agent_name, response and is_complete: once that is true, the conversation has ended.

Agents:
"""


def message_tool(agents: Sequence[AgentDefinition]) -> Tool[..., object]:
    """The tool with which a model talks to these agents."""

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
    calls: Sequence[PendingCall],
    talks: Mapping[str, Talk],
    messages: Tool[..., object] | None,
    *,
    now: float,
) -> Sequence[Lane]:
    """Calls that may run at once: each call by itself, but all messages to one conversation in order.

    Args:
        calls: The calls of an answer.
        talks: The run's conversations, by id.
        messages: The tool; None if the agent has nobody to talk to.
        now: When the model answered. That counts as the time of its messages, however long they take to arrive.
    """
    made: dict[str, list[PendingCall]] = {}
    for call in calls:
        placed = call if messages is None or call.name != MESSAGE_AGENT else _placed(call, talks, made, messages, now)
        made.setdefault(placed.number if placed.talk is None else placed.talk.id, []).append(placed)
    return [tuple(lane) for lane in made.values()]


def _placed(
    call: PendingCall,
    talks: Mapping[str, Talk],
    made: Mapping[str, Sequence[PendingCall]],
    messages: Tool[..., object],
    now: float,
) -> PendingCall:
    """The call with its place in a conversation, or with a complaint."""
    try:
        arguments = messages.parse(call.arguments)
    except InvalidArguments:
        return call  # the error appears when the call is made
    agent, known, end = arguments.get("agent_name"), arguments.get("conversation_id"), bool(arguments.get("end"))
    if (agent is None) == (known is None):
        why = "give either agent_name, to start a conversation, or conversation_id, to go on"
        return call._replace(complaint=why)
    if agent is not None:
        return call._replace(talk=Place(new_conversation(str(agent), call.number), str(agent), 0, end))
    return _continued(call, str(known), talks, made.get(str(known), ()), now, end=end)


def new_conversation(agent: str, number: str) -> str:
    """The id of the conversation that a call starts.

    Args:
        agent: Name of the agent.
        number: Number of the call.
    """
    return f"{agent[:_LONGEST]}-{number}"


def turn_key(conversation_id: str, turn: int) -> str:
    """The key of the run of a turn of a conversation, below the run that has sent the message."""
    return f"{conversation_id}-{turn}"


def _continued(
    call: PendingCall, known: str, talks: Mapping[str, Talk], earlier: Sequence[PendingCall], now: float, *, end: bool
) -> PendingCall:
    """The call as the next turn of a conversation, or why it cannot be."""
    talk = talks.get(known)
    if talk is None:
        there = ", ".join(talks) or "none"
        return call._replace(complaint=f"there is no conversation {known!r}; there are: {there}")
    if talk.ended or any(other.talk is not None and other.talk.end for other in earlier):
        return call._replace(complaint=f"conversation {known!r} has ended: start another one with agent_name")
    place = Place(known, talk.agent, talk.turns + len(earlier), end)
    late = talk.idle if talk.is_late(now) else None
    return call._replace(talk=place if earlier else place._replace(run=talk.run, late=late))


def is_readdressed(arguments: Mapping[str, object], talk: Place) -> bool:
    """Whether somebody changed, after the model's answer, the recipient of a message or whether it is the last one.

    Both are decided with the answer, since other messages may wait for this one.

    Args:
        arguments: Of the call as it is made.
        talk: Its place in a conversation.
    """
    to, place = ("agent_name", talk.agent) if talk.turn == 0 else ("conversation_id", talk.id)
    known = {"agent_name": None, "conversation_id": None, to: place, "end": talk.end}
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
