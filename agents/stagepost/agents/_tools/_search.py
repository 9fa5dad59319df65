"""Searching for tools: a plain full-text ranking over names and descriptions.

A text is its words: runs of letters and digits, ``camelCase`` split, in lower case. A word of the query scores in a
tool by where it is found: 3 in the name, 1 in the description; half of that if one is only the beginning of the other,
with at least four letters in common (``invoice`` and ``invoices``). Each word counts by how few tools have it: times
``log(1 + number of tools / number of tools that have it)``. Tools with less than a quarter of the best score are not
found. Equal scores keep the order of the tools.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log
from typing import Final

from stagepost._dataclasses import dataclass

from ._arguments import read_arguments
from ._returned import ToolResult
from ._tool import Tool

SEARCH_TOOLS: Final = "search_tools"

_MOST: Final = 8  # tools that one search finds
_IN_NAME: Final = 3.0
_IN_DESCRIPTION: Final = 1.0
_COMMON: Final = 4  # letters
_LEAST: Final = 0.25  # of the best score
_WORD: Final = re.compile(r"[^\W_]+")
_WITHIN: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where a word of camelCase begins
_ABOUT: Final = (
    "There are more tools than you see. Search for what you need; what is found can be called from your next turn on."
)


@dataclass(frozen=True, eq=False)
class SearchTool(Tool[..., object]):
    """The tool with which a model searches for others.

    Attributes:
        hidden: What there is to find.
    """

    hidden: Sequence[Tool[..., object]] = ()

    def over(self, hidden: Sequence[Tool[..., object]]) -> "SearchTool":
        """The same for other tools."""
        return replace(self, hidden=hidden)

    def find(self, query: str) -> Sequence[Tool[..., object]]:
        """The tools that fit a query best, the best one first."""
        return ranked(query, self.hidden)

    def told(self, found: Sequence[Tool[..., object]]) -> ToolResult:
        """What the model is told of the tools that were found."""
        if not found:
            return ToolResult(f"No tool fits. There are {len(self.hidden)} to search in: use other words.")
        lines = [f"- {each.name}: {each.description}" if each.description else f"- {each.name}" for each in found]
        return ToolResult("\n".join(["From your next turn on you can call:", *lines]))


def search_tool() -> SearchTool:
    """A tool that finds nothing yet."""

    def search(query: str) -> None:
        """What a call looks like."""

    about = "Words for what the tool does, or parts of its name."
    return SearchTool(
        name=SEARCH_TOOLS,
        description=_ABOUT,
        idempotent=True,
        timeout=None,
        function=search,
        retries=None,
        _arguments=read_arguments(SEARCH_TOOLS, search, {"query": about}),
    )


def ranked(query: str, tools: Sequence[Tool[..., object]], most: int = _MOST) -> Sequence[Tool[..., object]]:
    """The tools that fit a query best, the best one first.

    Args:
        query: What is searched for.
        tools: What there is.
        most: How many at most.
    """
    words = dict.fromkeys(_words(query))
    texts = [(tuple(_words(each.name)), tuple(_words(each.description))) for each in tools]
    scores = [0.0] * len(tools)
    for word in words:
        found = [_score(word, name, description) for name, description in texts]
        count = sum(score > 0 for score in found)
        for index, score in enumerate(found):
            if score:
                scores[index] += score * log(1 + len(tools) / count)
    least = max(scores, default=0.0) * _LEAST
    order = sorted((index for index, score in enumerate(scores) if score > least), key=lambda index: -scores[index])
    return [tools[index] for index in order[:most]]


def _score(word: str, name: Iterable[str], description: Iterable[str]) -> float:
    return max(_IN_NAME * _likeness(word, name), _IN_DESCRIPTION * _likeness(word, description))


def _likeness(word: str, words: Iterable[str]) -> float:
    likeness = 0.0
    for other in words:
        if other == word:
            return 1.0
        if min(len(word), len(other)) >= _COMMON and (other.startswith(word) or word.startswith(other)):
            likeness = 0.5
    return likeness


def _words(text: str) -> Iterable[str]:
    return (found.lower() for found in _WORD.findall(_WITHIN.sub(" ", text)))
