"""Who waits for an agent or the hub to stop, and for whom it must not wait, because they wait for each other."""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeAlias

from ._bell import Bell
from ._envelope import Envelope, EnvelopeState
from ._running import running


class Hook(Protocol):
    """The life of an agent, as the one whose hooks run."""

    @property
    def agent(self) -> str:
        """The agent's id."""

    @property
    def hub_engine(self) -> object:
        """What it shares with the other agents of its hub."""

    @property
    def in_hook(self) -> bool:
        """Whether one of its hooks runs now."""


class Workload(Protocol):
    """What has to be known of an agent's place on the hub."""

    def handling(self) -> list[Envelope]:
        """What is handled now."""

    def waiting(self) -> Iterable[Envelope]:
        """What is queued, or waits for room."""

    def is_stuck(self, held: AbstractSet[object], /) -> bool:
        """Whether nothing queued can be begun before one of the handlers or hooks named ends."""


Caller: TypeAlias = Envelope | Hook
FindWorkload: TypeAlias = Callable[[str], Workload | None]

NOBODY: Final[frozenset[Caller]] = frozenset()

_hook: Final[ContextVar[Hook | None]] = ContextVar("stagepost_hook", default=None)
set_hook: Final = _hook.set


def caller_on(engine: object) -> Caller | None:
    """The message whose handler, or the life whose hook, runs this code or has started the task that does.

    None if that handler or hook has ended, as for code outside of the hub.
    """
    envelope = running()
    if (
        envelope is not None
        and envelope.state is EnvelopeState.RUNNING
        and envelope.worker
        and envelope.worker.engine is engine
    ):
        return envelope
    hook = _hook.get()
    return hook if hook is not None and hook.in_hook and hook.hub_engine is engine else None


class Callers:
    """The handlers and hooks that wait for an agent or the hub to stop.

    One that waits so is not waited for by the others, and neither is who waits for its reply, or for a message that
    cannot be begun before it ends. Code outside of the hub waits for everybody: nobody waits for it.

    Attributes:
        present: They.
    """

    __slots__ = ("_bells", "_find", "_notify", "present")

    def __init__(self, find: FindWorkload, notify: Callable[[], None]) -> None:
        self._find = find
        self._notify = notify
        self.present: list[Caller] = []
        self._bells: list[Bell] = []

    @contextmanager
    def waiting(self, caller: Caller | None, bell: Bell) -> Iterator[None]:
        """Count somebody in for the length of a block, in which conditions are waited for by a bell."""
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
        """All whose end the caller must not wait for."""
        return NOBODY if caller is None else self._held_up_by(self.present)

    def chain(self, caller: Caller | None) -> AbstractSet[Caller]:
        """The caller, and those who wait for it to end."""
        return NOBODY if caller is None else self._held_up_by([caller])

    def look(self) -> None:
        """Let all of them look again whom they wait for: one more waits, or one fewer."""
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
            if workload is not None and workload.is_stuck(held):
                pending += self._senders(workload.waiting())
        return held

    def _senders(self, envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
        """The messages whose handlers wait for envelopes, for the reply or for room."""
        for envelope in envelopes:
            within = (envelope.first or envelope).trail.within
            if envelope.waiter is None or within is None:
                continue
            agent, number = within
            workload = self._find(agent)
            for other in workload.handling() if workload is not None else ():
                if other.number == number:
                    yield other
