"""Adaptive cards for Teams, within their size."""

import json
from collections.abc import Sequence
from typing import Final

from ._cards import Element, elements, run
from ._flow import Flow
from ._guide import StyleGuide
from ._limits import ChannelLimit
from ._rendering import rendered
from ._reply import Action, Reply
from ._response import FormattedResponse, ResponseMetadata, ResponsePart
from ._splitting import beginning

_SCHEMA: Final = "http://adaptivecards.io/schemas/adaptive-card.json"
_VERSION: Final = "1.5"
_MOST_ACTIONS: Final = 6  # Teams shows no more
_INSIDE: Final = {"Table": "rows", "Container": "items", "RichTextBlock": "inlines"}  # of what may be cut, what it has
_SHORTEST: Final = 40  # bytes of text: less is no help to a reader


class TeamsFormatter:
    """An adaptive card: texts, tables, code and pictures as elements, with a button for each action.

    What does not fit into 28 KB is cut: whole elements, rows and sentences stay, and a sentence says that the end is
    missing.
    """

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        """Format a reply: see `Formatter`."""
        body = elements(reply.text)
        card = _card(body, reply.actions)
        is_cut = limit.max_bytes is not None and size_of(card) > limit.max_bytes
        if is_cut and limit.max_bytes is not None:
            note = {"type": "TextBlock", "text": guide.texts.cut, "wrap": True, "isSubtle": True}
            room = limit.max_bytes - size_of(_card([note], reply.actions))
            card = _card([*cut(body, room), note], reply.actions)
        content = rendered(reply.text).text
        return FormattedResponse(
            markup="card",
            parts=(ResponsePart(sequence=1, content=content, card=card),),
            metadata=ResponseMetadata(characters=len(content), size=size_of(card), is_cut=is_cut),
        )


def size_of(value: object) -> int:
    """The bytes of a value as JSON, as it is sent."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def cut(body: Sequence[Element], room: int) -> list[Element]:
    """The beginning of a card's elements.

    Args:
        body: All of them.
        room: Bytes that they may take, commas included.
    """
    made: list[Element] = []
    for element in body:
        needed = size_of(element) + 1
        if needed > room:
            shorter = _shorter(element, room - 1)
            return made if shorter is None else [*made, shorter]
        made.append(element)
        room -= needed
    return made


def _shorter(element: Element, room: int) -> Element | None:
    """As much of an element as there is room for; None if that is nothing that helps."""
    if element["type"] == "TextRun":
        return _shorter_run(element, room)
    name = _INSIDE.get(element["type"])
    if name is None:
        return None
    inside = cut(element[name], room - size_of({**element, name: []}))
    least = 2 if element["type"] == "Table" else 1  # the head of a table alone says nothing
    return {**element, name: inside} if len(inside) >= least else None


def _shorter_run(element: Element, room: int) -> Element | None:
    text = element["text"]
    left = room - size_of({**element, "text": ""})
    if left < _SHORTEST:
        return None
    length = len(text)
    while length and size_of(text[:length]) - 2 > left:  # escapes and letters take more than a byte
        length = min(length - 1, length * left // (size_of(text[:length]) - 2))
    shown = beginning(Flow(text), length) if length else ""
    return {**element, "text": shown} if shown.strip() else None


def _card(body: Sequence[Element], actions: Sequence[Action]) -> Element:
    card: Element = {"type": "AdaptiveCard", "$schema": _SCHEMA, "version": _VERSION, "body": list(body)}
    if actions:
        card["actions"] = [_button(action) for action in actions[:_MOST_ACTIONS]]
        card["body"] = [*body, *_further(actions[_MOST_ACTIONS:])]
    return card


def _further(actions: Sequence[Action]) -> list[Element]:
    """Actions that Teams would not show as buttons, as text."""
    return [{"type": "RichTextBlock", "inlines": [run(f"{each.title}: {each.url or ''}")]} for each in actions]


def _button(action: Action) -> Element:
    if action.url is not None:
        return {"type": "Action.OpenUrl", "title": action.title, "url": action.url}
    return {"type": "Action.Submit", "title": action.title, "data": action.data}
