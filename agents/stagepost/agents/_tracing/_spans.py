"""What traces the runs of one runner, or a run in memory with those below it."""

from collections import OrderedDict
from typing import Final

from stagepost.workflows import TracedRun

from ._agent_spans import AgentSpans
from ._observation import TraceContext
from ._provider import TracingProvider
from ._pump import Pump
from ._run_spans import RunSpans
from ._telling import Telling

_REMEMBERED: Final = 10_000  # runs that steps have started, with the span that they belong below


class Parents:
    """The spans that runs belong below which steps of this process have started."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, TraceContext] = OrderedDict()

    def note(self, run_id: str, parent: TraceContext) -> None:
        """Remember what a run belongs below, unless that is known: a step that runs again does not move it."""
        if run_id not in self._known:
            self._known[run_id] = parent
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def of(self, run_id: str) -> TraceContext | None:
        """What a run belongs below, if a step of this process has started it."""
        return self._known.get(run_id)

    def forget(self, run_id: str) -> None:
        """A run has ended for good."""
        self._known.pop(run_id, None)


class Spans:
    """Traces runs.

    Args:
        provider: Keeps the traces.
        pump: Hands the calls on.
        content: Whether it is told what was said.
        debug: Whether it is told the states before turns.
    """

    def __init__(self, provider: TracingProvider, pump: Pump, *, content: bool = False, debug: bool = False) -> None:
        self._provider = provider
        self._pump = pump
        self._content = content
        self._debug = debug
        self._parents = Parents()

    def ambient(self) -> str | None:
        """The trace that a run belongs to which is started here and now, as the provider has it; None for its own."""
        ambient = getattr(self._provider, "ambient", None)
        try:
            found = None if ambient is None else ambient()
        except BaseException as error:  # noqa: BLE001  # what is no failure of the provider's is raised again
            self._pump.failed_at_once(error)
            return None
        return found.traceparent if isinstance(found, TraceContext) else None

    def run(self, traced: TracedRun) -> RunSpans:
        """What traces a run in this process."""
        telling = Telling(self._provider, self._pump, traced, content=self._content, debug=self._debug)
        kind = RunSpans if traced.agent is None else AgentSpans
        return kind(traced, telling, self._parents)
