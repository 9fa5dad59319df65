"""What all verbs work with."""

import os
from typing import Final

from stagepost.agents import Tasks
from stagepost.checkpoint import CheckpointError
from stagepost.hub import get_logger
from stagepost.workflows import Runner

from .._wire._done import Done
from ._acts import record_act

OWNER: Final = "the service"


class Base:
    """The runs of a runner, and its agents' tasks.

    Args:
        runner: Where the runs are; it is entered.
        tasks: The runs of its agents.
    """

    def __init__(self, runner: Runner, tasks: Tasks | None = None) -> None:
        self._runner = runner
        self._tasks = tasks or Tasks(runner)

    async def _record(self, act: str, by: str, run_id: str, note: str) -> None:
        """Keep who has done something to a run."""
        try:
            await record_act(self._runner.store, act, by, run_id, note)
        except CheckpointError as error:  # what was done is done, whether or not that can be kept
            get_logger("service", mask=self._runner.mask).warning(
                "act not recorded", act=act, by=by, run_id=run_id, reason=str(error)
            )

    async def _is_task(self, run_id: str) -> bool:
        """Whether a run is an agent's.

        Raises:
            RunNotFound: There is no such run.
        """
        return self._tasks.is_agent((await self._runner.runs.info(run_id)).workflow)


def done(action: str, name: str, *, is_new: bool = True) -> Done:
    """What was done, and that this process hears of it."""
    return Done(action=action, id=name, owner=f"process {os.getpid()}", is_new=is_new)
