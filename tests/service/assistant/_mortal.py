"""An assistant whose process is killed: what agents are asked is a line of a file, and what is sent a file."""

import os
from pathlib import Path
from typing import Any

from anyio import sleep_forever
from tests.service.assistant._desk import GOOD, Rules, made, request, says

from stagepost.checkpoint import CheckpointStore, SqliteStore
from stagepost.service.assistant import Assistant, AssistantWorkflow
from stagepost.service.channels import FileOutbox, OutgoingPart
from stagepost.workflows import Runner

MARKDOWN = "**32** of 40 hours this week. " + " ".join(f"Day {day} had its hours." for day in range(150))


class Noted(Rules):
    """Rules of a folder, in which each question is a line of a file."""

    folder: Path

    def model(self, name: str) -> Any:
        inner, file = super().model(name), self.folder / "asked"

        class Model:
            async def answer(self, asked: Any) -> Any:
                with file.open("a") as lines:
                    lines.write(f"{name}\n")
                return await inner.answer(asked)

        return Model()


class Held:
    """An outbox that says that a part has gone out, and then waits for ever."""

    def __init__(self, folder: Path, part: int | None, *, takes_our_id: bool) -> None:
        self.takes_our_id = takes_our_id
        self._folder = folder
        self._files = FileOutbox(folder / "outbox")
        self._part = part

    async def send(self, delivery: OutgoingPart) -> str:
        receipt = await self._files.send(delivery)
        with (self._folder / "sent").open("a") as lines:
            lines.write(f"{delivery.part.sequence}\n")
        if delivery.part.sequence == self._part:
            os.write(1, b"held\n")
            await sleep_forever()
        return receipt


def workflow(folder: Path, part: int | None = None, *, takes_our_id: bool = True) -> AssistantWorkflow:
    """The pipeline, with a refinement on its way and an answer in two parts."""
    long = GOOD + MARKDOWN.replace("*", "")
    rules = Noted(composer=says({"response": MARKDOWN}), refiner=says({"response": long}))
    rules.folder = folder
    return made(rules, Held(folder, part, takes_our_id=takes_our_id))[0]


class Mortal(Runner):
    """A runner that knows the pipeline."""

    def __init__(self, store: CheckpointStore, *, takes_our_id: bool = True) -> None:
        assert isinstance(store, SqliteStore)
        self.assistant = workflow(store.path.parent, takes_our_id=takes_our_id)
        super().__init__(store, workflows=[self.assistant])


async def drive(runner: Runner) -> Any:
    """Ask, as the caller would who sends it again."""
    assert isinstance(runner, Mortal)
    async with Assistant(runner.assistant, runner) as assistant:
        result = await assistant.ask(request())
        lines = await runner.store.query("SELECT role, text FROM app_assistant_lines ORDER BY number")
        return [result.formatted_response.text, result.refinement_attempted, [list(line) for line in lines]]


async def first_life(folder: str, part: str, takes_our_id: str) -> None:
    """Ask, and wait to be killed while a part is sent."""
    here = Path(folder)
    made_workflow = workflow(here, int(part), takes_our_id=takes_our_id == "True")
    async with (
        SqliteStore(here / "runs.db") as store,
        Runner(store, workflows=[made_workflow]) as runner,
        Assistant(made_workflow, runner) as assistant,
    ):
        await assistant.ask(request())
