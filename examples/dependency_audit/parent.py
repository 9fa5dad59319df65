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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from .worker import Job


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
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("inspecting", total=None)
        workers = [_watch(job, progress, bar, crash=crash)]
        if workers[0].killed:
            progress.update(bar, description="resuming")
            workers.append(_watch(job, progress, bar, crash=False))
    lines = job.log.read_text(encoding="utf-8").splitlines() if job.log.exists() else []
    return Outcome(workers, Counter(lines))


def _watch(job: Job, progress: Progress, bar: TaskID, *, crash: bool) -> Watch:
    watch, started = Watch(), perf_counter()
    command = [sys.executable, "-m", "dependency_audit.worker", json.dumps(asdict(job))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=_examples(), text=True) as process:  # noqa: S603  # ours
        for event in _events(process):
            _note(watch, event, perf_counter() - started)
            progress.update(bar, total=watch.total or None, completed=watch.done)
            if crash and watch.done * 2 >= watch.total > 0:
                process.kill()
                watch.killed = True
                break
        watch.complaint = _last_line(process.stderr.read() if process.stderr and not watch.killed else "")
    return watch


def _events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    for line in process.stdout or ():
        yield json.loads(line)


def _note(watch: Watch, event: dict[str, Any], seconds: float) -> None:
    match event["event"]:
        case "frozen":
            watch.total, watch.done, watch.found = event["total"], event["done"], event["done"]
        case "item":
            watch.done = event["done"]
            watch.first_step = watch.first_step or seconds
        case "ended":
            watch.report = event["report"]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _examples() -> Path:
    """The folder that `dependency_audit` is imported from."""
    return Path(__file__).resolve().parents[1]
