"""Runs a program on an event loop; its tools are called as soon as it wants them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from .._errors import ProgramsError
from ._hosts import ProgramTool
from ._strands import Request, Strands


async def drive(strands: Strands, act: Callable[[], Any], tools: Mapping[str, ProgramTool]) -> Any:
    """What the program gives.

    Args:
        strands: Run it.
        act: The program.
        tools: What it may call.
    """
    strands.begin(act)
    try:
        while await settled(strands):
            if len(strands.requests) == 1:
                await _call(strands, strands.requests[0], tools)
            else:
                await _Several(strands, tools).calls()
    finally:
        strands.close()
    return strands.outcome


async def settled(strands: Strands) -> bool:
    """Run a program as far as it comes; returns whether it waits for calls."""
    while strands.go():
        await anyio.lowlevel.checkpoint()
    return not strands.is_over


async def _call(strands: Strands, request: Request, tools: Mapping[str, ProgramTool]) -> None:
    failure, result = None, None
    try:
        result = tools[request.name](**request.arguments)
        result = await result if inspect.isawaitable(result) else result
    except Exception as error:  # noqa: BLE001 - the program gets it where it waits
        failure = error
    if request not in strands.requests:
        return  # its branch was ended meanwhile
    if failure is not None:
        strands.fail(request, failure)
    else:
        strands.answer(request, result)


class _Several:
    """Makes calls of branches at the same time; each branch goes on as soon as it has its answer."""

    def __init__(self, strands: Strands, tools: Mapping[str, ProgramTool]) -> None:
        self._strands = strands
        self._tools = tools
        self._scopes: dict[Request, anyio.CancelScope] = {}
        self._refused: ProgramsError | None = None

    async def calls(self) -> None:
        """Make calls until none waits."""
        async with anyio.create_task_group() as group:
            self._begin(group)
        if self._refused is not None:
            raise self._refused

    def _begin(self, group: anyio.abc.TaskGroup) -> None:
        """Call what is wanted, and leave off what no branch waits for any more."""
        wanted = set(self._strands.requests)
        for request in [each for each in self._scopes if each not in wanted]:
            self._scopes.pop(request).cancel()
        for request in self._strands.requests:
            if request not in self._scopes:
                self._scopes[request] = anyio.CancelScope()
                group.start_soon(self._one, request, group)

    async def _one(self, request: Request, group: anyio.abc.TaskGroup) -> None:
        scope = self._scopes.get(request)
        if scope is None:
            return  # its branch was ended before this task began
        with scope:
            await _call(self._strands, request, self._tools)
        if self._scopes.pop(request, None) is None:
            return
        try:
            await settled(self._strands)
        except ProgramsError as refused:
            self._refused = refused
            group.cancel_scope.cancel()
        else:
            self._begin(group)
