"""The instances of an agent that has one for each key: made on demand, ended when they are idle."""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice
from typing import Final

from ._bell import Bell
from ._blueprint import Blueprint
from ._callers import NOBODY
from ._containment import class_name
from ._deadlines import Bucket
from ._engine import Engine
from ._envelope import Envelope, EnvelopeState
from ._events import DeadReason, InstanceTerminated
from ._handlers import Handlers
from ._instance import Instance
from ._keying import Keying
from ._lifecycle import Alarm
from ._metrics import AgentMetrics
from ._registration import Options
from ._stopping import finish_soon
from ._tally import Tally
from .errors import AgentStopped, DeliveryError, InstancesFull

_LOOKS: Final = 16  # instances that are asked whether they are idle, the one used longest ago first
_AT_ONCE: Final = 256  # instances that are looked at before others run


class Instances:
    """The endpoints of an agent, one for each key in use.

    An instance without work for some time is passivated: it takes no more messages, and its ``on_stop`` runs. A message
    that comes meanwhile is for a new instance, which starts after that. So the messages of one key are handled one
    after the other, whatever instance handles them.

    Attributes:
        id: The agent's id.
        bell: Rings when one of them may have ended.
        tally: The counts of the messages of all.
    """

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        agent: str,
        handlers: Handlers,
        engine: Engine,
        options: Options,
        keying: Keying,
        blueprint: Callable[[Hashable], Blueprint | None],
    ) -> None:
        self.id = agent
        self.bell = Bell(engine.new_waiter)
        self.tally = Tally()
        self._handlers = handlers
        self._engine = engine
        self._options = options
        self._keying = keying
        self._blueprint = blueprint
        self._live: dict[Hashable, Instance] = {}  # the one used longest ago first
        self._leaving: dict[Instance, None] = {}
        self._last: dict[Hashable, Instance] = {}  # of those that leave, the latest one for each key
        self._bucket: Bucket | None = None
        self._alarm: Final = Alarm(self._passivate_idle)
        self._on_left: Callable[[], None] | None = None
        self._is_left = False

    def instance_for(self, payload: object) -> Instance:
        """The instance that handles a payload.

        Raises:
            KeyFailed: The function for the key has raised, or returned what cannot be a key.
            InstancesFull: There are as many as there may be, and none of them is idle.
        """
        key = self._keying.key_of(self.id, payload)
        instance = self._live.pop(key, None) or self._made(key)
        self._live[key] = instance
        instance.touched = self._engine.stamps.clock()
        if self._bucket is None:
            self._arm(instance.touched)
        return instance

    def __len__(self) -> int:
        return len(self._live) + len(self._leaving)

    def __contains__(self, endpoint: object) -> bool:
        return any(endpoint is one for one in self.all())

    def all(self) -> Iterator[Instance]:
        """All instances, also those that are leaving."""
        return chain(self._live.values(), self._leaving)

    @property
    def depth(self) -> int:
        """How many messages wait."""
        return sum(one.depth for one in self.all())

    @property
    def blocked(self) -> int:
        """How many senders wait for room."""
        return sum(one.blocked for one in self.all())

    def metrics(self, refused: int) -> Callable[[], AgentMetrics]:
        """Take a snapshot of counts and state; the result builds the value from it."""
        began = [moment for one in self.all() for moment in one.workers.began()]
        return partial(
            self.tally.copy().read,
            refused=refused,
            depth=self.depth,
            blocked=self.blocked,
            running=len(began),
            running_since=self._engine.stamps.wall(min(began)) if began else None,
            instances=len(self),
        )

    def handling(self, spared: AbstractSet[object] = NOBODY) -> list[Envelope]:
        """The envelopes being handled, except those to spare."""
        return [envelope for one in self.all() for envelope in one.handling(spared)]

    def stuck(self, held: AbstractSet[object]) -> Sequence[Envelope]:
        """What cannot start before one of the given handlers or hooks ends."""
        return [envelope for one in self.all() for envelope in one.stuck(held)]

    def stuck_depth(self, held: AbstractSet[object]) -> int:
        """How much of that is queued."""
        return sum(one.stuck_depth(held) for one in self.all())

    def close(self, on_left: Callable[[], None]) -> None:
        """Let all instances end once everything is handled; the last one calls back."""
        self._on_left = on_left
        for key, instance in tuple(self._live.items()):
            self._part_with(key, instance)
        self._report()

    def abort(
        self,
        refusal: Callable[[str], DeliveryError],
        reason: DeadReason,
        spared: AbstractSet[object] = NOBODY,
    ) -> Iterator[tuple[Envelope, EnvelopeState]]:
        """End all instances at once, one message per step."""
        for instance in tuple(self.all()):
            yield from instance.abort(refusal, reason, spared)

    async def left(self, held: Callable[[], AbstractSet[object]]) -> None:
        """Wait until the last worker has ended, or all that is left waits for one of those named."""
        await self.bell.until(lambda: self._is_left or all(one.has_left(held()) for one in self.all()))

    def _made(self, key: Hashable) -> Instance:
        self._make_room()
        instance = Instance(self.id, self._handlers, self._engine, self._options, self.tally, self.bell)
        terminate = partial(self._terminate, key, instance)
        instance.begin(self._engine, self._options, self._blueprint(key), terminate, self._last.get(key))
        return instance

    def _make_room(self) -> None:
        limit = self._keying.limit
        if len(self._live) >= limit:
            for key, instance in tuple(islice(self._live.items(), _LOOKS)):
                if instance.is_idle:
                    self._part_with(key, instance)
                    break
        if len(self._live) >= limit or len(self._leaving) > limit:
            raise InstancesFull(self.id, limit)

    def _part_with(self, key: Hashable, instance: Instance) -> None:
        """Let an instance end, after what it has to do."""
        del self._live[key]
        self._leaving[instance] = None
        self._last[key] = instance
        instance.close(partial(self._note_left, key, instance))

    def _note_left(self, key: Hashable, instance: Instance) -> None:
        del self._leaving[instance]
        if self._last.get(key) is instance:
            del self._last[key]
        instance.end()
        self._report()

    def _report(self) -> None:
        if self._on_left is not None and not self._is_left and not len(self):
            self._is_left = True
            self._on_left()
        self.bell.ring()

    def _terminate(
        self, key: Hashable, instance: Instance, failure: BaseException, refusal: Callable[[str], DeliveryError]
    ) -> None:
        """End an instance that has failed, and refuse what is queued for it."""
        refusal = _failed if refusal is AgentStopped else refusal
        error = class_name(type(failure))
        self._engine.emit(InstanceTerminated(hub=self._engine.hub, agent=self.id, error=error))
        if self._live.get(key) is instance:
            self._part_with(key, instance)
        finish_soon(self._engine, instance.abort(refusal, DeadReason.RECIPIENT_GONE), f"stagepost end of {self.id}")

    def _arm(self, now: float) -> None:
        if self._keying.idle < math.inf:
            self._bucket = self._engine.deadlines.add(self._alarm, now + self._keying.idle)

    def _passivate_idle(self) -> None:
        """End the instances that have been idle for long enough, and look at the others again."""
        now, self._bucket = self._engine.stamps.clock(), None
        for key, instance in tuple(islice(self._live.items(), _AT_ONCE)):
            if instance.touched + self._keying.idle > now:
                break
            if instance.is_idle:
                self._part_with(key, instance)
            else:
                instance.touched = now
                self._live[key] = self._live.pop(key)
        if self._live:
            self._arm(max(now - self._keying.idle, next(iter(self._live.values())).touched))


def _failed(agent: str) -> AgentStopped:
    """What those are told whose message an instance did not come to."""
    told = f"an instance of agent {agent!r} has failed and was ended, with what was queued for it"
    return AgentStopped(agent, f"{told}: send again, to a new one")
