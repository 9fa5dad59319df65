"""What an answer says that the tools of the workers have not: pure checks over both.

Numbers and titles are looked for in what the workers' tools have returned, not in what the workers have made of it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from pydantic_core import from_json

from stagepost._dataclasses import dataclass

_DEGREES: Final = 1.0
_CENTS: Final = 0.01
_MINUS: Final = "\N{MINUS SIGN}"
_TEMPERATURE: Final = re.compile(
    rf"((?:(?<![\d.,])[-{_MINUS}])?\d+(?:[.,]\d+)?)\s*(?:°\s*([CF])\b|degrees?\s+(celsius|fahrenheit))", re.IGNORECASE
)
_AMOUNT: Final = r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_PRICE: Final = re.compile(rf"[$€£]\s?{_AMOUNT}|{_AMOUNT}\s?(?:USD|EUR|GBP|dollars?|euros?)\b", re.IGNORECASE)
_CITED: Final = re.compile(r"\[([^\[\]\n]{1,200})\]")
_NUMBER: Final = re.compile(r"\d{1,3}")


@dataclass(frozen=True, slots=True)
class ToolEvidence:
    """What a tool of a worker has returned.

    Attributes:
        worker: Name of the worker.
        tool: Name of the tool.
        text: The result; of most tools JSON.
    """

    worker: str
    tool: str
    text: str

    @property
    def value(self) -> Any:
        """The result as JSON values; the text if it is no JSON."""
        try:
            return from_json(self.text)
        except ValueError:
            return self.text


Check: TypeAlias = Callable[[str, Sequence[ToolEvidence]], Sequence[str]]
"""What is wrong with an answer, one sentence each, given what tools have returned; nothing if it is in order."""


def check_temperatures(answer: str, evidence: Sequence[ToolEvidence]) -> Sequence[str]:
    """Temperatures that differ by more than one degree from each that a tool has reported, in °C or °F."""
    known = list(_numbers_beside("temp", evidence))
    found = []
    for match in _TEMPERATURE.finditer(answer):
        value = float(match[1].replace(_MINUS, "-").replace(",", "."))
        unit = (match[2] or match[3])[0].upper()
        celsius = value if unit == "C" else (value - 32) / 1.8
        fahrenheit = value if unit == "F" else value * 1.8 + 32
        near = any(abs(each - given) <= _DEGREES + 1e-9 for each in known for given in (celsius, fahrenheit))
        if known and not near:
            found.append(f"the temperature {match[0]!r} is none that a tool has reported")
    return found


def check_prices(answer: str, evidence: Sequence[ToolEvidence]) -> Sequence[str]:
    """Prices that differ by more than 0.01 from each number that a tool has reported beside a price."""
    known = list(_numbers_beside("price", evidence))
    found = []
    for match in _PRICE.finditer(answer):
        value = float((match[1] or match[2]).replace(",", ""))
        if known and not any(abs(each - value) <= _CENTS + 1e-9 for each in known):
            found.append(f"the price {match[0]!r} is none that a tool has reported")
    return found


def check_citations(answer: str, evidence: Sequence[ToolEvidence]) -> Sequence[str]:
    """Answers from found texts that cite none of them, and cited titles that were not found.

    A citation is a title in brackets, ``[The tides of Bergen]``, or the number of a hit, ``[2]``.
    """
    titles = [title for each in evidence for title in _titles(each.value)]
    if not titles:
        return ()
    cited = [each.strip() for each in _CITED.findall(answer)]
    known = {title.casefold() for title in titles}
    wrong = [each for each in cited if not _is_cited(each, known, len(titles))]
    found = [f"the cited title {each!r} is none that was found" for each in wrong]
    if len(wrong) == len(cited) and not any(title in answer.casefold() for title in known):
        found.append("the answer cites none of the texts that were found")
    return found


def _is_cited(cited: str, titles: set[str], count: int) -> bool:
    """Whether a citation is that of a text that was found."""
    if _NUMBER.fullmatch(cited):
        return 1 <= int(cited) <= count
    return any(cited.casefold() in title or title in cited.casefold() for title in titles)


def _numbers_beside(word: str, evidence: Sequence[ToolEvidence]) -> Iterator[float]:
    """All numbers of results that have a key with this word."""
    for each in evidence:
        value = each.value
        if any(word in key.casefold() for key in _keys(value)):
            yield from _numbers(value)


def _keys(value: Any) -> Iterator[str]:
    for each in _objects(value):
        yield from each


def _titles(value: Any) -> Iterator[str]:
    for each in _objects(value):
        title = each.get("title")
        if isinstance(title, str) and title.strip():
            yield title.strip()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _numbers(value: Any) -> Iterator[float]:
    """All numbers in a JSON value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
