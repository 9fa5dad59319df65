"""What of a transcript the model sees, as a run stores it: positions only, and the summary of what it does not see."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import TypedCodec

Range = tuple[int, int]


def _is_unset(value: Any) -> bool:
    return not value


class Shrunk(NamedTuple):
    """Messages of which the model sees less than their usual part.

    Attributes:
        start: Place of the first one in the transcript.
        stop: Place after the last one.
        characters: How many characters of each are shown; 0 for a cleared one.
    """

    start: int
    stop: int
    characters: int


class Due(NamedTuple):
    """A summary that is to be written.

    Attributes:
        places: What the model no longer sees once it is.
        answers: How many answers of the model are among these.
        by: Which compaction of the policy wants it.
    """

    places: tuple[Range, ...]
    answers: int
    by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a model sees of a transcript. All places are those in the transcript as its agent sees it.

    Attributes:
        request: The message that the run is to answer: its place in the stored transcript, whoever sees it.
        hidden: Messages that it does not see, from the first one to before the second.
        shrunk: Messages of which it sees only a part; later ones count where several name the same.
        answers: How many of those are answers of the model.
        summary: What stands for those that it does not see; empty for nothing but a note.
        reads: Whether a part of a result was left out.
        due: A summary that is to be written first.
        tries: How often this turn's prompt was too long for the provider.
    """

    request: Annotated[int, Field(exclude_if=_is_unset)] = 0
    hidden: Annotated[tuple[Range, ...], Field(exclude_if=_is_unset)] = ()
    answers: Annotated[int, Field(exclude_if=_is_unset)] = 0
    shrunk: Annotated[tuple[Shrunk, ...], Field(exclude_if=_is_unset)] = ()
    summary: Annotated[str, Field(exclude_if=_is_unset)] = ""
    reads: Annotated[bool, Field(exclude_if=_is_unset)] = False
    due: Annotated[Due | None, Field(exclude_if=_is_unset)] = None
    tries: Annotated[int, Field(exclude_if=_is_unset)] = 0

    @property
    def count(self) -> int:
        """How many messages it hides."""
        return sum(stop - start for start, stop in self.hidden)

    def shown(self, length: int) -> Iterator[int]:
        """The places of a transcript that the model sees.

        Args:
            length: How many messages the transcript has.
        """
        at = 0
        for start, stop in self.hidden:
            yield from range(at, min(start, length))
            at = stop
        yield from range(at, length)

    def for_request(self, place: int) -> "View":
        """The view of a run that goes on with the transcript, to answer the message at a place."""
        return replace(self, request=place, due=None, tries=0)

    def without(self, places: Iterable[Range], answers: int) -> "View":
        """The view with more messages hidden.

        Args:
            places: Where they stand.
            answers: How many answers of the model are among them.
        """
        hidden = merged(chain(self.hidden, places))
        seen = tuple(each for each in self.shrunk if not _is_inside(each, hidden))
        return replace(self, hidden=hidden, shrunk=seen, answers=self.answers + answers)

    def with_less(self, places: Iterable[int], characters: int) -> "View":
        """The view with a part of some messages left out."""
        more = [Shrunk(start, stop, characters) for start, stop in ranges(places)]
        return replace(self, shrunk=(*self.shrunk, *more), reads=True) if more else self


WHOLE: Final = View()
VIEW: Final = TypedCodec(View, immutable=True, verify=False)  # texts and numbers, made by us


def ranges(places: Iterable[int]) -> Sequence[Range]:
    """Places as ranges, in order."""
    found: list[Range] = []
    for place in sorted(set(places)):
        if found and found[-1][1] == place:
            found[-1] = found[-1][0], place + 1
        else:
            found.append((place, place + 1))
    return found


def merged(known: Iterable[Range]) -> tuple[Range, ...]:
    """Ranges in order, none of which meets another."""
    found: list[Range] = []
    for start, stop in sorted(known):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return tuple(found)


def _is_inside(each: Shrunk, hidden: Iterable[Range]) -> bool:
    return any(start <= each.start and each.stop <= stop for start, stop in hidden)
