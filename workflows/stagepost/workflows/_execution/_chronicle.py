"""What a run that keeps its history says of itself with its commits."""

from collections.abc import Callable, Mapping
from typing import Final

from pydantic_core import to_json

from stagepost.checkpoint import AttemptOutcome, Happening, HappeningKind

LARGE: Final = 4096  # bytes of a value that only the history has; of a larger one it has the size


class Chronicle:
    """What has happened to one run since its last commit, for the next one.

    Nothing is saved for its own sake. That a step begins is said by the commit before it, where that can be known, and
    otherwise by the next commit of any branch.

    Args:
        clock: Seconds since 1970.
        mask: Shows no secrets.
    """

    def __init__(self, clock: Callable[[], float], mask: Callable[[str], str]) -> None:
        self._clock = clock
        self.mask = mask
        self._begun: dict[str, float] = {}
        self._promised: set[str] = set()
        self._unsaid: dict[str, Happening] = {}
        self._said: list[Happening] = []
        self._details: dict[str, dict[str, list[object]]] = {}

    def promise(self, kind: HappeningKind, place: str) -> Happening:
        """Something begins as soon as the commit that is about to be made is saved."""
        self._promised.add(place)
        return Happening(kind, place)

    def begin(self, place: str) -> None:
        """A step begins, or the worker of an item."""
        self._begun[place] = now = self._clock()
        self._say_begun(_kind_at(place), place, now)

    def enter(self, kind: HappeningKind, place: str) -> None:
        """A fan-out is worked on, or an item whose worker is a pattern: anew, or again in this attempt."""
        self._say_begun(kind, place, self._clock())

    def _say_begun(self, kind: HappeningKind, place: str, now: float) -> None:
        if place in self._promised:
            self._promised.discard(place)
        else:
            self._unsaid[place] = Happening(kind, place, begun=now)

    def rest(self, place: str) -> None:
        """What began there waits; the store says when it goes on."""
        self._begun.pop(place, None)

    def detail(self, place: str, key: str, value: object) -> None:
        """Something more about what is under way there: its end will say it."""
        self._details.setdefault(place, {}).setdefault(key, []).append(value)

    def retried(self, place: str, attempt: int, error: str, seconds: float) -> None:
        """A step is tried again in this process."""
        said = {"attempt": attempt, "at": self._clock(), "error": self.mask(error), "seconds": seconds}
        self.detail(place, "retries", said)

    def end(
        self,
        place: str,
        outcome: AttemptOutcome,
        *,
        kind: HappeningKind | None = None,
        error: str | None = None,
        value: bytes | None = None,
        of_frame: bool = False,
    ) -> Happening:
        """What began there has ended: for the commit that is about to be made.

        Args:
            place: What has ended.
            outcome: How.
            kind: What it is; None: a step, or an item, as its place says.
            error: Why it has failed.
            value: JSON of what it has made, if no frame says that.
            of_frame: Whether the commit's frame does.
        """
        begun, unsaid = self._begun.pop(place, None), self._unsaid.pop(place, None)
        self._promised.discard(place)
        details = dict[str, object](self._details.pop(place, {}))
        if value is not None and len(value) > LARGE:
            details["size"] = len(value)
            value = None
        return Happening(
            kind or _kind_at(place),
            place,
            outcome,
            unsaid.begun if begun is None and unsaid is not None else begun,
            self._clock(),
            None if error is None else self.mask(error),
            to_json(details) if details else None,
            value,
            of_frame,
        )

    def note(self, happening: Happening) -> None:
        """Say something with the next commit, whatever that is about."""
        self._said.append(happening)

    def take(self) -> tuple[Happening, ...]:
        """What is to be said, once."""
        said = (*self._said, *self._unsaid.values())
        self._said.clear()
        self._unsaid.clear()
        return said

    def put_back(self, happened: tuple[Happening, ...]) -> None:
        """What was taken was not saved, nor what was promised with it: what begins says so itself, maybe once more."""
        self._said[:0] = happened
        self._promised.clear()


def frozen(place: str, count: int, details: Mapping[str, object] | None = None) -> Happening:
    """The items of a fan-out are fixed, which its frame says."""
    detail = to_json({"items": count, **(details or {})})
    return Happening(HappeningKind.ITEMS, place, detail=detail, of_frame=True)


def _kind_at(place: str) -> HappeningKind:
    return HappeningKind.ITEM if place.partition("#")[0].endswith("]") else HappeningKind.STEP
