"""Patterns from configuration: validated values."""

from pydantic import Field

from stagepost.hub import FileConfig


class GraphConfig(FileConfig):
    """Settings of a graph that stand in configuration: ``Graph("writing", config=GraphConfig.load(…))``.

    Attributes:
        max_steps: How many nodes one way through the graph may enter; None for no limit.
    """

    max_steps: int | None = Field(default=1000, ge=1)


class ParallelConfig(FileConfig):
    """Settings of a fan-out that stand in configuration: ``Parallel("pages", fetch, config=ParallelConfig.load(…))``.

    Attributes:
        workers: How many items are in progress at once; None for twice the number of CPUs, up to `worker_cap`.
        worker_cap: The largest number of workers that is chosen automatically.
    """

    workers: int | None = Field(default=None, ge=1)
    worker_cap: int = Field(default=16, ge=1)
