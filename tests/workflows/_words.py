"""Steps, observers and runners that the tests of workflows share."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio import fail_after
from anyio.lowlevel import checkpoint

from stagepost.checkpoint import CheckpointStore, Lease, MemoryStore, Owner, SqliteStore
from stagepost.hub import Event
from stagepost.workflows import Pattern, Runner, Servable, State, Step, step

EventT = TypeVar("EventT", bound=Event)
Store: TypeAlias = MemoryStore | SqliteStore

PATIENCE = 30  # seconds that no test needs, also beside others and under coverage


@asynccontextmanager
async def running(store: CheckpointStore, *workflows: Servable, **options: Any) -> AsyncIterator[Runner]:
    """A runner on a store that is entered for it, with options of its own, or more patience."""
    with fail_after(options.pop("patience", PATIENCE)):
        async with store, Runner(store, workflows=workflows, **options) as runner:
            yield runner


@dataclass
class Recorder:
    """An observer that keeps all events."""

    events: list[Event] = field(default_factory=list)

    def on_event(self, event: Event, /) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]

    def of(self, kind: type[EventT]) -> list[EventT]:
        return [event for event in self.events if isinstance(event, kind)]


async def take_away(store: CheckpointStore, run_id: str) -> Lease:
    """Claim a run over the head of whoever executes it, as another process does that has become its owner."""
    info = await store.info(run_id)
    assert info.owner is not None
    return await store.claim(Owner(info.owner, "another process"), run_id, force=True)


@asynccontextmanager
async def dying(store: Store, *workflows: Servable, **options: Any) -> AsyncIterator[Runner]:
    """A runner whose process dies instead of leaving it: it does not say to the store that its runs are free."""
    leave = store.leave
    async with running(store, *workflows, **{"grace": 0, **options}) as runner:
        yield runner
        store.leave = _nothing_said  # type: ignore[method-assign, assignment]  # what is tested
    store.leave = leave  # type: ignore[method-assign]  # as it was


async def _nothing_said(_: Owner) -> None:
    """No word to the store."""


class Gate:
    """A step (or worker) that says when it is entered and waits until it is let go."""

    def __init__(self, name: str = "gate", updates: object = None) -> None:
        self.entered = anyio.Event()
        self.open = anyio.Event()
        self.cancelled = False
        self.calls = 0
        self.updates = updates
        self.step = step(name, self.pass_through)

    async def pass_through(self, state: object) -> object:  # noqa: ARG002  # a step's signature
        self.calls += 1
        self.entered.set()
        try:
            await self.open.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        return self.updates


class Counted:
    """Steps that note each time they run."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def adds(self, name: str, key: str = "path") -> Step:
        """A step that appends its name to a list in the state."""

        def append(state: State) -> Mapping[str, object]:
            self.calls.append(name)
            return {key: [*state.get(key, []), name]}

        return step(name, append, inline=True)

    def fails(self, name: str, until: Callable[[], bool] = lambda: False) -> Step:
        """A step that fails until something is so."""

        def fail(state: State) -> Mapping[str, object]:
            self.calls.append(name)
            if not until():
                raise ValueError(f"{name} is broken")
            return {name: "mended"}

        return step(name, fail, inline=True)


async def leave_at(gate: Gate, store: Store, workflow: Pattern, state: Mapping[str, object] | None = None) -> None:
    """Start run ``r1`` and leave the runner while the gate's step is under way."""
    async with running(store, workflow, grace=0) as runner:
        await runner.start(workflow, state, run_id="r1")
        await gate.entered.wait()
    gate.open.set()


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until something is so; put it in a `fail_after`."""
    while not condition():
        await checkpoint()


def nothing(state: object) -> None:
    """A step that changes nothing."""


NOTHING = step("nothing", nothing, inline=True)
