"""Running an evaluation: on a runner, which goes on after a crash with what is missing."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from os import PathLike
from typing import Any, TypeAlias

from pydantic import SecretStr

from stagepost.checkpoint import ItemStatus, MemoryStore, RunStatus, SqliteStore
from stagepost.workflows import Run, Runner

from .._agent._agent import Agent
from ._cells import Case, EvaluationCell
from ._evaluation import CaseJudge, Evaluation
from ._report import EvaluationReport

OnCell: TypeAlias = Callable[[EvaluationCell, int, int], None]


async def evaluate(
    agents: Agent[Any] | Iterable[Agent[Any]] | Mapping[str, Agent[Any]],
    cases: Iterable[Case | Mapping[str, object]],
    judges: Mapping[str, CaseJudge],
    *,
    name: str = "evaluation",
    path: str | PathLike[str] | None = None,
    at_once: int = 8,
    seconds: float | None = None,
    progress: OnCell | None = None,
    deps: Any = None,
    secrets: Mapping[str, str | SecretStr] | None = None,
) -> EvaluationReport:
    """Ask agents the same cases, all at once, and have the answers judged.

    ::

        report = await evaluate(
            {"small": agent_small, "large": agent_large},
            [Case(id="oslo", request="Oslo?", expected="rain")],
            {"right": lambda answer: answer.output == answer.case.expected},
            path="evaluation.db",
        )
        print(report.table())

    With a `path`, what is done is saved cell by cell, and what models have answered before that. After a crash, the
    same call goes on with what is missing; once it is done, it returns what there is, and asks nobody. An evaluation is
    the same if its name, its agents (their prompts, tools and names of models), its cases and its judges are. What else
    has changed, such as the code of a judge that is a function, it does not see: give another `name`.

    Args:
        agents: See `Evaluation`, like the following.
        cases: The cases.
        judges: What judges, by name.
        name: Its name.
        path: File of a store. None for an evaluation in memory.
        at_once: How many cells are worked on at once.
        seconds: How long an agent may take for a case.
        progress: Called with each cell, how many are done, and how many there are; cells that were done before a
            crash are counted, and not told.
        deps: Given to tools.
        secrets: Given to tools, and masked.

    Raises:
        InvalidEvaluation: Two agents or cases have one name, or there are none.
    """
    evaluation = Evaluation(agents, cases, judges, name=name, at_once=at_once, seconds=seconds)
    async with AsyncExitStack() as stack:
        store: MemoryStore | SqliteStore = MemoryStore() if path is None else SqliteStore(path)
        await stack.enter_async_context(store)
        runner = await stack.enter_async_context(Runner(store, workflows=[evaluation], deps=deps, secrets=secrets))
        return await evaluated(evaluation, runner, progress=progress)


async def evaluated(evaluation: Evaluation, runner: Runner, *, progress: OnCell | None = None) -> EvaluationReport:
    """Run an evaluation on a runner that knows it, or go on with it; see `evaluate`.

    Args:
        evaluation: The evaluation.
        runner: The runner, with ``workflows=[evaluation]``.
        progress: As for `evaluate`.
    """
    total = len(evaluation.agents) * len(evaluation.cases)
    done = await _done_before(evaluation, runner)

    def tell(cell: EvaluationCell) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(cell, done, total)

    evaluation.on_cell(tell)
    await runner.recover()
    run = await runner.start(evaluation.as_workflow(), evaluation.start, key=evaluation.key)
    run = await _resumed(run, runner)
    return evaluation.report(await run.result())


async def _done_before(evaluation: Evaluation, runner: Runner) -> int:
    """How many cells an earlier process has done."""
    page = await runner.runs.list(key=evaluation.key, workflow=evaluation.name, limit=1)
    if not page.items:
        return 0
    items = (await runner.store.load(page.items[0].run_id)).items
    return sum(item.status is ItemStatus.OK for item in items)


async def _resumed(run: Run, runner: Runner) -> Run:
    """The run, resumed if a process has died with it too often, or it has failed."""
    again = run.status in (RunStatus.FAILED, RunStatus.DEAD)
    return await runner.resume(run.id) if again else run
