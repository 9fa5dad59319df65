"""An agent that has an instance for each key."""

from typing import Final

from ._callers import caller_on
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Envelope
from ._groups import BEST, Room, Standing
from ._handlers import Handlers
from ._instances import Instances
from ._keying import Keying
from ._per_key import PerKey
from ._receiver import Receiver
from ._registration import Options, Registration
from .errors import InvalidArgument


class KeyedRegistration(Registration):
    """An agent whose payloads are told apart by keys. Its endpoints are those of its instances."""

    __slots__ = ("_instances", "_keying", "_source")

    def __init__(self, agent: str, handlers: Handlers, options: Options, source: PerKey, keying: Keying) -> None:
        super().__init__(agent, handlers, options)
        self._source = source
        self._keying: Final = keying
        self._instances: Instances | None = None

    @property
    def receiver(self) -> Receiver | None:
        """All instances, once there was one."""
        return self._instances

    @property
    def key(self) -> str | None:
        """The name of the function that gives the keys."""
        return self._keying.name

    @property
    def instances(self) -> int | None:
        """How many instances there are."""
        return 0 if self._instances is None else len(self._instances)

    def standing(self) -> Standing:
        """How well it can take one more message; which instance that is for is not known yet."""
        return BEST if self._instances is None else Standing(Room.FREE, self._instances.depth)

    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints of all instances."""
        return () if self._instances is None else tuple(self._instances.all())

    def owns(self, endpoint: object) -> bool:
        """Whether an endpoint is that of one of its instances."""
        return self._instances is not None and endpoint in self._instances

    def open_endpoint(self, engine: Engine, payload: object = None) -> Endpoint:
        """The endpoint of the instance for a payload.

        Raises:
            KeyFailed: The payload has no key.
            InstancesFull: There are too many instances.
        """
        if self._instances is None:
            self._instances = Instances(
                self.id, self.handlers, engine, self.options, self._keying, self._source.blueprint
            )
        return self._instances.instance_for(payload)

    def own_endpoint(self, engine: Engine) -> Endpoint:
        """The endpoint of the instance whose code runs."""
        caller = caller_on(engine)
        for instance in self.endpoints():
            workers = instance.workers
            if caller is not None and (
                caller is workers.lifecycle
                or caller in (workers.owned or ())
                or (isinstance(caller, Envelope) and caller.recipient is instance)
            ):
                return instance
        raise InvalidArgument(
            "agent", self.id, "it has an instance for each key: spawn a task from a handler, a hook or a task of one"
        )
