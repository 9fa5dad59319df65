"""The supervisor's part: whom to ask about a message, and what to make of what they report. Pure functions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stagepost.agents import ChatMessage, ToolCall, ToolMessage, UserMessage, call

from ..knowledge import terms
from ..stocks import COMPANIES
from .understanding import (
    STOCK,
    TOMORROW,
    WEATHER,
    Order,
    cities_in,
    clauses,
    order_in,
    report_in,
    shares_in,
    unknown_place,
    unknown_ticker,
)

MOST: Final = 6  # workers that are asked at once
_FEW: Final = 4  # words: whoever says hello and more asks for something

_ABILITIES: Final = (
    "I can look up the weather of a city or the price of a share, answer questions about stagepost, place an order for "
    "shares, and send a report. Ask for several things at once if you like."
)
_SMALL_TALK: Final = {
    r"(hi|hello|hey|good (morning|afternoon|evening)|hallo|bonjour|hola|moin)\b": f"Hello! {_ABILITIES}",
    r"(thanks?|thank you|thx|great|cool|nice|perfect|wow)\b": "You are welcome. What else would you like to know?",
    r"(bye|goodbye|see you|good night)\b": "Goodbye! This session stays here: open the page again and go on.",
    r"(who|what) are you\b": "I am the supervisor of this service. Four workers help me: one for the weather, one for "
    "stocks, one that searches articles about stagepost, and a desk for orders and reports. On this machine I follow "
    "simple rules; name a provider's model in STAGEPOST_MODEL, and it will take my place.",
    r"how are you\b": "All my workers are well, thank you. What would you like to know?",
    r"(help|what can (you|i) (do|ask)|\?$)": _ABILITIES,
    r"(yes|yeah|no|nope|ok|okay|sure)\b": "Good. Ask me anything about the weather, stocks or stagepost.",
}
_QUESTION: Final = re.compile(
    r"^(how|what|why|who|when|where|which|does|do|did|can|could|is|are|was|explain|tell|describe|define|will|should|may)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ask:
    """A request to a worker."""

    worker: str
    request: str


def supervise(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """Ask workers about the last message of the user; once they have reported, answer it."""
    start = max(index for index, message in enumerate(messages) if isinstance(message, UserMessage))
    reports = [message for message in messages[start:] if isinstance(message, ToolMessage)]
    if reports:
        return composed(reports)
    earlier = [message.text for message in messages[:start] if isinstance(message, UserMessage)]
    found = understood(messages[start].text, earlier)
    if isinstance(found, str):
        return found
    return [call(f"ask_{ask.worker}_agent", request=ask.request) for ask in found]


def understood(text: str, earlier: Sequence[str] = ()) -> list[Ask] | str:
    """Whom to ask about a text, or what to say without asking anybody.

    Args:
        text: What the user says.
        earlier: What the user said before, the oldest first.
    """
    small = next((said for words, said in _SMALL_TALK.items() if re.match(words, text.strip(), re.IGNORECASE)), None)
    if small is not None and len(text.split()) <= _FEW:
        return small
    asks: list[Ask] = []
    for clause in clauses(text):
        asks += [ask for ask in _asked(clause, "?" in text, earlier) if ask not in asks]
    if asks:
        return asks[:MOST]
    if WEATHER.search(text):
        return "The weather of which city? I know some 70, such as Miami, Paris and Tokyo."
    if STOCK.search(text) or order_in(text):
        return "Which company do you mean? I know some 30, such as Apple (AAPL), Siemens (SIE) and Toyota (TM)."
    return small or f"I am not sure what you would like to know. {_ABILITIES}"


def composed(reports: Sequence[ToolMessage]) -> str:
    """One answer of what the workers have reported."""
    good = [report.text.strip() for report in reports if not report.is_error]
    bad = [
        f"One of my workers could not help this time. {report.text.strip()}" for report in reports if report.is_error
    ]
    if len(good) > 2 and all("\n" not in text for text in good):  # noqa: PLR2004  # a list reads better
        good = ["\n".join(f"- {text}" for text in good)]
    return "\n\n".join(dict.fromkeys([*good, *bad]))


def _asked(clause: str, is_question: bool, earlier: Sequence[str]) -> list[Ask]:  # noqa: FBT001  # a private helper
    if report_in(clause) is not None:
        return [Ask("desk", clause)]
    order = order_in(clause)
    if order is not None:
        return _ordered(order, earlier)
    cities, shares = cities_in(clause), shares_in(clause)
    if not cities and not shares:
        cities, shares = _places(clause, earlier), _tickers(clause, earlier)
    if cities or shares:
        day = " tomorrow" if TOMORROW.search(clause) else ""
        weather = [Ask("weather", f"What is the weather in {city}{day}?") for city in cities]
        return weather + [Ask("stock", f"What is the price of {_known(ticker)}?") for ticker in shares]
    if WEATHER.search(clause) or STOCK.search(clause) or not (is_question or _QUESTION.match(clause)):
        return []
    if terms(clause):
        return [Ask("knowledge", clause[0].upper() + clause[1:] + ("?" if is_question else ""))]
    before = next((said for said in reversed(earlier) if terms(said) and not cities_in(said + " ")), None)
    return [] if before is None else [Ask("knowledge", f"{before} {clause}")]


def _ordered(order: Order, earlier: Sequence[str]) -> list[Ask]:
    before = [ticker for said in reversed(earlier) for ticker in shares_in(said)]
    ticker = order.ticker or next(iter(before), None)
    if ticker is None:
        return []
    many = "" if order.quantity is None else f"{order.quantity} "
    return [Ask("desk", f"{order.side.capitalize()} {many}shares of {_known(ticker)}.")]


def _places(clause: str, earlier: Sequence[str]) -> list[str]:
    """Cities that we do not know, or of which was spoken before."""
    if not WEATHER.search(clause) and not re.match(r"(and |what about )?(for )?tomorrow", clause, re.IGNORECASE):
        return []
    unknown = unknown_place(clause)
    if unknown is not None:
        return [unknown]
    return next((found for said in reversed(earlier) if (found := cities_in(said))), [])


def _tickers(clause: str, earlier: Sequence[str]) -> list[str]:
    """Shares that we do not know, or of which was spoken before."""
    if not STOCK.search(clause):
        return []
    unknown = unknown_ticker(clause)
    if unknown is not None:
        return [unknown]
    return next((found for said in reversed(earlier) if (found := shares_in(said))), [])


def _known(ticker: str) -> str:
    return f"{COMPANIES[ticker]} ({ticker})" if ticker in COMPANIES else ticker
