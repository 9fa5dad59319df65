"""An agent as it was registered."""

from collections.abc import Callable
from functools import partial

from stagepost._dataclasses import dataclass

from ._blueprint import Blueprint
from ._endpoint import Endpoint, Overflow
from ._engine import Engine, Planned
from ._groups import BEST, Standing
from ._handlers import Handlers
from ._metrics import AgentMetrics
from ._receiver import Receiver
from ._supervising import supervise
from ._supervision import Supervision


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of an agent; equal options are shared by many agents.

    Attributes:
        concurrency: How many messages it handles at once; infinity for any number.
        mailbox: How many messages may wait; infinity for any number.
        overflow: What its full mailbox does with one more message.
        supervision: What happens when it fails.
        detach: Whether its handlers continue when the requester no longer waits.
        relays: Whether it belongs to a bridge: it gets no broadcasts, and `request_many` does not ask it.
    """

    concurrency: float
    mailbox: float
    overflow: Overflow
    supervision: Supervision
    detach: bool
    relays: bool = False


class Registration:
    """An agent as it was registered. Everything else is created with its first message.

    Attributes:
        endpoint: Its endpoint, once it had a message; always None if it has one for each key.
        patterns: Its subscriptions, each with the group with which it shares the publications.
        refused: How many sends and requests were refused.
        timers: The timers that end with it, if it ever had one: those that send to it, or that it has planned.
    """

    __slots__ = ("blueprint", "endpoint", "handlers", "id", "options", "patterns", "refused", "timers")

    def __init__(self, agent: str, handlers: Handlers, options: Options, blueprint: Blueprint | None = None) -> None:
        self.id = agent
        self.handlers = handlers
        self.options = options
        self.blueprint = blueprint
        self.patterns: dict[str, str | None] = {}
        self.endpoint: Endpoint | None = None
        self.refused = 0
        self.timers: dict[Planned, None] | None = None

    @property
    def receiver(self) -> Receiver | None:
        """What receives its messages, once it had one."""
        return self.endpoint

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Its endpoints: one, once it had a message."""
        return () if self.endpoint is None else (self.endpoint,)

    def own_endpoint(self, engine: Engine) -> Endpoint:
        """The endpoint for something that the agent does without a message."""
        return self.endpoint or self.open_endpoint(engine)

    @property
    def key(self) -> str | None:
        """The name of the function that gives the keys of its instances, if it has one for each key."""
        return None

    @property
    def instances(self) -> int | None:
        """How many instances there are, if it has one for each key."""
        return None

    def owns(self, endpoint: object) -> bool:
        """Whether an endpoint is its own."""
        return self.endpoint is endpoint

    def metrics(self) -> Callable[[], AgentMetrics]:
        """Take a snapshot of the counts; the result builds the value from it."""
        if self.receiver is None:
            return partial(AgentMetrics, refused=self.refused, instances=self.instances)
        return self.receiver.metrics(self.refused)

    def standing(self) -> Standing:
        """How well it can take one more message."""
        return BEST if self.endpoint is None else self.endpoint.workers.standing()

    def open_endpoint(self, engine: Engine, payload: object = None) -> Endpoint:  # noqa: ARG002 - for those with keys
        """The endpoint for a payload; asked for if `endpoint` is None. From now on it takes messages."""
        endpoint = self.endpoint = self.new_endpoint(engine)
        workers = endpoint.workers
        terminate = partial(engine.terminate, self.id)
        supervise(self.id, engine, workers, self.options.supervision, self.blueprint, terminate)
        if workers.lifecycle is not None:
            workers.lifecycle.begin()
        return endpoint

    def new_endpoint(self, engine: Engine) -> Endpoint:
        """A closed endpoint, for messages that arrive after the agent has left."""
        options = self.options
        return Endpoint(
            self.id,
            self.handlers,
            engine,
            concurrency=options.concurrency,
            mailbox=options.mailbox,
            overflow=options.overflow,
            detach=options.detach,
        )
