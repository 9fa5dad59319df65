"""Runs a program and its parallel branches as far as they come without answers of tools.

The evaluator is made of plain functions, which call each other as deep as the program nests. A greenlet keeps them all
where they are while somebody else gets the answers that they wait for. The program and each of its branches have one.

Which calls wait together depends on the program and its answers alone, not on time: a branch works until it waits or
ends, and branches begin in their order. So a program that runs again makes the same calls together.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, final

from .._errors import PackageMissing
from .._fault import Fault
from .._machine import Branch, Machine
from ._hosts import Calls, branch_of, in_branch

_PAUSE: Final = object()


@final
class Strand:
    """The program, or a branch of it."""

    __slots__ = ("error", "group", "index", "path", "value", "worker")

    def __init__(self, worker: Any, path: tuple[int, ...], group: "_Group | None" = None, index: int = 0) -> None:
        self.worker = worker
        self.path = path
        self.group = group
        self.index = index
        self.value: Any = None
        self.error: BaseException | None = None

    def resume(self) -> Any:
        """Work until it has to wait, or ends."""
        value, error = self.value, self.error
        self.value = self.error = None
        if error is not None:
            return self.worker.throw(error)
        return self.worker.switch(value) if self.worker else self.worker.switch()


@final
class Request:
    """A call of a tool that waits for its answer.

    Attributes:
        name: Of the tool.
        arguments: By name.
        strand: Who waits.
    """

    __slots__ = ("arguments", "name", "strand")

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self.name = name
        self.arguments = arguments
        self.strand: Strand


@final
class _Group:
    """Branches that one form runs in parallel."""

    def __init__(self, acts: list[Callable[[], Any]]) -> None:
        self.acts = acts
        self.parent: Strand
        self.branches: list[Branch] = []
        self.made: list[Any] = [None] * len(acts)
        self.faults: dict[int, Exception] = {}
        self.active: dict[int, Strand] = {}
        self.next = 0


class Strands:
    """Runs one program.

    Attributes:
        machine: Counts what it uses.
        requests: The calls that wait, in the order of the branches and of their beginning.
        is_over: Whether it has ended.
        outcome: What it gave then.
    """

    def __init__(self) -> None:
        self.machine: Machine
        self.requests: list[Request] = []
        self.is_over = False
        self.outcome: Any = None
        self._calls = Calls()
        self._greenlets = _greenlets()
        self._ready: deque[Strand] = deque()
        self._groups: dict[Strand, _Group] = {}

    # called by the program, in a greenlet

    def pause(self) -> None:
        """Let other tasks run."""
        self._ask(_PAUSE)

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool; the time of the program stands still meanwhile."""
        self._calls.begin(self.machine)
        try:
            result = self._ask(Request(name, arguments))
        except Exception as error:
            raise self._calls.failed(self.machine, name, arguments, error) from error
        return self._calls.answered(self.machine, name, arguments, result)

    def parallel(self, acts: list[Callable[[], Any]]) -> list[Any]:
        """Run the branches, several at a time."""
        made: list[Any] = self._ask(_Group(acts))
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

    # called by whoever runs it

    def begin(self, act: Callable[[], Any]) -> None:
        """Take up the program, which gives its outcome."""
        self._ready.append(Strand(self._greenlets.greenlet(act), ()))

    def go(self) -> bool:
        """Work; returns whether it is to be called again once others had their turn.

        Otherwise the program has ended, or all that is left of it waits.
        """
        while self._ready:
            strand = self._ready[0]
            request = strand.resume()
            if request is _PAUSE and not strand.worker.dead:
                return True
            self._ready.remove(strand)
            if strand.worker.dead:
                self._ended(strand, request)
            elif isinstance(request, Request):
                request.strand = strand
                self._wait(request)
            else:
                self._branch(strand, request)
        return False

    def answer(self, request: Request, result: Any) -> None:
        """Give a call its result."""
        self._release(request).value = result

    def fail(self, request: Request, error: BaseException) -> None:
        """Tell why a call has no result."""
        self._release(request).error = error

    def close(self) -> None:
        """End what has not ended."""
        waiting = [*self._ready, *(request.strand for request in self.requests), *self._groups]
        for strand in sorted(waiting, key=lambda each: len(each.path), reverse=True):
            self._kill(strand)
        self._ready.clear()

    def _wait(self, request: Request) -> None:
        self.requests.append(request)
        self.requests.sort(key=lambda each: each.strand.path)

    def _release(self, request: Request) -> Strand:
        self.requests.remove(request)
        self._ready.append(request.strand)
        return request.strand

    def _ended(self, strand: Strand, value: Any) -> None:
        group = strand.group
        if group is None:
            self.is_over, self.outcome = True, value
            return
        del group.active[strand.index]
        group.made[strand.index] = value
        if group.faults:
            first = min(group.faults)
            for index in [index for index in group.active if index > first]:
                self._kill(group.active.pop(index))
        self._fill(group)

    # branches

    def _branch(self, parent: Strand, group: _Group) -> None:
        group.parent = parent
        self._groups[parent] = group
        self._fill(group)

    def _fill(self, group: _Group) -> None:
        """Begin branches, as many as may work at a time; if none is left, go on after them."""
        machine = self.machine
        while not group.faults and group.next < len(group.acts) and len(group.active) < machine.limits.branches:
            index, group.next = group.next, group.next + 1
            self._start(group, index)
        if not group.active:
            self._join(group)

    def _start(self, group: _Group, index: int) -> None:
        parent = self._parents_branch(group)
        branch = branch_of(parent, index + 1, parent.depth)
        group.branches.append(branch)
        worker = self._greenlets.greenlet(lambda: self._in(branch, group, index))
        group.active[index] = strand = Strand(worker, branch.path, group, index)
        self._ready.append(strand)

    def _parents_branch(self, group: _Group) -> Branch:
        if group.parent.group is None:
            return self.machine.root
        return group.parent.group.branches[group.parent.index]

    def _join(self, group: _Group) -> None:
        del self._groups[group.parent]
        parent = self._parents_branch(group)
        first = min(group.faults, default=None)
        for branch in group.branches if first is None else group.branches[: first + 1]:
            parent.prints += branch.prints
            parent.calls += branch.calls
        if first is None:
            group.parent.value = group.made
        else:
            fault = group.faults[first]
            group.parent.error = in_branch(fault, first + 1) if isinstance(fault, Fault) else fault
        self._ready.append(group.parent)

    def _in(self, branch: Branch, group: _Group, index: int) -> Any:
        """What a branch does, in its greenlet."""
        machine = self.machine
        machine.branch = branch
        machine.depth = branch.depth
        machine.start()
        try:
            return group.acts[index]()
        except RecursionError:
            group.faults[index] = machine.too_deep()
        except Exception as error:  # noqa: BLE001 - the program gets it where it waits for its branches
            group.faults[index] = error
        finally:
            machine.stop()
        return None

    def _kill(self, strand: Strand) -> None:
        group = self._groups.pop(strand, None)
        for below in () if group is None else tuple(group.active.values()):
            self._kill(below)
        self._ready = deque(each for each in self._ready if each is not strand)
        self.requests = [request for request in self.requests if request.strand is not strand]
        worker, strand.worker = strand.worker, None
        if worker:
            try:
                worker.parent = self._greenlets.getcurrent()  # who comes back here, whatever else works
                worker.throw()
            except (self._greenlets.error, RuntimeError, ValueError):
                pass  # it ends with the last reference to it, in the thread that it belongs to


def _greenlets() -> Any:
    try:
        import greenlet  # noqa: PLC0415 - an extra
    except ImportError:
        raise PackageMissing("programs on an event loop", "greenlet") from None
    return greenlet
