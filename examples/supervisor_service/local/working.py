"""The workers' parts: which call a request needs, and its result as a sentence. Pure functions."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from stagepost.agents import ChatMessage, ToolCall, ToolMessage, call

from ..knowledge import terms
from .understanding import TOMORROW, cities_in, last_words, shares_in, unknown_place, unknown_ticker

_SENTENCES: Final = re.compile(r"(?<=[.!?]) +")
_FAILS: Final = re.compile(r"bermuda triangle", re.IGNORECASE)
_AT_LEAST: Final = 1 / 3  # of the words of a question, for an article to be about it


def weather(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """The worker for the weather.

    Raises:
        ConnectionError: The Bermuda Triangle was asked about: nothing ever comes back from there.
    """
    request = last_words(messages)
    if _FAILS.search(request):
        raise ConnectionError("the connection to the Bermuda Triangle was lost")
    results = _results(messages)
    if not results:
        cities = cities_in(request) or [unknown_place(request) or request[:80]]
        return [call("get_weather", city_name=city) for city in cities]
    return " ".join(_weather(result, is_later=bool(TOMORROW.search(request))) for result in results)


def stock(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """The worker for stocks."""
    request = last_words(messages)
    results = _results(messages)
    if not results:
        tickers = shares_in(request) or [unknown_ticker(request) or request[:20]]
        return [call("get_stock_price", ticker=ticker) for ticker in tickers]
    return " ".join(map(_price, results))


def knowledge(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """The worker that searches articles."""
    request = last_words(messages)
    results = _results(messages)
    if not results:
        return [call("search_knowledge", query=request)]
    hits = [] if results[0].is_error else json.loads(results[0].text)
    return _cited(hits, terms(request))


def _results(messages: Sequence[ChatMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def _weather(result: ToolMessage, *, is_later: bool) -> str:
    if result.is_error:
        return "I have no weather station there. I know some 70 cities, such as Miami, Paris and Tokyo."
    found: dict[str, Any] = json.loads(result.text)
    city, then = found["city"], found["tomorrow"]
    if is_later:
        return f"In {city} we expect {then['condition']} and {then['temperature_c']} °C tomorrow."
    return (
        f"In {city} it is {found['temperature_c']} °C now: {found['condition']}, {found['humidity_percent']} % "
        f"humidity and wind at {found['wind_kmh']} km/h."
    )


def _price(result: ToolMessage) -> str:
    if result.is_error:
        return "I know no share of this name. I know some 30, such as Apple (AAPL), Siemens (SIE) and Toyota (TM)."
    found: dict[str, Any] = json.loads(result.text)
    change = found["change_percent"]
    direction = "up" if change >= 0 else "down"
    return (
        f"{found['company']} ({found['ticker']}) is at {found['price']:.2f} {found['currency']}, "
        f"{direction} {abs(change):.2f} % since yesterday."
    )


def _cited(hits: Sequence[dict[str, Any]], words: Sequence[str]) -> str:
    """The sentences of the best article that fit best, and its title."""
    best = hits[0] if hits else {"title": "", "text": ""}
    if not words or len(_shared(f"{best['title']} {best['text']}", words)) < _AT_LEAST * len(set(words)):
        return "I have found nothing about that in the knowledge base: it has articles about stagepost only."
    sentences = _SENTENCES.split(best["text"])
    ranked = sorted(range(len(sentences)), key=lambda place: (-len(_shared(sentences[place], words)), place))
    chosen = sorted({0, *ranked[:3]})
    answer = " ".join(sentences[place] for place in chosen)
    more = f' See also "{hits[1]["title"]}".' if len(hits) > 1 else ""
    return f"{answer} [{best['title']}]{more}"


def _shared(text: str, words: Sequence[str]) -> set[str]:
    """The words that a text has, endings left aside."""
    folded = text.casefold()
    return {word for word in words if re.search(rf"\b{re.escape(word[: max(4, len(word) - 3)])}", folded)}
