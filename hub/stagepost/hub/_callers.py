"""Who waits for an agent or the hub to stop, and whom it must not wait for, to avoid deadlocks."""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeAlias

from ._bell import Bell
from ._envelope import Envelope, EnvelopeState, Recipient, Trail
from ._running import running_on


class Hook(Protocol):
    """The lifecycle of an agent, whose hooks run, or a task that the agent owns."""

    @property
    def agent(self) -> str:
        """The agent's id."""

    @property
    def hub_engine(self) -> object:
        """The engine that it shares with the other agents of its hub."""

    @property
    def in_hook(self) -> bool:
        """Whether one of its hooks, or the task, is running."""


class Workload(Protocol):
    """What an agent handles and has queued, as far as waiting is concerned."""

    def handling(self) -> list[Envelope]:
        """The envelopes being handled."""

    def stuck(self, held: AbstractSet[object], /) -> Iterable[Envelope]:
        """What is queued or waits for room, and cannot start before one of the given handlers or hooks ends."""


Caller: TypeAlias = Envelope | Hook
FindWorkload: TypeAlias = Callable[[str], Workload | None]

NOBODY: Final[frozenset[Caller]] = frozenset()

_hook: Final[ContextVar[Hook | None]] = ContextVar("stagepost_hook", default=None)
set_hook: Final = _hook.set


def caller_on(engine: object) -> Caller | None:
    """The message whose handler, the lifecycle whose hook, or the owned task that runs this code or started its task.

    None if that handler, hook or task has ended, and for code outside the hub.
    """
    hook = _hook.get()
    if hook is not None and hook.in_hook and hook.hub_engine is engine:
        return hook
    envelope = running_on(engine)
    return envelope if envelope is not None and envelope.state is EnvelopeState.RUNNING else None


class Callers:
    """The handlers and hooks that wait for an agent or the hub to stop.

    The others do not wait for such a handler or hook, nor for handlers that wait for its reply, or for a message that
    cannot start before it ends. Code outside the hub waits for everybody: nobody waits for it.

    Attributes:
        present: Those that wait now.
    """

    __slots__ = ("_bells", "_find", "_notify", "present")

    def __init__(self, find: FindWorkload, notify: Callable[[], None]) -> None:
        self._find = find
        self._notify = notify
        self.present: list[Caller] = []
        self._bells: list[Bell] = []

    @contextmanager
    def waiting(self, caller: Caller | None, bell: Bell) -> Iterator[None]:
        """Add a caller for the length of a block, in which it waits for conditions with a bell."""
        callers = [] if caller is None else [caller]
        self.present += callers
        self._bells.append(bell)
        self.look()
        try:
            yield
        finally:
            for one in callers:
                self.present.remove(one)
            self._bells.remove(bell)
            self.look()

    def held(self, caller: Caller | None) -> AbstractSet[Caller]:
        """All handlers and hooks that the caller must not wait for."""
        return NOBODY if caller is None else self._held_up_by(self.present)

    def chain(self, caller: Caller | None) -> AbstractSet[Caller]:
        """The caller, and those who wait for it to end."""
        return NOBODY if caller is None else self._held_up_by([caller])

    def waits_on(self, recipient: Recipient, trail: Trail) -> bool:
        """Whether a handler of this recipient waits for a message with this trail, directly or through others.

        Those who wait on another hub are known by name only: of an agent with keys, it may be another instance.
        """
        while trail.within is not None:
            envelope = self._handled(*trail.within)
            if envelope is None or envelope.recipient is recipient:
                return envelope is not None
            if envelope.waiter is None:
                return False
            trail = (envelope.first or envelope).trail
        return recipient.id in trail.chain

    def look(self) -> None:
        """Let all of them check again whom they wait for: one more waits, or one fewer."""
        for bell in self._bells:
            bell.ring()
        self._notify()

    def _held_up_by(self, callers: Iterable[Caller]) -> AbstractSet[Caller]:
        held: set[Caller] = set()
        pending = list(callers)
        while pending:
            caller = pending.pop()
            if caller in held:
                continue
            held.add(caller)
            if isinstance(caller, Envelope):
                pending += self._senders([caller])
            workload = self._find(caller.recipient.id if isinstance(caller, Envelope) else caller.agent)
            pending += self._senders(() if workload is None else workload.stuck(held))
        return held

    def _senders(self, envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
        """The messages whose handlers wait for these envelopes: for the reply or for room."""
        for envelope in envelopes:
            within = (envelope.first or envelope).trail.within
            if envelope.waiter is None or within is None:
                continue
            other = self._handled(*within)
            if other is not None:
                yield other

    def _handled(self, agent: str, number: int) -> Envelope | None:
        """The message of an agent with this number, if it is being handled."""
        workload = self._find(agent)
        handled = () if workload is None else workload.handling()
        return next((envelope for envelope in handled if envelope.number == number), None)
