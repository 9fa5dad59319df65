"""What will happen by an act, said before it is done."""

from collections.abc import Sequence
from typing import Final

from .._wire._run import RunShown
from .._wire._runs import RunRow
from ._acts import OPEN

_NAMED: Final = 10


def told_before(act: str, shown: RunShown, below: Sequence[RunRow]) -> list[str]:
    """Sentences about one run.

    Args:
        act: Name of the act.
        shown: The run.
        below: Runs that its steps have started.
    """
    run = shown.run
    match act:
        case "resume":
            return [*_where(shown), *_doubt(shown)]
        case "cancel":
            return [*_where(shown), *_waits(shown), *_counted(below, is_open=True, becomes="end, too")]
        case "delete":
            return _counted(below, is_open=False, becomes="are forgotten, too")
        case "fork":
            return [*_where(shown), *_kept(shown)]
        case "retry_items":
            return [f"{each.path}: {each.failed} of {each.total} items have failed" for each in shown.fan_outs]
    return [] if run.status in OPEN else [f"The run has ended: it is {run.status}."]


def _where(shown: RunShown) -> list[str]:
    return [f"It stands at {shown.next}."] if shown.next else []


def _kept(shown: RunShown) -> list[str]:
    is_all = shown.keep == "all"
    return [] if is_all else ["It keeps no history, so that it can be forked only where it stands."]


def _doubt(shown: RunShown) -> list[str]:
    found = [each.key for each in shown.effects if each.status == "intent"]
    return [f"Nobody knows whether {', '.join(found)} has happened: it will ask."] if found else []


def _waits(shown: RunShown) -> list[str]:
    found = [each.wait_id for each in shown.waits if each.kind == "answer"]
    return [f"Nobody can answer {', '.join(found[:_NAMED])} any more."] if found else []


def _counted(below: Sequence[RunRow], *, is_open: bool, becomes: str) -> list[str]:
    found = [each.run_id for each in below if (each.status in OPEN) is is_open]
    if not found:
        return []
    named = ", ".join(found[:_NAMED])
    return [f"Runs below it {becomes}, {len(found)} of them: {named}{' …' if len(found) > _NAMED else ''}"]
