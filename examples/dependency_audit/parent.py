"""The process that watches: shows the progress of the worker, kills it, starts the next one, and counts."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

from stagepost.hub import Event
from stagepost.workflows import ItemEnded, ItemsFrozen, ProgressObserver

from .worker import SHOWN, Job


@dataclass(slots=True)
class Watch:
    """What the parent has seen of one worker.

    Attributes:
        total: How many distributions there are.
        done: How many inspections are committed.
        found: How many of them were committed before this worker.
        first_step: Seconds from its start to its first newly committed inspection; None if it made none.
        report: Where the report is; None if it did not get that far.
        killed: Whether it was killed.
        complaint: The last line it wrote to its standard error.
    """

    total: int = 0
    done: int = 0
    found: int = 0
    first_step: float | None = None
    report: str | None = None
    killed: bool = False
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the audit.

    Attributes:
        workers: What was seen of each process, in order.
        begun: How often each inspection was begun.
    """

    workers: list[Watch]
    begun: Counter[str] = field(default_factory=Counter)

    @property
    def report(self) -> str | None:
        """Where the report is; None if the audit failed."""
        return self.workers[-1].report

    @property
    def again(self) -> int:
        """How many inspections were begun more than once."""
        return sum(times > 1 for times in self.begun.values())


def run_job(job: Job, console: Console, *, crash: bool) -> Outcome:
    """Do a job in a process of its own; with `crash`, kill that in the middle and let another one go on."""
    with ProgressObserver(console) as bars:
        workers = [_watch(job, bars, crash=crash)]
        if workers[0].killed:
            workers.append(_watch(job, bars, crash=False))
    lines = job.log.read_text(encoding="utf-8").splitlines() if job.log.exists() else []
    return Outcome(workers, Counter(lines))


def _watch(job: Job, bars: ProgressObserver, *, crash: bool) -> Watch:
    watch, started = Watch(), perf_counter()
    command = [sys.executable, "-m", "dependency_audit.worker", json.dumps(asdict(job))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=_examples(), text=True) as process:  # noqa: S603  # ours
        for kind, facts in _told(process):
            if kind in SHOWN:
                event = SHOWN[kind](**facts)
                bars.on_event(event)
                _note(watch, event, perf_counter() - started)
            else:
                watch.report = facts["report"]
            if crash and watch.done * 2 >= watch.total > 0:
                process.kill()
                watch.killed = True
                break
        watch.complaint = _last_line(process.stderr.read() if process.stderr and not watch.killed else "")
    return watch


def _told(process: subprocess.Popen[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in process.stdout or ():
        told = json.loads(line)
        yield told["kind"], told["facts"]


def _note(watch: Watch, event: Event, seconds: float) -> None:
    match event:
        case ItemsFrozen(path="inspections"):
            watch.total, watch.done, watch.found = event.total, event.done, event.done
        case ItemEnded(path="inspections"):
            watch.done = event.done
            watch.first_step = watch.first_step or seconds


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _examples() -> Path:
    """The folder that `dependency_audit` is imported from."""
    return Path(__file__).resolve().parents[1]
