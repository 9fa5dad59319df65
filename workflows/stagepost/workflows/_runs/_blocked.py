"""Why one stored run cannot go on: whatever reading it raises, so that no other run and no runner is concerned."""

from collections.abc import Iterator
from contextlib import contextmanager

from stagepost.checkpoint import CannotRead, CheckpointError, CorruptRun, RunInfo

from .._pattern_errors import describe
from ..errors import IncompatibleCheckpoint, RunLeftOpen, WorkflowError


@contextmanager
def concerning(run: RunInfo, what: str) -> Iterator[None]:
    """Whatever is raised inside is the reason why a stored run cannot go on.

    Inside are functions of the user's that read stored values (migrations, validators of models), and they may raise
    anything; nothing is awaited there, so that even a cancellation is something that they have made up.

    Args:
        run: The run.
        what: What goes wrong, in words.

    Raises:
        IncompatibleCheckpoint: Something was raised.
        CorruptRun: It says itself which run is concerned.
        KeyboardInterrupt: Somebody ends the process; it may come in the midst of anything.
    """
    try:
        yield
    except (IncompatibleCheckpoint, CorruptRun, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = str(error) if isinstance(error, CannotRead) else describe(error)
        raise IncompatibleCheckpoint(run.run_id, run.workflow, f"{what}: {why}") from error


def own(run_id: str, error: BaseException) -> WorkflowError | CheckpointError:
    """Why a run that somebody was to work on stays open: the error as it is, if it is one of ours."""
    if isinstance(error, WorkflowError | CheckpointError):
        return error
    left = RunLeftOpen(run_id, describe(error))
    left.__cause__ = error
    return left
