"""What runs wait for: the page that an operator opens first."""

from collections.abc import Sequence
from typing import Final

from stagepost.checkpoint import WaitKind

from .._wire._waits import WaitRow
from ._answering import asked, item
from ._asking import Ask
from ._bodies import Form
from ._shown import Shown

_KINDS: Final = (
    ("answer", "For people", WaitKind.ANSWER),
    ("effect", "In doubt", WaitKind.EFFECT),
    ("signal", "Signals", WaitKind.SIGNAL),
    ("timer", "Timers", WaitKind.TIMER),
    ("child", "Child runs", WaitKind.CHILD),
)
_PAGE: Final = 15
_NOTHING: Final = Form({})


async def inbox(ask: Ask) -> Shown:
    """What runs wait for, the first page of it or a later one; effects in doubt come before all else."""
    chosen, of = ask.given("kind") or "answer", ask.given("run")
    kind = next((kind for key, _, kind in _KINDS if key == chosen), WaitKind.ANSWER)
    page = await ask.sight.waits(ask.caller, of or None, kind=kind, after=ask.given("after") or None, limit=_PAGE)
    doubts: Sequence[WaitRow] = ()
    if kind is WaitKind.ANSWER and not ask.given("after"):
        doubts = (await ask.sight.waits(ask.caller, of or None, kind=WaitKind.EFFECT, limit=_PAGE)).waits
    values = {
        "items": [item(await asked(ask, each), _NOTHING, {}) for each in (*doubts, *page.waits)],
        "damaged": page.damaged,
        "tabs": [
            (ask.url(run=of, kind="" if key == "answer" else key), title, key == kind.value) for key, title, _ in _KINDS
        ],
        "first": ask.url(run=of, kind=ask.given("kind")) if ask.given("after") else "",
        "next": page.next and ask.url(run=of, kind=ask.given("kind"), after=page.next),
        "back": "",
        "kind": kind.value,
        "of": of,
    }
    return Shown("inbox", "Inbox", values, parts=("list",), section="inbox")
