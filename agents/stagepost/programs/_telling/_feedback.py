"""What a model is told after its program: what it printed, what is stored, what went wrong, which turn comes next."""

from collections.abc import Sequence
from typing import Final

from ._facts import FeedbackFacts, TurnNumber

_END: Final = 'end with (return value), or with (fail {:reason :why :message "…"})'
_SOON: Final = 2  # turns before the end, when the model is warned


def feedback(facts: FeedbackFacts, most: int) -> str:
    """What is told.

    Args:
        facts: What there is to tell.
        most: The most characters of what was printed.
    """
    parts = [
        _printed(facts.prints, most),
        facts.correction or (f"Error: {facts.error}" if facts.error else ""),
        f"Stored, to be read by name: {', '.join(facts.stored)}" if facts.stored else "",
        "" if facts.turn is None else turn_line(facts.turn),
    ]
    return "\n".join(filter(None, parts))


def turn_line(turn: TurnNumber) -> str:
    """The line that says which turn comes next, and what may be done in it."""
    if turn.compiles:
        return f"Write the whole program again, corrected (answer {turn.number} of {turn.work})."
    if turn.work is None:
        return f"Turn {turn.number}"
    if turn.is_retry:
        return _retry(turn)
    left = turn.work - turn.number
    line = f"Turn {turn.number} of {turn.work} ({left} remaining)"
    if turn.is_last_work and turn.work > 1:
        return f"{line}\nFINAL WORK TURN: there are no tools any more; {_END}.{_corrections(turn.retries)}"
    if left == _SOON - 1:
        return f"{line}: the turn after this one is the LAST, so prepare what you will return"
    return line


def _retry(turn: TurnNumber) -> str:
    number = turn.number - (turn.work or 0)
    if number == turn.retries:
        return f"FINAL RETRY (retry {number} of {turn.retries}): {_END}."
    return f"Turn {turn.number}: retry {number} of {turn.retries} ({turn.retries - number} remaining)"


def _corrections(retries: int) -> str:
    if not retries:
        return ""
    return f" If the value does not fit, {retries} correction{'s' if retries > 1 else ''} may follow."


def _printed(prints: Sequence[str], most: int) -> str:
    text = "\n".join(prints)
    return text if len(text) <= most else f"{text[:most]}... (cut after {most} characters: print less)"
