"""A check and an evaluation whose processes are killed after a commit; what models are asked is a line of a file."""

from pathlib import Path
from typing import Any

from tests.agents.quality._scripts import Asked, checked, contains, judging, refining

from stagepost.agents import Agent, FunctionModel, Model, ModelRequest, ModelResponse
from stagepost.agents.quality import Case, CaseAnswer, Evaluation, evaluated
from stagepost.checkpoint import CheckpointStore, SqliteStore
from stagepost.workflows import Runner

WORDS = {"names_total": "32", "names_period": "week"}
CASES = [Case(id=name, request=f"{name}?", expected="rain") for name in ("oslo", "rome", "paris")]


class Noted:
    """A model that notes what it is asked."""

    def __init__(self, model: Model, file: Path, name: str) -> None:
        self._model = model
        self._file = file
        self._name = name

    async def answer(self, request: ModelRequest) -> ModelResponse:
        with self._file.open("a") as file:
            file.write(f"{self._name}\n")
        return await self._model.answer(request)


def folder_of(store: CheckpointStore) -> Path:
    assert isinstance(store, SqliteStore)
    return store.path.parent


def check_runner(store: CheckpointStore) -> Runner:
    """A runner for a check whose first attempt fails."""
    file = folder_of(store) / "asked"
    judge = Noted(judging(Asked(), contains(WORDS)), file, "judge")
    return Runner(store, workflows=[checked(judge, Noted(refining(Asked(), "32 h this week"), file, "refine"))])


async def drive_check(runner: Runner) -> Any:
    """Start the check, or join it."""
    run = await runner.start(runner.workflow("work"), {"draft": "32 h", "question": "How many hours?"}, run_id="work")
    return (await run.result())["draft"]


def evaluation(file: Path) -> Evaluation:
    """An evaluation with a judge that is an agent."""
    answer = FunctionModel(lambda request: f"it rains, {request.messages[-1].text}")
    yes = FunctionModel(lambda request: "true" if request.messages else "")
    agents = {name: Agent("weather", "Weather.", model=Noted(answer, file, name)) for name in ("a", "b")}
    judge = Agent("judge", "Judge.", model=Noted(yes, file, "judge"), output=bool)

    def is_rain(given: CaseAnswer) -> bool:
        return "rain" in str(given.output)

    return Evaluation(agents, CASES, {"right": is_rain, "model": judge}, at_once=1)


class Evaluating(Runner):
    """A runner for the evaluation, which it knows."""

    def __init__(self, store: CheckpointStore) -> None:
        self.evaluation = evaluation(folder_of(store) / "asked")
        super().__init__(store, workflows=[self.evaluation])


async def drive_evaluation(runner: Runner) -> Any:
    """Run the evaluation, or go on with it."""
    assert isinstance(runner, Evaluating)
    report = await evaluated(runner.evaluation, runner)
    return [(cell.agent, cell.case, cell.is_good, cell.output) for cell in report.cells]
