"""What the command itself refuses, and which exit code each error has."""

from collections.abc import Iterator

from ._exits import Exit


class CommandError(Exception):
    """The command cannot do what it was asked for.

    Attributes:
        code: Its exit code.
    """

    code = Exit.FOUND


class UsageError(CommandError):
    """The command line asks for something that does not fit together."""

    code = Exit.USAGE


class NotFound(CommandError):
    """What the command line names is not there."""

    code = Exit.NOT_FOUND


class Refused(CommandError):
    """It may not be done now."""

    code = Exit.REFUSED


class NoStore(CommandError):
    """The file is not one that the command can work with."""

    code = Exit.NO_STORE


def causes(error: BaseException) -> Iterator[BaseException]:
    """The errors that are in a group, whatever groups are in it; one that is no group alone."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from causes(each)
    else:
        yield error


def code_of(error: BaseException) -> Exit:
    """The exit code of an error; `Exit.DEFECT` of one that nobody expects."""
    if isinstance(error, CommandError):
        return error.code
    from stagepost.checkpoint import CheckpointError  # noqa: PLC0415  # seldom, and the layers take their time
    from stagepost.workflows import WorkflowError  # noqa: PLC0415

    if not isinstance(error, CheckpointError | WorkflowError):
        return Exit.DEFECT
    kinds = {kind.__name__ for kind in type(error).__mro__}
    for code, names in _KINDS.items():
        if kinds & names:
            return code
    return Exit.FOUND


_KINDS = {
    Exit.NOT_FOUND: frozenset(
        {"EffectNotFound", "RunNotFound", "ScheduleNotFound", "UnknownSignal", "WaitNotFound", "WorkflowNotFound"}
    ),
    Exit.NO_STORE: frozenset(
        {"BackupFailed", "NotAStore", "StoreNotReadable", "StoreNotWritable", "SqliteTooOld", "StoreLost"}
    ),
    Exit.USAGE: frozenset({"DefinitionError", "LabelRefused", "ExtraMissing"}),
    Exit.REFUSED: frozenset(
        {
            "AlreadyAnswered",
            "CancelRequested",
            "CannotStore",
            "EffectError",
            "IncompatibleCheckpoint",
            "RunConflict",
            "RunForgotten",
            "RunLeftOpen",
            "RunNotEnded",
            "RunNotOpen",
            "RunOwned",
            "StoreLocked",
            "StoreTakenOver",
            "UnknownWorkflow",
        }
    ),
}
