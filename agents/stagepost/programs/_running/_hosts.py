"""How a program waits: not at all in a script, in a greenlet on an event loop."""

from collections.abc import Callable
from typing import Any, TypeAlias

from .._errors import InvalidValue
from .._fault import Fault
from .._machine import Branch, Machine
from .._outcome import ProgramCall
from .._values._boundary import inward

ProgramTool: TypeAlias = Callable[..., Any]


def branch_of(parent: Branch, number: int, depth: int) -> Branch:
    """A parallel branch; what it defines is dropped."""
    return Branch(dict(parent.memory), depth, path=(*parent.path, number))


def in_branch(fault: Fault, number: int) -> Fault:
    """The error of a branch, with its number."""
    return Fault(fault.kind, f"in branch {number}: {fault.text}", fault.hint, fault.place)


class Calls:
    """Counts calls of tools and notes them."""

    def __init__(self) -> None:
        self._count = 0

    def begin(self, machine: Machine) -> None:
        """Count a call."""
        self._count += 1
        limit = machine.limits.calls
        if limit is not None and self._count > limit:
            raise Fault(
                "tool_call_limit_exceeded",
                f"the program calls tools more than {limit} times; Limits(calls=…) raises it",
            )

    def answered(self, machine: Machine, name: str, arguments: dict[str, Any], result: Any) -> Any:
        """Note a result, which becomes a value of the program."""
        try:
            value = inward(result, "its result", machine.tick)
        except InvalidValue as refused:
            raise self.failed(machine, name, arguments, refused) from refused
        machine.branch.calls.append(ProgramCall(name, arguments, value, None, machine.branch.path))
        return value

    def failed(self, machine: Machine, name: str, arguments: dict[str, Any], error: Exception) -> Fault:
        """Note an error."""
        reason = str(error) or type(error).__name__
        machine.branch.calls.append(ProgramCall(name, arguments, None, reason, machine.branch.path))
        return Fault("tool_error", f"Tool '{name}' failed: {reason}")


class DirectHost:
    """Runs a program where it is called; branches are run one after another."""

    def __init__(self) -> None:
        self.machine: Machine

    def pause(self) -> None:
        """Nobody waits."""

    def call(self, name: str, _: dict[str, Any]) -> Any:
        """There are no tools in a script without an event loop."""
        raise Fault("tool_not_found", f"Unknown tool: {name}. No tools available.") from None

    def parallel(self, acts: list[Callable[[], Any]]) -> list[Any]:
        """One after another."""
        machine, parent = self.machine, self.machine.branch
        made = []
        for number, act in enumerate(acts, start=1):
            machine.branch = branch_of(parent, number, machine.depth)
            try:
                made.append(act())
            except Fault as fault:
                raise in_branch(fault, number) from None
            finally:
                parent.prints += machine.branch.prints
                machine.branch = parent
        return made
