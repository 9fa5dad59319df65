"""Topics and their subscribers: words separated by dots, with wildcards as in NATS."""

import re
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from .errors import InvalidTopic

SubscriberT = TypeVar("SubscriberT")

_ONE: Final = "*"
_REST: Final = ">"
_LONGEST: Final = 255
_MATCHES_KEPT: Final = 1024
_SUBSCRIBERS_KEPT: Final = 100_000  # in all matches together

_WILDCARDS: Final = {_ONE: r"[^.]+", _REST: ".+"}

_is_topic = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*").fullmatch
_is_pattern = re.compile(r"(([^\s.*>]+|\*)\.)*([^\s.*>]+|\*|>)").fullmatch


def check_topic(topic: object) -> str:
    """Return a topic that can be published to: words separated by dots, without wildcards.

    Raises:
        InvalidTopic: It is not one.
    """
    if not isinstance(topic, str) or len(topic) > _LONGEST or _is_topic(topic) is None:
        raise InvalidTopic(topic, wildcards=False)
    return topic


def check_pattern(pattern: object) -> str:
    """Return a pattern that can be subscribed to: ``*`` stands for one word, a final ``>`` for one or more.

    Raises:
        InvalidTopic: It is not one.
    """
    if not isinstance(pattern, str) or len(pattern) > _LONGEST or _is_pattern(pattern) is None:
        raise InvalidTopic(pattern, wildcards=True)
    return pattern


def _fixed_start(pattern: str) -> str:
    """What comes before the first wildcard: most topics are told apart by it."""
    return pattern[: min(place for place in (pattern.find(_ONE), pattern.find(_REST)) if place >= 0)]


def _expression(pattern: str) -> Callable[[str], object]:
    """A function that tells whether a pattern with wildcards covers a topic."""
    words = [_WILDCARDS.get(word) or re.escape(word) for word in pattern.split(".")]
    return re.compile(r"\.".join(words), re.DOTALL).fullmatch


class _Node(Generic[SubscriberT]):
    """A node in the tree of patterns: the next words, and the subscribers to exactly this pattern."""

    __slots__ = ("subscribers", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Node[SubscriberT]] = {}
        self.subscribers: dict[SubscriberT, None] = {}


class Topics(Generic[SubscriberT]):
    """All subscriptions. Subscribers of a topic are cached until one of its subscriptions changes.

    The cache is bounded by the topics and by the subscribers that it holds; the oldest topics leave it first.
    """

    __slots__ = ("_kept", "_matches", "_root")

    def __init__(self) -> None:
        self._root: _Node[SubscriberT] = _Node()
        self._matches: dict[str, tuple[SubscriberT, ...]] = {}
        self._kept = 0

    def add(self, pattern: str, subscriber: SubscriberT) -> None:
        """Subscribe; subscribing twice has no effect.

        Raises:
            InvalidTopic: The pattern is invalid.
        """
        node = self._root
        for word in check_pattern(pattern).split("."):
            node = node.words.setdefault(word, _Node())
        node.subscribers[subscriber] = None
        self._forget(pattern)

    def discard(self, pattern: str, subscriber: SubscriberT) -> None:
        """End a subscription, if there is one, and remove nodes of the tree that are no longer needed."""
        path = [self._root]
        words = pattern.split(".")
        for word in words:
            if word not in path[-1].words:
                return
            path.append(path[-1].words[word])
        path[-1].subscribers.pop(subscriber, None)
        for parent, word, node in zip(path[-2::-1], reversed(words), path[::-1], strict=False):
            if not node.words and not node.subscribers:
                del parent.words[word]
        self._forget(pattern)

    def match(self, topic: str) -> tuple[SubscriberT, ...]:
        """The subscribers of a topic, each once.

        Raises:
            InvalidTopic: The topic is invalid.
        """
        found = self._matches.get(topic)
        if found is None:
            found = self._find(check_topic(topic).split("."))
            self._keep(topic, found)
        return found

    def _keep(self, topic: str, found: tuple[SubscriberT, ...]) -> None:
        self._matches[topic] = found
        self._kept += len(found)
        while len(self._matches) > 1 and (len(self._matches) > _MATCHES_KEPT or self._kept > _SUBSCRIBERS_KEPT):
            self._drop(next(iter(self._matches)))

    def _forget(self, pattern: str) -> None:
        """Drop the cached matches that a change of a pattern affects, and no others."""
        if _ONE in pattern or _REST in pattern:
            start = _fixed_start(pattern)
            if alike := [topic for topic in self._matches if topic.startswith(start)]:
                for topic in filter(_expression(pattern), alike):
                    self._drop(topic)
        elif pattern in self._matches:
            self._drop(pattern)

    def _drop(self, topic: str) -> None:
        self._kept -= len(self._matches.pop(topic))

    def _find(self, words: list[str]) -> tuple[SubscriberT, ...]:
        found: dict[SubscriberT, None] = {}
        nodes = [self._root]
        for word in words:
            for node in nodes:
                if _REST in node.words:
                    found.update(node.words[_REST].subscribers)
            nodes = [node.words[next_] for node in nodes for next_ in (word, _ONE) if next_ in node.words]
        for node in nodes:
            found.update(node.subscribers)
        return tuple(found)
