"""How runs are traced: by which provider, and what it is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stagepost.hub import Duration, InvalidArgument, seconds

from ._provider import TracingProvider
from ._pump import Pump, Pumping, TracingStatistics
from ._spans import Spans

_METHODS: Final = (
    "start_trace",
    "start_observation",
    "start_generation",
    "end_generation",
    "end_observation",
    "add_event",
    "set_error",
    "flush",
    "shutdown",
)


class Tracing:
    """How runs are traced, for ``tracing=`` of `Runner`, ``Pattern.run`` and ``Agent.run``.

    A provider alone does there, too: ``tracing=provider`` means ``tracing=Tracing(provider)``.

    Args:
        provider: Keeps the traces.
        content: Whether it is told what was said: prompts and answers, arguments and results of tools, texts of errors.
            Secrets are masked in any case. Without content it is told names, times, counts, and kinds of errors.
        debug: Whether it is also told, as an event ``state`` of each turn, the state before the turn. It needs
            ``content=True``.
        most: How many calls of the provider may wait; what comes then is dropped and counted.
        patience: How long one call of the provider may take.
        within: How long the provider may take at the end of a runner, or of a run in memory, to hear and send what is
            left.

    Raises:
        InvalidArgument: The provider is none, or the rest does not fit.
    """

    def __init__(
        self,
        provider: TracingProvider,
        *,
        content: bool = False,
        debug: bool = False,
        most: int = 10_000,
        patience: Duration = 5.0,
        within: Duration = 5.0,
    ) -> None:
        missing = [name for name in _METHODS if not callable(getattr(provider, name, None))]
        if missing or isinstance(provider, type):
            why = f"this has no {', '.join(missing)}" if missing else "this is a class"
            raise InvalidArgument("tracing", provider, f"give a provider of traces: {why}")
        if most < 1:
            raise InvalidArgument("most", most, "give at least 1")
        if debug and not content:
            raise InvalidArgument("debug", debug, "it tells the provider content: give content=True, too")
        self.provider = provider
        self.content = content
        self.debug = debug
        self._most = most
        self._patience = seconds(patience, "patience")
        self._within = seconds(within, "within")
        self._statistics = TracingStatistics()

    @classmethod
    def of(cls, given: "TracingProvider | Tracing") -> "Tracing":
        """It, of a provider alone.

        Raises:
            InvalidArgument: It is neither.
        """
        return given if isinstance(given, Tracing) else cls(given)

    def statistics(self) -> TracingStatistics:
        """What has become of what the provider was told so far, in all runs."""
        counted = self._statistics
        return TracingStatistics(counted.told, counted.failed, counted.timed_out, counted.dropped)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Spans | None]:
        """Trace the runs of a runner, or a run in memory, until this is left."""
        pump = Pump(self.provider, self._statistics, most=self._most, patience=self._patience)
        async with Pumping(pump, self._within):
            yield Spans(self.provider, pump, content=self.content, debug=self.debug)
