"""Running what a command does, and ending with its exit code: never by a traceback, unless that is asked for."""

import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import typer

from ._errors import NotWritten, causes, code_of, name_of, worded
from ._exits import Exit

if TYPE_CHECKING:
    from ._screen import Screen

Job: TypeAlias = Callable[["Screen"], Awaitable[Exit]]


def act(job: Job, *, json: bool, debug: bool) -> None:
    """Do something, and end the command.

    Args:
        job: What is done; it returns the exit code.
        json: Whether the output is for programs.
        debug: Whether errors show where they happened.

    Raises:
        typer.Exit: Always: with the exit code.
    """
    from ._screen import Screen  # noqa: PLC0415  # whoever asks for help waits for nothing else

    if not debug:
        logging.getLogger("stagepost").addHandler(logging.NullHandler())  # what went wrong is said once, by the command
    screen = Screen(as_json=json)
    try:
        code = _run(job, screen, debug=debug)
        screen.flush()
    except BrokenPipeError:  # whoever reads has enough
        _drop_output()
        code = Exit.OK
    except NotWritten as error:
        _drop_output()
        code = _told(error, screen)
    raise typer.Exit(code)


def _run(job: Job, screen: "Screen", *, debug: bool) -> Exit:
    import anyio  # noqa: PLC0415  # as above

    try:
        return anyio.run(job, screen)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except (Exception, BaseExceptionGroup) as raised:
        errors = list(causes(raised))
        if any(isinstance(error, BrokenPipeError) for error in errors):
            raise BrokenPipeError from raised
        for error in errors:
            if isinstance(error, NotWritten):
                raise error from raised
        if any(isinstance(error, KeyboardInterrupt) for error in errors):
            return Exit.INTERRUPTED
        if debug:
            raise
        return _told(errors[0], screen)


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that the end of the process does not fail with it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: BaseException, screen: "Screen") -> Exit:
    """Say what an error means, in one sentence."""
    code, kind = code_of(error), name_of(error)
    text = worded(error)
    if code is Exit.DEFECT:
        text = f"the command has failed with {kind}: {text} (--debug shows where)"
    screen.fail(text, code, kind)
    return code
