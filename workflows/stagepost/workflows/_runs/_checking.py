"""The gate before a deploy: what becomes of each open run of a store, said without claiming or changing any."""

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Final, Protocol, TypeAlias

from stagepost.checkpoint import (
    Catalogue,
    CorruptRun,
    RunInfo,
    RunNotFound,
    RunStatus,
    Snapshot,
    StoreError,
    Unreadable,
    WaitKind,
    WaitStatus,
)
from stagepost.hub import Hub

from .._pattern_errors import kind_of
from .._patterns._pattern import Pattern, Servable
from .._plans._places import step_at
from .._plans._shape import expected_at
from .._values._expected import summary_of
from .._values._secrets import Given, Secrets
from ..errors import RunDead, UnknownWorkflow, WorkflowError
from ._compatibility import left_open, open_in
from ._fitness import Fitness, end_of
from ._migration import Definition, Prepared
from ._registry import Migrations, Registry
from ._report import CheckReport, RunFinding, RunVerdict

OPEN: Final = (RunStatus.RUNNING, RunStatus.WAITING)
LISTED: Final = 10_000
_SENT: Final = (WaitKind.ANSWER, WaitKind.SIGNAL)
_PAGE: Final = 200  # runs read at once

CheckProgress: TypeAlias = Callable[[int, int], Awaitable[None]]


class RunReader(Catalogue, Protocol):
    """A store as far as a check needs it: `SqliteStore.reader` gives one to any process."""

    async def load(self, run_id: str) -> Snapshot:
        """Everything that is stored of a run.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was stored.
        """
        ...


async def check_runs(
    store: RunReader,
    *,
    workflows: Iterable[Servable],
    migrations: Migrations | None = None,
    hub: Hub | None = None,
    secrets: Given | None = None,
    max_attempts: int | None = 5,
    limit: int = LISTED,
    progress: CheckProgress | None = None,
) -> CheckReport:
    """What becomes of each open run when a runner with these workflows recovers the store: the gate before a deploy.

    Nothing is claimed or changed, so that the process which owns the runs may go on with them meanwhile. Each run is
    loaded, one after another, and migrations are tried in memory. Parked runs and child runs are looked at, too.
    ::

        async with SqliteStore.reader("runs.db") as reader:
            report = await check_runs(reader, workflows=[digest], migrations={"digest": {1: upgrade}})
        print(report)
        sys.exit(0 if report.ok else 1)

    Lifespans are not entered, and no step is executed.

    Args:
        store: Where the runs are.
        workflows: As for `Runner`.
        migrations: As for `Runner`.
        hub: As for `Runner`; by default it is taken that there will be one.
        secrets: As for `Runner`: no reason shows them.
        max_attempts: As for `Runner`.
        limit: Of how many runs there is a finding; the others are counted.
        progress: Awaited now and then with how many runs were looked at, and how many there were at the beginning.

    Raises:
        DefinitionError: The workflows do not fit together.
        StoreError: The store cannot be read.
    """
    registry = Registry(workflows, migrations)
    fitness = Fitness(registry, hub or Hub(), Secrets(secrets, hidden=registry.hidden))
    return await Examination(fitness, max_attempts).examine(store, limit=limit, progress=progress)


class Examination:
    """Looks at open runs.

    Args:
        fitness: Says which of them can go on.
        max_attempts: As of a runner.
    """

    def __init__(self, fitness: Fitness, max_attempts: int | None) -> None:
        self._fitness = fitness
        self._max_attempts = max_attempts

    async def examine(
        self, store: RunReader, *, limit: int = LISTED, progress: CheckProgress | None = None
    ) -> CheckReport:
        """Look at all of a store; see `check_runs`."""
        found = _Findings(limit)
        total = 0 if progress is None else (await store.count(status=OPEN)).total
        async with aclosing(_open_runs(store)) as pages:
            async for infos, damaged in pages:
                for info in infos:
                    found.add(await self._finding(store, info))
                for damage in damaged:
                    found.add(_damaged(damage))
                if progress is not None:
                    await progress(found.total, max(total, found.total))
        return found.report()

    async def _finding(self, store: RunReader, info: RunInfo) -> RunFinding | None:
        """About one run; None if it has ended meanwhile."""
        try:
            return self.judge(await store.load(info.run_id))
        except RunNotFound:
            return None
        except StoreError:  # concerns all of them
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns this run
            return self._refused(info, left_open(info.run_id, error))

    def judge(self, snapshot: Snapshot) -> RunFinding | None:
        """What becomes of a run; None if it has ended.

        Raises:
            Exception: Why it does not go on.
        """
        run = snapshot.run
        if not run.status.is_open:
            return None
        ended = end_of(run, self._max_attempts)
        if ended is not None:
            verdict = RunVerdict.DEAD if isinstance(ended, RunDead) else RunVerdict.CANCELLED
            return _finding(run, verdict, error=ended)
        prepared = self._fitness.check(snapshot)
        verdict = RunVerdict.GOES_ON if prepared.migrated is None else RunVerdict.MIGRATED
        notes = (
            *_notes(snapshot, prepared),
            *_expectations(snapshot, prepared.definition.workflow),
            *_foreseen(snapshot, prepared.definition),
        )
        target = prepared.definition.workflow.version
        return _finding(run, verdict, target=target, notes=tuple(map(self._fitness.mask, notes)))

    def _refused(self, info: RunInfo, error: WorkflowError | CorruptRun) -> RunFinding:
        if info.blocked is not None:
            verdict = RunVerdict.BLOCKED
        else:
            verdict = RunVerdict.UNKNOWN if isinstance(error, UnknownWorkflow) else RunVerdict.REFUSED
        return _finding(info, verdict, error=error, reason=self._fitness.mask(str(error)))


class _Findings:
    """What was found so far; of very many runs no more than can be listed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._telling: list[RunFinding] = []
        self._plain: list[RunFinding] = []
        self._counts: defaultdict[str, Counter[RunVerdict]] = defaultdict(Counter)
        self.total = 0

    def add(self, finding: RunFinding | None) -> None:
        if finding is None:
            return
        self.total += 1
        self._counts[finding.workflow][finding.verdict] += 1
        kept = self._plain if finding.is_plain else self._telling
        if len(kept) < self._limit:
            kept.append(finding)

    def report(self) -> CheckReport:
        findings = tuple((*self._telling, *self._plain)[: self._limit])
        counts = {workflow: dict(counts) for workflow, counts in self._counts.items()}
        return CheckReport(findings, counts, self.total - len(findings))


async def _open_runs(store: RunReader) -> AsyncGenerator[tuple[Sequence[RunInfo], Sequence[Unreadable]], None]:
    after: str | None = None
    while True:
        page = await store.find(status=OPEN, after=after, limit=_PAGE)
        yield page.items, page.damaged
        after = page.next
        if after is None:
            return


def _notes(snapshot: Snapshot, prepared: Prepared) -> Iterator[str]:
    for place, why in prepared.unfit.items():
        yield f"what was sent for {place!r} does not fit and is dropped, so that it is waited for again: {why}"
    lost = () if prepared.migrated is None else prepared.migrated.lost
    for wait in snapshot.waits:
        if wait.place in lost and wait.status is WaitStatus.OPEN:
            yield f"it no longer waits at {wait.place!r}"


def _expectations(snapshot: Snapshot, workflow: Pattern) -> Iterator[str]:
    """What is to be said of open waits whose answers are to be of another type."""
    for wait in open_in(snapshot) if snapshot.shape is not None else ():
        try:
            before = expected_at(snapshot.shape or b"{}", wait.place)
        except (LookupError, TypeError):  # it waited elsewhere, or in the middle of a step whose questions decide
            continue
        step = step_at(workflow.plan, wait.place)
        receives = None if step is None else step.receives
        if receives is None or receives.type_of is not None or wait.kind not in _SENT:
            continue
        now = summary_of(receives.codec)
        if now != before:
            yield f"what {wait.place!r} waits for {_changed(before, now)}: an answer of the old form may be refused"


def _changed(before: tuple[str, str] | None, now: tuple[str, str] | None) -> str:
    old, new = ("any JSON" if each is None else each[0] for each in (before, now))
    return f"was {old}, and is another {new} now" if old == new else f"was {old}, and is {new} now"


def _foreseen(snapshot: Snapshot, definition: Definition) -> Iterator[str]:
    workflow = definition.workflow
    upgraded = definition.upgraded(snapshot)
    if upgraded.root.next is not None:
        yield from workflow.foresee(upgraded, definition.view(snapshot), workflow.root_path)


def _finding(
    run: RunInfo,
    verdict: RunVerdict,
    *,
    target: int | None = None,
    error: Exception | None = None,
    reason: str | None = None,
    notes: Sequence[str] = (),
) -> RunFinding:
    return RunFinding(
        run_id=run.run_id,
        workflow=run.workflow,
        version=run.version,
        status=run.status,
        verdict=verdict,
        target=target,
        reason=str(error) if error is not None and reason is None else reason,
        error=None if error is None else kind_of(error),
        blocked=run.blocked,
        notes=notes,
    )


def _damaged(damage: Unreadable) -> RunFinding:
    """About a run of which not even its workflow can be read."""
    return RunFinding(
        damage.run_id or "", "", 0, RunStatus.RUNNING, RunVerdict.REFUSED, reason=str(damage), error=kind_of(damage)
    )
