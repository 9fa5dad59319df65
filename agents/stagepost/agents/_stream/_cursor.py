"""Cursors as texts: opaque to readers, and safe in addresses and in the ids of server-sent events.

::

    7c1e-6.2~7a2r~8c1(3.1)      of everything up to message 6; of the call whose result is message 7 everything;
                                of the one whose result is message 8 that its agent has started, and of that agent's
                                messages those up to 3
    7c1e-42.9!completed.1       everything, and the end of the first claim

The four digits tell runs apart, so that a cursor of another one is refused. A number after ``.`` is that of the next
turn, one after ``*`` of the parts of the next message, and a name after ``@`` that of the agent which has the run.
"""

import re
from typing import Final
from zlib import crc32

from ..errors import InvalidCursor
from ._position import CallTold, Cursor, End, Position

_CHECK: Final = 4  # digits
_LONGEST: Final = 20_000  # characters; no stream has such a cursor; longer texts are not even parsed
_DEEPEST: Final = 50
_HEAD: Final = re.compile(r"(-1|\d{1,12})\.(\d{1,12})(?:\*(\d{1,6}))?(?:@([A-Za-z0-9_-]{1,100}))?", re.ASCII)
_CALL: Final = re.compile(
    r"~(\d{1,12})(?:a(\d{1,6}))?(?:q(\d{1,6}))?(?:d(\d{1,6}))?(?:c([12]))?(r)?(h)?(\()?", re.ASCII
)
_END: Final = re.compile(r"!([a-z]{1,20})\.(\d{1,12})", re.ASCII)
_OF_NOBODY: Final = "it is none that a stream has told"


def render(cursor: Cursor, run_id: str) -> str:
    """A cursor as a text.

    Args:
        cursor: The cursor.
        run_id: The run that is read.
    """
    return rendered(check_of(run_id), cursor.position, cursor.end)


def rendered(check: str, position: Position, end: End | None) -> str:
    """The same, for many cursors of one run.

    Args:
        check: `check_of` the run.
        position: How much was told.
        end: The end that was told.
    """
    text = f"{check}-{position_text(position)}"
    return text if end is None else f"{text}!{end.status}.{end.epoch}"


def parse(text: str, run_id: str) -> Cursor:
    """The cursor that a text is.

    Args:
        text: The text.
        run_id: The run that is read.

    Raises:
        InvalidCursor: It is none, or that of another run.
    """
    given: object = text
    if not isinstance(given, str) or len(given) > _LONGEST:
        raise InvalidCursor(str(given)[:_LONGEST], _OF_NOBODY)
    check, separator, rest = text.partition("-")
    try:
        position, at = _position(rest, 0, 0)
    except _Unreadable:
        raise InvalidCursor(text, _OF_NOBODY) from None
    end = _END.fullmatch(rest, at)
    if not separator or (at != len(rest) and end is None):
        raise InvalidCursor(text, _OF_NOBODY)
    if check != check_of(run_id):
        raise InvalidCursor(text, f"it belongs to another run than {run_id!r}")
    return Cursor(position, None if end is None else End(end[1], int(end[2])))


def check_of(run_id: str) -> str:
    """What the cursors of a run begin with."""
    return f"{crc32(run_id.encode(errors='replace')) & 0xFFFF:0{_CHECK}x}"


def position_text(position: Position) -> str:
    """A position as a text."""
    text = f"{position.upto}.{position.turn}"
    if position.said:
        text += f"*{position.said}"
    if position.holder:
        text += f"@{position.holder}"
    return text + "".join([_call_text(place, told) for place, told in sorted(position.calls.items())])


def _call_text(place: int, told: CallTold) -> str:
    text = f"~{place}"
    for letter, count in zip("aqdc", told[:4], strict=True):
        if count:
            text += f"{letter}{count}"
    text += "r" * told.result + "h" * told.handoff
    return text if told.below is None else f"{text}({position_text(told.below)})"


class _Unreadable(Exception):
    """A text is no position."""


def _position(text: str, at: int, depth: int) -> tuple[Position, int]:
    """The position that begins in a text, and where it ends."""
    head = _HEAD.match(text, at)
    if head is None or depth > _DEEPEST:
        raise _Unreadable
    calls: dict[int, CallTold] = {}
    upto, at = int(head[1]), head.end()
    while (found := _CALL.match(text, at)) is not None:
        below, at = None, found.end()
        if found[8]:
            below, at = _position(text, at, depth + 1)
            if text[at : at + 1] != ")":
                raise _Unreadable
            at += 1
        approvals, questions, doubts, agent = (int(found[number] or 0) for number in range(2, 6))
        place = int(found[1])
        if place in calls or place <= upto:
            raise _Unreadable
        calls[place] = CallTold(approvals, questions, doubts, agent, below, bool(found[6]), bool(found[7]))
    return Position(upto, int(head[2]), int(head[3] or 0), calls, head[4] or ""), at
