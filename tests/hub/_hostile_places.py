"""Every place where the hub calls somebody else's code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.hub import _hostile_handlers as handlers
from tests.hub import _hostile_values as values
from tests.hub._hostile_stage import GRACE, Play, Stage

from stagepost.hub import Hub, MultiObserver, Restart


@dataclass(frozen=True)
class Place:
    """A place: what is called there (a plain function, or an async one), the hub for it, and how it is reached.

    Where `is_varied`, another place is much the same, and the essential tricks do. Where not `is_reached`, it is called
    in another thread, or by others, if at all: a `KeyboardInterrupt` does not come from there.
    """

    id: str
    calls: Literal["now", "later"]
    play: Play
    hub: Callable[[Stage], Hub] | None = None
    is_reached: bool = True
    is_varied: bool = False

    def hub_for(self, stage: Stage) -> Hub:
        """The hub to play on."""
        return self.hub(stage) if self.hub is not None else Hub(observer=stage.recorder, grace=GRACE)


_HANDLERS: tuple[Place, ...] = (
    Place("async handler", "later", handlers.handling(handlers.async_function)),
    Place("handler", "now", handlers.handling(handlers.sync_function)),
    Place("generator", "later", handlers.handling(handlers.generator, streams=True)),
    Place("sync generator", "now", handlers.handling(handlers.sync_generator, streams=True), is_varied=True),
    Place("handler with context", "later", handlers.handling(handlers.with_context), is_varied=True),
    Place("handler with message", "later", handlers.handling(handlers.with_message), is_varied=True),
    Place("handler of an object", "later", handlers.handling(handlers.method_object), is_varied=True),
    Place("sync handler of an object", "now", handlers.handling(handlers.sync_method_object), is_varied=True),
    Place("handler of a class", "later", handlers.handling(handlers.method_class), is_varied=True),
    Place(
        "restarted handler",
        "later",
        handlers.handling(handlers.method_class, supervision=Restart(max=999, backoff=0)),
    ),
    Place("callable object", "later", handlers.handling(handlers.callable_object), is_varied=True),
    Place("detached handler", "later", handlers.handling(handlers.async_function, detach=True)),
    Place("one of three handlers", "later", handlers.handling(handlers.async_function, concurrency=3), is_varied=True),
    Place(
        "middleware before",
        "later",
        handlers.handling(handlers.friendly),
        handlers.with_middleware("before"),
        is_varied=True,
    ),
    Place(
        "middleware after",
        "later",
        handlers.handling(handlers.friendly),
        handlers.with_middleware("after"),
        is_varied=True,
    ),
    Place("middleware instead", "later", handlers.handling(handlers.friendly), handlers.with_middleware("instead")),
)

_HOOKS: tuple[Place, ...] = (
    Place("on_start", "later", handlers.starting(handlers.start_class)),
    Place("sync on_start", "now", handlers.starting(handlers.sync_start_class)),
    Place(
        "on_start with restarts",
        "later",
        handlers.starting(handlers.start_class, supervision=Restart(max=2, backoff=0.001)),
        is_varied=True,
    ),
    Place("factory", "now", handlers.starting(handlers.failing_factory)),
    Place(
        "factory with restarts",
        "now",
        handlers.starting(handlers.failing_factory, supervision=Restart(max=2, backoff=0.001)),
        is_varied=True,
    ),
    Place("on_stop", "later", handlers.stopping),
    Place("sync on_stop", "now", handlers.stopping_now),
    Place("on_stop at a restart", "later", handlers.restarting),
)

_OBSERVERS: tuple[Place, ...] = (
    Place("observer", "now", values.everything, values.observed(values.OnEvent)),
    Place("observer's wants", "now", values.everything, values.observed(values.Wants)),
    Place(
        "one of two observers",
        "now",
        values.everything,
        values.observed(lambda stage: MultiObserver(values.OnEvent(stage), stage.recorder)),
    ),
    Place("queued observer", "now", values.in_thread_everything, values.in_a_thread(values.OnEvent), is_reached=False),
    Place(
        "queued observer's wants",
        "now",
        values.in_thread_everything,
        values.in_a_thread(values.Wants),
        is_reached=False,
        is_varied=True,
    ),
    Place("log handler", "now", values.logged(values.emitting)),
    Place("log filter", "now", values.logged(values.filtering)),
    Place("log formatter", "now", values.logged(values.formatting)),
)

_VALUES: tuple[Place, ...] = (
    Place("payload", "now", values.with_payload(), is_reached=False),
    Place("checked payload", "now", values.with_payload(is_asked=True), values.checking_hub, is_reached=False),
    Place("subclass check of a payload class", "now", values.subclass_check),
    Place("class that is expected", "now", values.expecting),
    Place("headers", "now", values.with_headers),
    Place("id of an object", "now", values.identifying),
    Place("registry", "now", values.configuring),
)

PLACES: tuple[Place, ...] = (*_HANDLERS, *_HOOKS, *_OBSERVERS, *_VALUES)
