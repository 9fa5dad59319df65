"""Runs a program on an event loop, in a greenlet: it stops anywhere, to let others run or to wait for a tool.

The evaluator is made of plain functions, which call each other as deep as the program nests. A greenlet keeps them all
where they are while the coroutine that started it awaits what they need, and goes on with the answer.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel

from .._errors import PackageMissing
from .._fault import Fault
from .._machine import Branch, Machine
from ._hosts import Calls, ProgramTool, branch_of, in_branch


class _Call(NamedTuple):
    """Call a tool."""

    name: str
    arguments: dict[str, Any]


class _Parallel(NamedTuple):
    """Run branches."""

    acts: list[Callable[[], Any]]


class LoopHost:
    """Runs one program and its branches on the running event loop."""

    def __init__(self, tools: Mapping[str, ProgramTool]) -> None:
        self.machine: Machine
        self._calls = Calls(tools)
        self._greenlets = _greenlets()

    # called by the program, in its greenlet

    def pause(self) -> None:
        """Let other tasks run."""
        self._ask(None)

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool; the time of the program stands still meanwhile."""
        self._calls.begin(self.machine)
        try:
            result = self._ask(_Call(name, arguments))
        except Exception as error:
            raise self._calls.failed(self.machine, name, arguments, error) from error
        return self._calls.answered(self.machine, name, arguments, result)

    def parallel(self, acts: list[Callable[[], Any]]) -> list[Any]:
        """Run the branches, several at a time."""
        made: list[Any] = self._ask(_Parallel(acts))
        return made

    def _ask(self, request: object) -> Any:
        machine = self.machine
        branch = machine.branch
        branch.depth = machine.depth
        machine.stop()
        try:
            return self._greenlets.getcurrent().parent.switch(request)
        finally:
            machine.branch = branch
            machine.depth = branch.depth
            machine.start()

    # called by the event loop

    async def drive(self, act: Callable[[], Any]) -> Any:
        """Run the program, or a branch of it, to its end."""
        worker = self._greenlets.greenlet(act)
        try:
            request = worker.switch()
            while not worker.dead:
                request = await self._answer(worker, request)
        finally:
            if not worker.dead:  # cancelled: unwind it
                worker.throw()
        return request

    async def _answer(self, worker: Any, request: Any) -> Any:
        try:
            answer = await self._done(request)
        except Exception as error:  # noqa: BLE001 - the program gets it where it waits
            return worker.throw(error)
        return worker.switch(answer)

    async def _done(self, request: Any) -> Any:
        match request:
            case _Call(name, arguments):
                result = self._calls.tools[name](**arguments)
                return await result if inspect.isawaitable(result) else result
            case _Parallel(acts):
                return await self._branches(acts)
            case _:
                await anyio.lowlevel.checkpoint()
                return None

    async def _branches(self, acts: list[Callable[[], Any]]) -> list[Any]:
        parent = self.machine.branch
        branches = [branch_of(parent, number, parent.depth) for number in range(1, len(acts) + 1)]
        made: list[Any] = [None] * len(acts)
        faults: dict[int, Fault] = {}
        scopes = [anyio.CancelScope() for _ in acts]
        room = anyio.Semaphore(self.machine.limits.branches)

        async def one(index: int) -> None:
            with scopes[index]:
                async with room:
                    made[index] = await self.drive(lambda: self._in(branches[index], acts[index], faults, index))
                if index in faults:
                    for later in scopes[index + 1 :]:
                        later.cancel()

        async with anyio.create_task_group() as group:
            for index in range(len(acts)):
                group.start_soon(one, index)
        for branch in branches:
            parent.prints += branch.prints
            parent.calls += branch.calls
        if faults:
            first = min(faults)
            raise in_branch(faults[first], first + 1)
        return made

    def _in(self, branch: Branch, act: Callable[[], Any], faults: dict[int, Fault], index: int) -> Any:
        machine = self.machine
        machine.branch = branch
        machine.depth = branch.depth
        machine.start()
        try:
            return act()
        except Fault as fault:
            faults[index] = fault
            return None
        except RecursionError:
            faults[index] = machine.too_deep()
            return None
        finally:
            machine.stop()


def _greenlets() -> Any:
    try:
        import greenlet  # noqa: PLC0415 - an extra
    except ImportError:
        raise PackageMissing("programs on an event loop", "greenlet") from None
    return greenlet
