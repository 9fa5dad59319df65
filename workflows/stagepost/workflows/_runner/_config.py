"""Runners from configuration: validated values."""

from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field

from stagepost.checkpoint import Keep
from stagepost.hub import FileConfig

from ._limits import RunLimit


class RunnerConfig(FileConfig):
    """What a runner is made from when it does not stand in code; `Runner.from_config` makes it.

    Attributes:
        observers: Names of observers, as a `Registry` of the hub knows them.
        grace: Seconds that steps under way get to end when the runner is left.
        max_running: How many runs are worked on at once; None for no limit.
        limits: How many runs of a workflow, or with a label, are worked on at once or taken up per minute: tables with
            the attributes of `RunLimit`.
        max_attempts: How often in a row a run's process may die without a commit of the run; None for no limit.
        keep: What stays of runs: ``result``, ``all`` or ``none``; or that by names of workflows.
        keep_for: How long runs are kept when they have ended, in seconds or as ISO 8601 writes it (``P30D``); None for
            ever.
        keep_keys: How long after its end the key of a run, and an id that was given, stay taken; None for ever.
        check_states: Find out which steps change their state in place; for tests.
    """

    observers: tuple[str, ...] = ()
    grace: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    max_running: int | None = Field(default=100, ge=1)
    limits: tuple[RunLimit, ...] = ()
    max_attempts: int | None = Field(default=5, ge=1)
    keep: Keep | Mapping[str, Keep] = Keep.RESULT
    keep_for: timedelta | None = Field(default=timedelta(days=30), ge=timedelta(0))
    keep_keys: timedelta | None = Field(default=timedelta(days=400), ge=timedelta(0))
    check_states: bool = False
