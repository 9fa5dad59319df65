"""A language model on this machine, in a process of its own: ``benchmarks.agents.provider:answer`` is its script.

Its name is one whose price litellm knows; it takes as many seconds as `user` says.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from time import sleep
from typing import Final

from benchmarks.agents.task import ANSWER, ARGUMENTS

from stagepost.agents import ToolCall
from stagepost.agents.testing import ServerRequest

MODEL: Final = "gpt-4o-mini"
_COMMAND: Final = [sys.executable, "-m", "stagepost.agents.testing", f"{__name__}:answer"]


def answer(request: ServerRequest) -> str | ToolCall:
    """Call the tool when somebody asks, and answer when it has returned."""
    sleep(float(request.body["user"]))
    if request.body["messages"][-1]["role"] == "tool":
        return ANSWER
    return ToolCall(id="", name="add", arguments=ARGUMENTS[0])


@contextmanager
def provider() -> Iterator[str]:
    """The URL of one that has just started; it ends with the block."""
    with Popen(_COMMAND, stdout=PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
