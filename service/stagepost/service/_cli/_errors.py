"""What the command itself refuses, and which exit code each error has."""

from collections.abc import Iterator
from contextlib import contextmanager

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


class NotWritten(CommandError):
    """What was found cannot be written where it is to go."""

    code = Exit.NOT_WRITTEN


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


@contextmanager
def misuse() -> Iterator[None]:
    """Take a plain `ValueError` of the library for a mistake on the command line; its errors have classes of their own.

    Raises:
        UsageError: There was one.
    """
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise UsageError(worded(error)) from error


def worded(error: BaseException) -> str:
    """What an error says, with the options of the command in the place of Python's arguments."""
    text = str(error) or type(error).__name__
    for python, option in _OPTIONS.items():
        text = text.replace(python, option)
    return text


def code_of(error: BaseException) -> Exit:
    """The exit code of an error; `Exit.DEFECT` of one that nobody expects."""
    if isinstance(error, CommandError):
        return error.code
    kinds = {kind.__name__ for kind in type(error).__mro__}  # the layers take their time to import
    if "ServiceRefused" in kinds:
        return _code_of_refusal(error)
    if not kinds & _ROOTS:
        return Exit.DEFECT
    for code, names in _KINDS.items():
        if kinds & names:
            return code
    return Exit.FOUND


def name_of(error: BaseException) -> str:
    """The class of an error, also of one that a service has told."""
    return str(getattr(error, "kind", None) or type(error).__name__)


def _code_of_refusal(error: BaseException) -> Exit:
    """The exit code of what a service has refused: that of its error with a file, or that of the status."""
    kind, status = name_of(error), getattr(error, "status", 0)
    found = next((code for code, names in _KINDS.items() if kind in names), None)
    return found or _STATUSES.get(status, Exit.FOUND)


_STATUSES = {
    400: Exit.USAGE,
    401: Exit.REFUSED,
    403: Exit.REFUSED,
    404: Exit.NOT_FOUND,
    409: Exit.REFUSED,
    410: Exit.REFUSED,
    413: Exit.REFUSED,
    422: Exit.USAGE,
    429: Exit.REFUSED,
    503: Exit.NO_STORE,
}
_ROOTS = frozenset({"AgentError", "CheckpointError", "ClientError", "HubError", "ServiceError", "WorkflowError"})
_OPTIONS = {
    "effects='again'": "--effects again",
    "effects='keep'": "--effects keep",
    "place= too": "--place, too",
    "give next or previous of a page": "give the cursor of a page",
}

_KINDS = {
    Exit.NOT_FOUND: frozenset(
        {
            "EffectNotFound",
            "NotInHistory",
            "RunNotFound",
            "ScheduleNotFound",
            "UnknownSignal",
            "WaitNotFound",
            "WorkflowNotFound",
        }
    ),
    Exit.NO_STORE: frozenset(
        {
            "BackupFailed",
            "NotAStore",
            "ServiceUnreachable",
            "StoreNotReadable",
            "StoreNotWritable",
            "SqliteTooOld",
            "StoreLost",
        }
    ),
    Exit.USAGE: frozenset(
        {
            "CannotDecrypt",
            "DefinitionError",
            "EncryptionNotInstalled",
            "ErrorsNotSearchable",
            "ExtraMissing",
            "InvalidKey",
            "InvalidName",
            "InvalidServiceSettings",
            "InvalidSettings",
            "LabelRefused",
        }
    ),
    Exit.REFUSED: frozenset(
        {
            "AlreadyAnswered",
            "CancelRequested",
            "CannotListen",
            "CannotStore",
            "ConversationOver",
            "EffectError",
            "EffectsAgain",
            "ForkRefused",
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
