"""What a text is about: which cities, which shares, what the desk is to do. Pure functions, and no grammar."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from stagepost.agents import ChatMessage, UserMessage

from ..stocks import COMPANIES
from ..weather import CITIES

_NICKNAMES: Final = {
    "nyc": "New York",
    "sf": "San Francisco",
    "la": "Los Angeles",
    "rio": "Rio de Janeiro",
    "münchen": "Munich",
    "köln": "Frankfurt",
    "wien": "Vienna",
    "roma": "Rome",
    "zürich": "Zurich",
    "genf": "Geneva",
    "são paulo": "Sao Paulo",
    "bogotá": "Bogota",
    "reykjavík": "Reykjavik",
    "kiev": "Kyiv",
}
_OTHER_NAMES: Final = {"alphabet": "GOOGL", "facebook": "META", "coke": "KO", "nestlé": "NESN", "vw": "VOW3"}

WEATHER: Final = re.compile(
    r"\b(weather|temperatures?|forecast|rain\w*|sun|sunny|snow\w*|wind\w*|hot|cold|warm|degrees|umbrella|outside)\b",
    re.IGNORECASE,
)
STOCK: Final = re.compile(r"\b(stocks?|shares?|prices?|ticker|trading|quotes?|market)\b", re.IGNORECASE)
TOMORROW: Final = re.compile(r"\btomorrow\b", re.IGNORECASE)
_PLACE: Final = re.compile(r"\b(?:in|at|for)\s+(?:the\s+)?(\w[\w'-]*(?:\s+[A-Z][\w'-]*)*)")
_TICKER: Final = re.compile(r"\b[A-Z]{2,5}\b")
_ORDER: Final = re.compile(r"^(?:.*\b(?:to|please|you|and|i'd|we)\s+)?(buy|purchase|order|sell)\b", re.IGNORECASE)
_REPORT: Final = re.compile(
    r"\b(?:send|e?mail|write)\b.*\b(?:reports?|mail|summary|note)\b|\be?mail\b.*@", re.IGNORECASE
)
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ABOUT: Final = re.compile(r"\b(?:about|on|of)\s+(.+?)(?:\s+to\s+\S+@\S+|\s+to\s+[A-Z]\w+)?[.?!]*$", re.IGNORECASE)
_CLAUSES: Final = re.compile(
    r"[?!;\n]+\s*|\.\s+|,?\s+(?:and|then|also)\s+(?=(?:how|what|why|who|when|where|does|do|can|is|are|send|buy|sell|"
    r"order|mail|tell|then|explain)\b)",
    re.IGNORECASE,
)
_SIDES: Final[Mapping[str, Literal["buy", "sell"]]] = {"buy": "buy", "purchase": "buy", "order": "buy", "sell": "sell"}


@dataclass(frozen=True)
class Order:
    """An order for shares.

    Attributes:
        side: Whether to buy or to sell.
        ticker: Of the share; None if none was named.
        quantity: How many; None if nothing was said.
    """

    side: Literal["buy", "sell"]
    ticker: str | None
    quantity: int | None


@dataclass(frozen=True)
class Report:
    """A report to somebody."""

    to: str
    subject: str


def last_words(messages: Sequence[ChatMessage]) -> str:
    """What the user has said last."""
    return next((message.text for message in reversed(messages) if isinstance(message, UserMessage)), "")


def clauses(text: str) -> list[str]:
    """The parts of a text that may ask for different things."""
    return [clause.strip() for clause in _CLAUSES.split(text[:2000]) if clause.strip()]


def cities_in(text: str) -> list[str]:
    """The cities that a text names, in the order of the text."""
    return _named(text, {**{city.casefold(): city for city in CITIES}, **_NICKNAMES})


def shares_in(text: str) -> list[str]:
    """The tickers of the companies and shares that a text names, in the order of the text."""
    names = {company.casefold(): ticker for ticker, company in COMPANIES.items()} | _OTHER_NAMES
    found = _named(text, names)
    capitals = [ticker for ticker in _TICKER.findall(text) if ticker in COMPANIES]
    return list(dict.fromkeys([*found, *capitals]))


def unknown_place(text: str) -> str | None:
    """A place that is no city we know."""
    found = _PLACE.search(text)
    return None if found is None or TOMORROW.match(found[1]) or found[1].casefold() in ("general", "it") else found[1]


def unknown_ticker(text: str) -> str | None:
    """A word that looks like a ticker and is none we know."""
    return next(iter(_TICKER.findall(text)), None)


def order_in(text: str) -> Order | None:
    """The order that a text asks for, if it does."""
    found = _ORDER.search(text)
    if found is None:
        return None
    shares = shares_in(text)
    number = re.search(r"\b(\d{1,4})\b", text)
    return Order(_SIDES[found[1].casefold()], shares[0] if shares else None, int(number[1]) if number else None)


def report_in(text: str) -> Report | None:
    """The report that a text asks for, if it does."""
    if _REPORT.search(text) is None:
        return None
    address, about = _ADDRESS.search(text), _ABOUT.search(text)
    person = re.search(r"\bto\s+([A-Z]\w+)", text)
    to = address[0] if address else f"{person[1].casefold()}@example.org" if person else "team@example.org"
    return Report(to, about[1] if about else "today")


def _named(text: str, names: Mapping[str, str]) -> list[str]:
    folded = text.casefold()
    places = {
        found.start(): names[name]
        for name in names
        if (found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded)) is not None
    }
    return list(dict.fromkeys(places[place] for place in sorted(places)))
