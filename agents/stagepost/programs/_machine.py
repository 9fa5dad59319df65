"""The counters of a running program, and what its branches have of their own."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from ._fault import Fault
from ._limits import Limits
from ._values._tracked import Mapped, Vector

_FUEL: Final = 200  # steps between two looks at the clock
_PIECE: Final = 250  # elements between two steps of a built-in function
_SMALL: Final = 64  # elements from which on a collection gives back its memory when it is dropped
_SLICE: Final = 0.001
_MANY: Final = sys.maxsize


class Host(Protocol):
    """What the machine cannot do by itself."""

    def pause(self) -> None:
        """Let other tasks run."""

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool."""

    def parallel(self, acts: list[Callable[[], Any]]) -> list[Any]:
        """Do all of them, each in a branch of its own; what they gave, in order, or the first error."""


class Branch:
    """What a parallel branch has of its own; the program itself is the first branch."""

    __slots__ = ("calls", "depth", "memory", "path", "prints")

    def __init__(self, memory: dict[str, Any], depth: int = 0, path: tuple[int, ...] = ()) -> None:
        self.memory = memory
        self.depth = depth
        self.path = path
        self.prints: list[str] = []
        self.calls: list[Any] = []


class Machine:
    """Counts what a program uses, and ends it at its limits."""

    __slots__ = (
        "_active", "_clock", "_room", "_since", "_spent", "branch", "depth", "fuel", "host", "limits", "loops",
        "max_depth", "root", "untimed", "world",
    )  # fmt: skip

    def __init__(self, limits: Limits, host: Host, world: Any, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.host = host
        self.world = world
        self.root = self.branch = Branch({})
        self.depth = 0
        self.max_depth = limits.depth
        self.fuel = _FUEL
        self.loops = 0
        self._spent = 0
        self._room = _MANY if limits.memory is None else limits.memory
        self._clock = clock
        self._since = clock()
        self._active = 0.0
        self.untimed = False

    # time and steps

    def tick(self) -> None:
        """Count one step."""
        self.fuel -= 1
        if self.fuel < 0:
            self.refuel()

    def copying(self) -> None:
        """Count a collection that is copied."""
        self.charge(100)
        self.tick()

    def spend(self, steps: int) -> None:
        """Count so many steps; no more than a thousand in one go, or other tasks wait."""
        self.fuel -= steps
        if self.fuel < 0:
            self.refuel()

    def refuel(self) -> None:
        """Look at the limits of steps and time, and let others run when a millisecond has passed."""
        self._spent += _FUEL - self.fuel
        self.fuel = _FUEL
        if self.limits.steps is not None and self._spent > self.limits.steps:
            raise Fault(
                "loop_limit_exceeded",
                f"the program takes more than {self.limits.steps} steps; Limits(steps=…) raises it",
            )
        now = self._clock()
        if (
            not self.untimed
            and self.limits.seconds is not None
            and self._active + now - self._since > self.limits.seconds
        ):
            raise self._late()
        if now - self._since > _SLICE:
            self.host.pause()

    def stop(self) -> None:
        """The program waits; its time stands still."""
        self._active += self._clock() - self._since

    def start(self) -> None:
        """The program goes on."""
        self._since = self._clock()

    def work_again(self, *, again: bool) -> None:
        """Say whether the program works as it did before, and got further: then its time is not limited."""
        if again or self.untimed:
            self._active = 0.0
            self._since = self._clock()
        self.untimed = again

    def loop(self) -> None:
        """Count an iteration of a loop."""
        self.tick()
        self.loops += 1
        if self.limits.loops is not None and self.loops > self.limits.loops:
            raise Fault(
                "loop_limit_exceeded",
                f"the loops of the program take more than {self.limits.loops} iterations; Limits(loops=…) raises it",
                "map, filter and reduce go over whole collections and are not limited",
            )

    def too_deep(self) -> Fault:
        """The error of an evaluation that nests too deep."""
        return Fault("memory_exceeded", f"evaluation nests deeper than {self.max_depth}; Limits(depth=…) raises it")

    def _late(self) -> Fault:
        milliseconds = round((self.limits.seconds or 0) * 1000)
        return Fault("timeout", f"the program takes longer than {milliseconds} ms; Limits(seconds=…) raises it")

    # memory

    def charge(self, size: int) -> None:
        """Count bytes that the program is about to occupy."""
        self._room -= size
        if self._room < 0:
            raise Fault(
                "memory_exceeded",
                f"the values of the program need more than {self.limits.memory} bytes; Limits(memory=…) raises it",
            )

    def credit(self, size: int) -> None:
        """Count bytes that are free again."""
        self._room += size

    def vector(self, items: list[Any], *, fresh: int = 0) -> list[Any]:
        """A new vector; ``fresh`` is how many bytes each element occupies that did not exist before."""
        count = len(items)
        size = 56 + count * (8 + fresh)
        self.charge(size)
        return items if count < _SMALL else Vector(items, self, size)

    def mapping(self, entries: dict[Any, Any]) -> dict[Any, Any]:
        """A new map."""
        count = len(entries)
        size = 180 + count * 90
        self.charge(size)
        return entries if count < _SMALL else Mapped(entries, self, size)

    def members(self, members: Iterable[Any]) -> frozenset[Any]:
        """A new set."""
        made = frozenset(members)
        self.charge(220 + 70 * len(made))
        return made

    def string(self, text: str) -> str:
        """A new text."""
        self.charge(sys.getsizeof(text))
        return text

    def integer(self, number: int) -> int:
        """A large integer that was computed."""
        if number.bit_length() > self.limits.integer_digits * 3.33:
            raise Fault(
                "memory_exceeded",
                f"an integer of more than {self.limits.integer_digits} digits; Limits(integer_digits=…) raises it",
            )
        self.charge(60)
        return number

    # pieces

    def each(self, call: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """What the function gives for each element."""
        made: list[Any] = []
        for start in range(0, len(items), _PIECE):
            piece = items[start : start + _PIECE]
            self.spend(len(piece))
            self.charge(len(piece) * 8)
            made += [call(item) for item in piece]
        self.credit(len(items) * 8)
        return made

    def touch(self, count: int) -> None:
        """Count the elements that something written in C goes over at once."""
        self.spend(count >> 4)
