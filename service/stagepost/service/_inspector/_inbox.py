"""What runs wait for: the page that an operator opens first."""

from typing import Final

from stagepost.checkpoint import WaitKind

from .._wire._waits import WaitRow
from ._asking import Ask
from ._shown import Shown

_KINDS: Final = (
    ("people", "For people", (WaitKind.ANSWER, WaitKind.EFFECT)),
    ("signal", "Signals", (WaitKind.SIGNAL,)),
    ("timer", "Times", (WaitKind.TIMER,)),
    ("child", "Other runs", (WaitKind.CHILD,)),
)
_MOST: Final = 25


async def inbox(ask: Ask) -> Shown:
    """What runs wait for, the first page of it or a later one."""
    asked = ask.given("kind", "people")
    kinds = next((kinds for key, _, kinds in _KINDS if key == asked), _KINDS[0][2])
    waits: list[WaitRow] = []
    for kind in kinds:
        waits += (await ask.sight.waits(ask.caller, kind=kind, limit=_MOST)).waits
    tabs = [(ask.url(kind=None if key == "people" else key), title, key == asked) for key, title, _ in _KINDS]
    return Shown("inbox", "Inbox", {"waits": waits, "tabs": tabs}, parts=("list",), section="inbox")
