"""Which criteria can be checked at all: the others are dropped, with the reason, before anybody is asked about them."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import ValidationError

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger

from .._validation import problems
from ._criterion import ScorecardCriterion
from ._vocabulary import EMPTY, NEGATIONS, SUBJECTIVE, VAGUE

Proposed = ScorecardCriterion | Mapping[str, object]
"""A criterion as somebody has proposed it: made, or as a mapping of its fields, such as a model's."""

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNKNOWABLE: Final = re.compile(
    r"\b(?:user|customer|reader|client|person|people)s?\s+(?:will\s+|would\s+|should\s+)?(?:be|is|are|feels?|likes?|"
    r"enjoys?|loves?|trusts?|remembers?)\s+(?:very\s+|really\s+|more\s+)?(?:happy|satisfied|pleased|impressed|delighted|"
    r"valued|good|it|this|heard|confident|convinced|\w+ed)\b",
    re.IGNORECASE,
)
_AT_MOST: Final = re.compile(
    r"\b(?:at most|no more than|max(?:imum)?(?: of)?|under|below|fewer than|less than|up to)\s+(\d{1,9})\s+(\w+)"
)
_AT_LEAST: Final = re.compile(
    r"\b(?:at least|no fewer than|no less than|min(?:imum)?(?: of)?|over|above|more than)\s+(\d{1,9})\s+(\w+)"
)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A criterion that is not used, or one that is used with doubts.

    Attributes:
        id: Its id; empty if it has none.
        why: What is wrong with it, and what would help.
    """

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Screened:
    """What is left of proposed criteria.

    Attributes:
        criteria: Those that can be checked, in order, not evaluated yet.
        dropped: Those that are not used.
        doubtful: Those that are used although a part of them is a matter of taste.
    """

    criteria: tuple[ScorecardCriterion, ...]
    dropped: tuple[Dropped, ...] = ()
    doubtful: tuple[Dropped, ...] = ()


def screened(proposed: Iterable[Proposed], *, checked: Iterable[str] = ()) -> Screened:
    """Drop the criteria that cannot be checked, and say why; each is logged as a warning, too.

    Dropped are criteria that do not have the form of one (such as a description of less than ten characters), vague
    ones ("the answer is good"), subjective ones ("it is creative"), those about what somebody feels, the second of two
    with one id, and one that contradicts an earlier one. A subjective word beside something that can be checked is
    reported as doubtful, and the criterion is used.

    Args:
        proposed: The criteria.
        checked: Ids that a code check decides about: their wording does not matter.
    """
    kept: dict[str, ScorecardCriterion] = {}
    dropped: list[Dropped] = []
    doubtful: list[Dropped] = []
    by_code = frozenset(checked)
    for each in proposed:
        criterion = _formed(each)
        if isinstance(criterion, Dropped):
            dropped.append(criterion)
            continue
        why = "there is an earlier criterion of this id" if criterion.id in kept else None
        if why is None and criterion.id not in by_code:
            why = _problem(criterion) or _contradicted(criterion, kept.values())
            doubtful += _doubts(criterion) if why is None else []
        if why is None:
            kept[criterion.id] = criterion
        else:
            dropped.append(Dropped(criterion.id, why))
    _log(dropped, doubtful)
    return Screened(tuple(kept.values()), tuple(dropped), tuple(doubtful))


def _formed(proposed: Proposed) -> ScorecardCriterion | Dropped:
    """The criterion, not evaluated; or what is wrong with its form."""
    if isinstance(proposed, ScorecardCriterion):
        return proposed.model_copy(update={"passed": None, "feedback": None})
    try:
        given = {key: value for key, value in dict(proposed).items() if key in ("id", "description", "expected")}
        return ScorecardCriterion.model_validate(given)
    except ValidationError as error:
        return Dropped(str(dict(proposed).get("id", ""))[:100], problems(error))
    except (TypeError, ValueError):
        return Dropped("", f"{type(proposed).__name__} is no criterion: give id, description and expected")


def _problem(criterion: ScorecardCriterion) -> str | None:
    """Why nobody could check it; None if somebody could."""
    said = f"{criterion.description} {criterion.expected}"
    if _UNKNOWABLE.search(said):
        return "it depends on what somebody feels, which no text shows: say what the answer must contain"
    words = _meaning(said)
    if not words - NEGATIONS:
        return "it says nothing that could be checked: say what the answer must contain"
    if words - NEGATIONS <= VAGUE:
        return f"it is vague ({', '.join(sorted(words))}): say what the answer must contain"
    if words - NEGATIONS <= VAGUE | SUBJECTIVE:
        return f"it is a matter of taste ({', '.join(sorted(words & SUBJECTIVE))}): say what can be counted or found"
    return None


def _doubts(criterion: ScorecardCriterion) -> list[Dropped]:
    taste = sorted(_meaning(f"{criterion.description} {criterion.expected}") & SUBJECTIVE)
    return [Dropped(criterion.id, f"a part of it is a matter of taste ({', '.join(taste)})")] if taste else []


def _contradicted(criterion: ScorecardCriterion, earlier: Iterable[ScorecardCriterion]) -> str | None:
    """Which earlier criterion asks for the opposite, as far as code can tell; the judge may find others."""
    for other in earlier:
        if _opposed(criterion, other) or _disjoint(criterion, other) or _disjoint(other, criterion):
            return f"it contradicts {other.id!r}, which came first: both cannot be fulfilled"
    return None


def _opposed(one: ScorecardCriterion, other: ScorecardCriterion) -> bool:
    """Whether they say the same but for a negation."""
    first, second = _meaning(one.expected), _meaning(other.expected)
    same = _stems(first - NEGATIONS)
    return bool(same) and same == _stems(second - NEGATIONS) and bool(first & NEGATIONS) != bool(second & NEGATIONS)


def _disjoint(one: ScorecardCriterion, other: ScorecardCriterion) -> bool:
    """Whether one wants at most so many of something, and the other more of it."""
    most = {unit: int(number) for number, unit in _AT_MOST.findall(_said(one))}
    least = {unit: int(number) for number, unit in _AT_LEAST.findall(_said(other))}
    return any(unit in least and least[unit] > number for unit, number in most.items())


def _said(criterion: ScorecardCriterion) -> str:
    return f"{criterion.description} {criterion.expected}".casefold()


def _meaning(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    return frozenset(_WORD.findall(text.casefold())) - EMPTY


def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in words)


def _log(dropped: Iterable[Dropped], doubtful: Iterable[Dropped]) -> None:
    for each in dropped:
        get_logger("agents").warning("criterion_dropped", criterion=each.id, why=each.why)
    for each in doubtful:
        get_logger("agents").warning("criterion_doubtful", criterion=each.id, why=each.why)
