"""A program that asks for calls of tools instead of making them, so that whoever runs it can commit each of them."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio.lowlevel

from stagepost._dataclasses import dataclass

from .._outcome import Outcome
from ._strands import Request, Strands


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call of a tool that a program waits for.

    Attributes:
        name: Of the tool.
        arguments: By name, as JSON values.
        branch: The number of the parallel branch, and of the branch in it, from 1; empty outside of branches.
    """

    name: str
    arguments: dict[str, Any]
    branch: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer to a call.

    Attributes:
        result: What the program gets; values as JSON has them.
        error: Why there is no result, if there is none.
    """

    result: Any = None
    error: str | None = None


class _ToolError(Exception):
    """A call has failed."""


class StartedProgram:
    """A program under way, made by `start`.

    Args:
        strands: Run it.
        act: The program.
    """

    def __init__(self, strands: Strands, act: Callable[[], Any]) -> None:
        self._strands = strands
        self._waiting: Sequence[Request] = ()
        strands.begin(act)

    async def advance(
        self, answers: Sequence[CallAnswer] = (), *, again: bool = False
    ) -> Outcome | Sequence[CallRequest]:
        """Work until the program ends, or all branches wait; other tasks run each millisecond.

        Args:
            answers: Those to the calls that it waits for, in their order.
            again: Whether it has got further before, in another process perhaps: the time that it takes now does not
                count.

        Returns:
            The outcome, or the calls that it waits for.

        Raises:
            InvalidValue: An input is no value of programs.
        """
        strands = self._strands
        for request, answer in zip(self._waiting, answers, strict=True):
            if answer.error is None:
                strands.answer(request, answer.result)
            else:
                strands.fail(request, _ToolError(answer.error))
        strands.machine.work_again(again=again)
        while strands.go():
            await anyio.lowlevel.checkpoint()
        if strands.is_over:
            outcome: Outcome = strands.outcome
            return outcome
        self._waiting = tuple(strands.requests)
        return [CallRequest(each.name, each.arguments, each.strand.path) for each in self._waiting]

    def close(self) -> None:
        """End it where it stands."""
        self._strands.close()
