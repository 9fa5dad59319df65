"""A team whose tasks are listened to: what its agents say depends on nothing but what was said to them before.

The lead asks two agents at once, in conversations of several turns, calls a third one as a tool, as do these, makes
calls that have to be approved, several in one answer, and one that is parked if a process ends during it. Its model
sees the last turns only. A task whose request begins with "frail" fails at its second answer until somebody has healed
it.
"""

from collections.abc import Sequence
from pathlib import Path

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    ContextPolicy,
    FunctionModel,
    KeepLast,
    ModelRejected,
    ModelRequest,
    ModelResponse,
    ToolCall,
    call,
    tool,
)

FRAIL = "frail"
_FREE = Budget(turns=None, tool_calls=None)


def _said(text: str, *calls: ToolCall, thinking: str = "") -> ModelResponse:
    named = [made.model_copy(update={"id": f"call-{number}"}) for number, made in enumerate(calls)]
    return ModelResponse(text=text, calls=named, thinking=thinking)


def _talk(message: str, to: str = "", *, on: str = "", end: bool = False) -> ToolCall:
    where = {"agent_name": to} if to else {"conversation_id": on}
    return call("message_agent", message=message, end=end, **where)


LEAD: Sequence[ModelResponse] = (
    _said(
        "Let me see.",
        call("look", city="Oslo"),
        call("pay", sum=1, of=2),
        call("pay", sum=2, of=2),
        call("note", text="a"),
    ),
    _said(
        "I ask around.",
        _talk("How is Oslo?", "scout"),
        _talk("How is Rome?", "scout"),
        call("almanac", request="When is high tide?"),
        thinking="Two scouts know more than one.",
    ),
    _said("", _talk("And how was it before?", on="scout-1-0"), _talk("Say something.", "clumsy"), call("wire", sum=3)),
    *(_said(f"Look {number}.", call("look", city=f"city {number}")) for number in range(4)),
    _said("", _talk("What else?", on="scout-1-1", end=True), call("pay", sum=5, of=1)),
    _said("It is fine in Oslo, and in Rome, too. All is paid."),
    _said("Once more.", call("look", city="Bern"), call("almanac", request="And tomorrow?")),  # of a follow-up
    _said("It is fine in Bern."),
)
FRAIL_LEAD: Sequence[ModelResponse] = (
    _said("", call("look", city="Oslo"), call("note", text="frail")),
    _said("", call("look", city="Rome"), call("pay", sum=7, of=1)),  # asked for in vain at first
    _said("Well again."),
)
SCOUT: Sequence[ModelResponse] = (
    _said("", call("walk", where="there")),
    _said("It is fine."),
    _said("", call("walk", where="there again"), call("mail", to="ann", of=1), call("almanac", request="And there?")),
    _said("It was fine."),
)
ALMANAC: Sequence[ModelResponse] = (
    _said("", call("look", city="the sea")),
    _said("", call("look", city="the moon"), call("look", city="the sun")),
    _said("At two."),
)


@tool(idempotent=True)
async def look(city: str) -> str:
    """Look at a city."""
    return f"{city} is there, and it is fine. " * 3


@tool
async def note(text: str) -> str:
    """Note a text."""
    return f"noted {text}"


@tool
async def walk(where: str) -> str:
    """Walk somewhere."""
    return f"walked {where}"


@tool(needs_approval=True)
async def pay(sum: int, of: int) -> str:  # noqa: A002  # what the model reads
    """Pay a sum, one of so many in this answer."""
    return f"paid {sum} of {of}"


@tool(needs_approval=True)
async def mail(to: str, of: int) -> str:
    """Send a mail."""
    return f"sent to {to} of {of}"


@tool(on_unknown="park")
async def wire(sum: int) -> str:  # noqa: A002  # what the model reads
    """Wire a sum."""
    return f"wired {sum}"


def team(folder: Path) -> Agent[str]:
    """The agents as each process builds them.

    Args:
        folder: Where it is noted which tasks are healed.
    """

    def lead(request: ModelRequest) -> ModelResponse:
        asked = next(message.text for message in request.messages if message.role == "user")
        if not asked.startswith(FRAIL):
            return LEAD[request.answers]
        if request.answers == 1 and not healed(folder, asked).exists():
            raise ModelRejected("lead", "not today")
        return FRAIL_LEAD[request.answers]

    def refuse(_: ModelRequest) -> ModelResponse:
        raise ModelRejected("clumsy", "never")

    almanac = Agent("almanac", "Say when the tide is high.", model=_scripted(ALMANAC), tools=[look])
    scout = Agent("scout", "Walk.", model=_scripted(SCOUT), tools=[walk, mail, AgentTool(almanac)])
    clumsy = Agent("clumsy", "Fail.", model=FunctionModel(refuse))
    return Agent(
        "lead",
        "Lead.",
        model=FunctionModel(lead),
        tools=[look, note, pay, wire, AgentTool(almanac)],
        sub_agents=[scout, clumsy],
        context=ContextPolicy(messages=12, compact=[KeepLast(turns=2)]),
        budget=_FREE,
    )


def healed(folder: Path, request: str) -> Path:
    """The file that exists once the task with this request may go on."""
    return folder / f"healed {request}"


def _scripted(script: Sequence[ModelResponse]) -> FunctionModel:
    return FunctionModel(lambda request: script[request.answers])
