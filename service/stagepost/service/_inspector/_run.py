"""One run: why it failed first, then where it stands, what took long, and its values."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stagepost.checkpoint import AttemptOutcome, HappeningKind
from stagepost.workflows import AttemptEntry, RunHistory

from .._verbs._inspected import Inspected
from ._acts import ACTS, OPEN, STOPPED
from ._asking import Ask
from ._pictures import Pictures
from ._shown import Shown

_BELOW: Final = 50
PARTS: Final = ("head", "failure", "waits", "picture", "timeline", "values", "others")


async def run(ask: Ask) -> Shown:
    """One run."""
    run_id = ask.path("run_id")
    found = await ask.sight.inspect(ask.caller, run_id)
    shown, pictures = found.shown, Pictures(ask, found)
    values = {
        "run": shown.run,
        "shown": shown,
        "history": found.history,
        "graph": await pictures.graph(),
        "waterfall": pictures.waterfall(),
        "failure": failure_of(found),
        "acts": acts_of(ask, found, await signals_of(ask, shown.run.workflow)),
        "is_agent": is_agent(shown.state),
        "children": (await ask.sight.list(ask.caller, {"below": run_id}, limit=_BELOW, newest_first=False)).runs,
        "forks": (await ask.sight.list(ask.caller, {"forked_from": run_id}, limit=_BELOW)).runs,
        "recorded": (await ask.sight.acts(ask.caller, run_id)).acts,
    }
    return Shown("run", run_id, values, parts=PARTS, section="runs", run_id=followed(shown.run.status, run_id))


def followed(status: str, run_id: str) -> str:
    """`Shown.run_id` of a run's page."""
    return run_id if status in OPEN else ""


def is_agent(state: Mapping[str, Any]) -> bool:
    """Whether a state is that of an agent's task: a transcript, and what was spent."""
    return isinstance(state.get("messages"), list) and isinstance(state.get("spent"), dict)


async def signals_of(ask: Ask, workflow: str) -> Sequence[str]:
    """The signals that runs of a workflow receive, as far as it is known here."""
    known = (await ask.sight.workflows(ask.caller)).workflows
    return next((each.signals for each in known if each.name == workflow), ())


def acts_of(ask: Ask, found: Inspected, signals: Sequence[str]) -> Sequence[tuple[str, str, bool]]:
    """What may be done to a run by whoever asks: address, title, and whether it is final."""
    run, agent = found.shown.run, is_agent(found.shown.state)
    useless = {"signal": agent or not signals, "retry_items": not has_failed_items(found)}
    return [
        (ask.url("runs", run.run_id, "do", act.name), act.title, act.is_final)
        for act in ACTS.values()
        if ask.may(act.scope) and act.fits(run, is_agent=agent) and not useless.get(act.name)
    ]


def has_failed_items(found: Inspected) -> bool:
    """Whether items of a fan-out have failed, as far as is known: where failures are collected, the run goes on."""
    entries = (entry for entry in found.history.items if isinstance(entry, AttemptEntry))
    failed = any(each.kind is HappeningKind.ITEM and each.outcome is AttemptOutcome.FAILED for each in entries)
    return failed or any(each.failed for each in found.shown.fan_outs)


def failure_of(found: Inspected) -> Mapping[str, Any] | None:
    """Why a run has stopped: the error, and the attempt that failed last; None if it has not."""
    run = found.shown.run
    if run.status not in STOPPED and run.blocked is None:
        return None
    attempt = last_failure(found.history)
    return {
        "error": run.error or run.blocked,
        "place": found.shown.next if attempt is None else attempt.path,
        "attempt": attempt,
        "traceback": found.shown.traceback,
    }


def last_failure(history: RunHistory) -> AttemptEntry | None:
    """The attempt that failed last: of a step or an item rather than of the fan-out around it."""
    failed = [
        entry for entry in history.items if isinstance(entry, AttemptEntry) and entry.outcome is AttemptOutcome.FAILED
    ]
    inner = [entry for entry in failed if entry.kind is not HappeningKind.FAN_OUT]
    found = inner or failed
    return found[-1] if found else None
