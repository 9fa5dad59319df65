"""The process that does the work: starts an audit, or goes on with the one that a killed process has left.

It tells its parent how far it is by lines of JSON on its standard output, and nothing else is written there.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.hub import Event, Hub
from stagepost.workflows import (
    ChainProgress,
    ItemEnded,
    ItemsFrozen,
    PatternEnded,
    PatternStarted,
    Run,
    RunEnded,
    RunEvent,
    Runner,
)

from .agents import Analyst, analyst, register_agents
from .policy import load_policy
from .workflow import build_workflow

_KINDS = (PatternStarted, PatternEnded, ChainProgress, ItemsFrozen, ItemEnded, RunEnded)
SHOWN: Mapping[str, type[RunEvent]] = {kind.__name__: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do.

    Attributes:
        run_id: The run: started if the store does not have it, else taken up.
        folders: What to audit.
        environment: What the report calls it.
        output: Folder of the store, the report and the log.
        policy: The rules; None for those that come with the example.
    """

    run_id: str
    folders: list[str]
    environment: str
    output: str
    policy: str | None = None

    @property
    def store(self) -> Path:
        """The checkpoint store."""
        return Path(self.output) / "runs.db"

    @property
    def report(self) -> Path:
        """Where the report goes."""
        return Path(self.output) / "audit.md"

    @property
    def log(self) -> Path:
        """Which inspections were begun, one line each."""
        return Path(self.output) / f"{self.run_id}.log"

    @property
    def state(self) -> dict[str, object]:
        """What the run starts with."""
        return {"folders": self.folders, "environment": self.environment, "target": str(self.report)}


class Teller:
    """Hands the events of the run on to the parent, who shows them."""

    def on_event(self, event: Event, /) -> None:
        """Write the events that bars are made of."""
        if type(event).__name__ in SHOWN:
            tell(type(event).__name__, **asdict(event))


def tell(kind: str, **facts: object) -> None:
    """Write one line to the parent, at once."""
    os.write(1, json.dumps({"kind": kind, "facts": facts}).encode() + b"\n")


async def work(job: Job, *, store: SqliteStore | None = None) -> str:
    """Do the job and return the report's path.

    Args:
        job: What to do.
        store: The store, if it is not to be opened as usual.
    """
    workflow = build_workflow()
    policy = load_policy() if job.policy is None else load_policy(job.policy)
    async with (
        store or SqliteStore(job.store) as opened,
        Hub("audit") as hub,
        Runner(opened, hub=hub, workflows=[workflow], observer=Teller()) as runner,
        _analyst(runner) as chosen,
    ):
        register_agents(hub, policy, log=job.log, analyst=chosen)
        run: Run = await runner.start(workflow, job.state, run_id=job.run_id)
        state = await run.result()
    return str(state["report"].path)


def _analyst(runner: Runner) -> AbstractAsyncContextManager[Analyst]:
    """The analyst that the environment asks for."""
    model = os.environ.get("STAGEPOST_MODEL")
    if not model:
        return nullcontext(analyst)
    from .writer import model_analyst  # noqa: PLC0415  # the others do without a model, and start sooner

    return model_analyst(runner, model)


def main() -> None:
    """Read a job from the command line and do it."""
    job = Job(**json.loads(sys.argv[1]))
    tell("Reported", report=anyio.run(work, job))


if __name__ == "__main__":
    main()
