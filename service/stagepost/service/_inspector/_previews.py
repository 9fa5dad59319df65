"""What will happen by an act, said before it is done."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from .._wire._run import RunShown
from ._acts import OPEN

NAMED: Final = 10


class Below(NamedTuple):
    """Runs that steps of a run have started.

    Attributes:
        named: The ids of some.
        number: How many there are.
    """

    named: Sequence[str] = ()
    number: int = 0


def told_before(act: str, shown: RunShown, below: Below) -> list[str]:
    """Sentences about one run.

    Args:
        act: Name of the act.
        shown: The run.
        below: Runs that its steps have started, and that the act ends or deletes with it.
    """
    run = shown.run
    match act:
        case "resume":
            return [*_where(shown), *_doubt(shown)]
        case "cancel":
            return [*_where(shown), *_waits(shown), *_counted(below, "end, too")]
        case "delete":
            return _counted(below, "are forgotten, too")
        case "fork":
            return [*_where(shown), *_kept(shown)]
        case "retry_items":
            failed = [each for each in shown.fan_outs if each.failed]
            more = [f"So have items of {len(failed) - NAMED} other fan-outs."] if len(failed) > NAMED else []
            return [f"{each.path}: {each.failed} of {each.total} items have failed" for each in failed[:NAMED]] + more
    return [] if run.status in OPEN else [f"The run has ended: it is {run.status}."]


def _where(shown: RunShown) -> list[str]:
    return [f"It stands at {shown.next}."] if shown.next else []


def _kept(shown: RunShown) -> list[str]:
    is_all = shown.keep == "all"
    return [] if is_all else ["It keeps no history, so that it can be forked only where it stands."]


def _doubt(shown: RunShown) -> list[str]:
    found = [each.key for each in shown.effects if each.status == "intent"]
    return [f"Nobody knows whether {_list(found)} has happened: it will ask."] if found else []


def _waits(shown: RunShown) -> list[str]:
    found = [each.wait_id for each in shown.waits if each.kind == "answer"]
    return [f"Nobody can answer {_list(found)} any more."] if found else []


def _counted(below: Below, becomes: str) -> list[str]:
    if not below.number:
        return []
    more = " …" if below.number > len(below.named) else ""
    return [f"Runs below it {becomes}, {below.number:,} of them: {', '.join(below.named)}{more}"]


def _list(found: Sequence[str]) -> str:
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{', '.join(found[:NAMED])}{more}"
