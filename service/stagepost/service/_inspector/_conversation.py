"""What was said between an agent, its model and its tools, with what it has used."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException

from ._asking import Ask
from ._run import followed, is_agent
from ._shown import Shown

_PAGE: Final = 60
_LENGTHS: Final = (4_000, 2_000, 1_000, 500, 200)  # characters of a text, as many as there is room for
_TOGETHER: Final = 24_000


async def conversation(ask: Ask) -> Shown:
    """The transcript of an agent's task, from its end on."""
    run_id = ask.path("run_id")
    shown = await ask.sight.get(ask.caller, run_id)
    state: Mapping[str, Any] = shown.state
    if not is_agent(state):
        raise HTTPException(404, "This run is no task of an agent")
    messages: list[Any] = state["messages"]
    last = _number(ask.given("until"), len(messages))
    first = max(last - _PAGE, 0)
    numbered = _numbered(messages, first, last)
    values = {
        "run": shown.run,
        "messages": numbered,
        "most": _most([text for _, message in numbered for text in _texts(message)]),
        "earlier": first and ask.url("runs", run_id, "conversation", until=first),
        "later": last < len(messages) and ask.url("runs", run_id, "conversation"),
        "count": len(messages),
        "spent": state["spent"],
        "below": _below(state),
        "output": shown.output,
    }
    rung = followed(shown.run.status, run_id)
    return Shown("conversation", f"Conversation of {run_id}", values, parts=("talk",), section="runs", run_id=rung)


def _numbered(messages: Sequence[Any], first: int, last: int) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """Messages with their numbers; each call of a tool with what came of it beside the calls."""
    return [(number, each) for number, each in enumerate(messages[first:last], first) if isinstance(each, dict)]


def _texts(message: Mapping[str, Any]) -> Sequence[str]:
    """What a message shows that may be long."""
    calls = [str(each.get("arguments", "")) for each in message.get("calls") or () if isinstance(each, dict)]
    return [str(message.get("text") or ""), str(message.get("thinking") or ""), *calls]


def _most(texts: Sequence[str]) -> int:
    """How many characters of each are shown, so that the page stays small."""
    return next((each for each in _LENGTHS if sum(min(len(text), each) for text in texts) <= _TOGETHER), _LENGTHS[-1])


def _below(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """What its sub-agents have used together, if any have."""
    nested = state.get("nested")
    found = nested.get("below") if isinstance(nested, dict) else None
    return found if isinstance(found, dict) else {}


def _number(text: str, most: int) -> int:
    return min(int(text), most) if text.isdecimal() and len(text) < len(str(most)) + 2 else most
