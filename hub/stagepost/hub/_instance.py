"""One instance of an agent that has one for each key."""

from collections.abc import Callable

from ._bell import Bell
from ._blueprint import Blueprint
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Envelope
from ._handlers import Handlers
from ._registration import Options
from ._running import running_on
from ._supervising import Terminate, supervise
from ._tally import Tally


class Instance(Endpoint):
    """Receives the messages for one key.

    Attributes:
        blueprint: Makes the object that handles them, and has it; None for a handler that is a function.
        touched: When it was last sent to, on the hub's clock.
    """

    __slots__ = ("_is_held", "_successor", "blueprint", "touched")

    def __init__(  # noqa: PLR0917 - made in one place
        self, agent: str, handlers: Handlers, engine: Engine, options: Options, tally: Tally, bell: Bell
    ) -> None:
        super().__init__(
            agent,
            handlers,
            engine,
            concurrency=options.concurrency,
            mailbox=options.mailbox,
            overflow=options.overflow,
            detach=options.detach,
            tally=tally,
            bell=bell,
        )
        self.blueprint: Blueprint | None = None
        self.touched = 0.0
        self._is_held = False
        self._successor: Callable[[], None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do."""
        workers = self.workers
        return not (self._is_held or self.depth or self.blocked or workers.running() or workers.owned)

    def rest(self) -> None:
        """Take less memory; the counts are those of all instances, and go on."""
        self.workers.mailbox.rest()

    def begin(
        self,
        engine: Engine,
        options: Options,
        blueprint: Blueprint | None,
        terminate: Terminate,
        before: "Instance | None",
    ) -> None:
        """Start to handle messages, once the instance for the same key before it has ended."""
        self.blueprint = blueprint
        supervise(self.id, engine, self.workers, options.supervision, blueprint, terminate)
        if before is None:
            self._go()
        else:
            self._is_held = True
            self.workers.pause()
            before._successor = self._go  # noqa: SLF001 - its own class

    def end(self) -> None:
        """It has ended: let the next one for the same key start."""
        successor, self._successor = self._successor, None
        if successor is not None:
            successor()

    def is_own(self, envelope: Envelope) -> bool:
        """Whether it sends to itself, and not to the instance for another key."""
        sending = running_on(self._engine)
        return super().is_own(envelope) and sending is not None and sending.recipient is self

    def _go(self) -> None:
        self._is_held = False
        if self.workers.lifecycle is not None:
            self.workers.lifecycle.begin()
        else:
            self.workers.proceed()
