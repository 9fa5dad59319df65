"""Running patterns in memory, and reading what becomes of such runs while they are under way."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from stagepost.checkpoint import Codec
from stagepost.hub import Hub, Observer

from .._engine._in_memory import run_in_memory
from .._engine._intermediates import Intermediate
from .._engine._memory_room import MemoryRoom
from .._lifespans import Lifespan
from .._plans._plan import Plan
from .._streams._memory_stream import MemoryStream
from .._tracing import TracerFactory, checked_tracing
from .._values._secrets import Given


class InMemory(ABC):
    """The part of a `Pattern` that runs it in memory."""

    name: str
    version: int
    lifespan: Lifespan | None

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """It, compiled."""

    @property
    @abstractmethod
    def hidden(self) -> Collection[tuple[str, str]]:
        """What its runs may not keep."""

    @property
    @abstractmethod
    def signals(self) -> Mapping[str, Codec[Any]]:
        """What its runs may be sent."""

    @property
    @abstractmethod
    def traced_agent(self) -> str | None:
        """Name of the agent whose work it does; None if it is none."""

    async def run(
        self,
        state: Mapping[str, object] | BaseModel | None = None,
        *,
        hub: Hub | None = None,
        deps: Any = None,
        observer: Observer | None = None,
        trace: str | None = None,
        intermediates: list[Intermediate] | None = None,
        secrets: Given | None = None,
        resources: object = None,
        check_states: bool = False,
        blobs: dict[str, bytes] | None = None,
        room: MemoryRoom | None = None,
        tracing: TracerFactory | None = None,
    ) -> Any:
        """Run in memory: nothing is stored, and a crash loses the run. A `Runner` makes it durable.

        Args:
            state: What to start with.
            hub: Where agents are asked.
            deps: Given to steps as ``context.deps``.
            observer: Gets the run's events.
            trace: The trace that it belongs to; by default its own. A step that runs another workflow gives it
                ``context.trace``.
            intermediates: A list that states go into: first what the run starts with, then one `Intermediate` after
                each step, item of a fold and fan-out.
            secrets: Given to steps as ``context.secrets``; see `Runner`.
            resources: Given to steps as ``context.resources``; without it the lifespan is entered, and gives them.
            check_states: Fail steps that change their state in place without returning it, which is lost; for tests.
            blobs: Bytes beside the state, by digest, that the run may refer to without bringing them; what it and its
                steps bring goes in there.
            room: Those who listen to the run.
            tracing: What traces it and the runs below it: a provider of traces, or a `Tracing` of one. By default what
                `set_tracing_provider` was given, if it was given any.

        Returns:
            The final state: a `State`, or the model given as ``state=``.

        Raises:
            HubRequired: A step asks an agent and there is no hub.
            LifespanFailed: What its steps need could not be opened.
            PatternError: A step failed.
        """
        return await run_in_memory(
            self,
            state,
            hub=hub,
            deps=deps,
            observer=observer,
            trace=trace,
            intermediates=intermediates,
            secrets=secrets,
            resources=resources,
            check_states=check_states,
            blobs=blobs,
            room=room,
            tracing=checked_tracing(tracing),
        )

    def stream(
        self,
        state: Mapping[str, object] | BaseModel | None = None,
        *,
        hub: Hub | None = None,
        deps: Any = None,
        observer: Observer | None = None,
        trace: str | None = None,
        secrets: Given | None = None,
        resources: object = None,
        blobs: dict[str, bytes] | None = None,
        tracing: TracerFactory | None = None,
        buffer: int = 1000,
    ) -> MemoryStream:
        """Run in memory, and read what becomes of the run, part by part.

        ::

            async with digest.stream({"urls": urls}) as stream:
                async for part in stream:
                    print(part.to_dict())
            print(stream.result)

        The run works as long as the ``async with`` lasts: leaving that early cancels the run, as nobody else can hear
        it. Read the stream to its end, `RunOver`, to have the result.

        Args:
            state: What to start with.
            hub: As for `run`, like the following.
            deps: See `run`.
            observer: See `run`.
            trace: See `run`.
            secrets: See `run`.
            resources: See `run`.
            blobs: See `run`.
            tracing: See `run`.
            buffer: How many parts that steps only tell are kept for a reader who is slow.
        """
        room = MemoryRoom()
        work = partial(
            self.run,
            state,
            hub=hub,
            deps=deps,
            observer=observer,
            trace=trace,
            secrets=secrets,
            resources=resources,
            blobs=blobs,
            room=room,
            tracing=tracing,
        )
        return MemoryStream(room.listen(buffer=buffer, follows=True), work)
