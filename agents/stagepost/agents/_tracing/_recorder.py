"""A provider that keeps traces in memory, within bounds."""

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from time import time
from typing import Any, Final, Literal, TypeAlias

from pydantic import JsonValue

from stagepost.hub import InvalidArgument

from ._base import BaseTracingProvider
from ._cutting import cut, cut_mapping
from ._log import TraceLog
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes
from ._span import Span, SpanEvent, replaced
from ._spans import Spans
from ._telling import ObservedError
from ._tracing import Tracing

TraceMode: TypeAlias = Literal["on_error"] | bool

_ITERATION: Final = "iteration-"
_TURNS: Final = 100
_EVENTS: Final = 100  # of one span
_GOES_ON: Final = ("resumed", "recovered")


class _Kept:
    """A trace that is being recorded.

    Args:
        turns: How many turns of each run are kept.
    """

    def __init__(self, turns: int) -> None:
        self.spans: OrderedDict[str, Span] = OrderedDict()
        self.left_out = 0
        self.has_failed = False
        self._turns = turns
        self._rests: dict[str, float] = {}
        self._iterations: dict[str, deque[str]] = {}

    def begin(self, span: Span) -> None:
        """A span begins, or goes on."""
        known = self.spans.get(span.span_id)
        if known is None:
            self.spans[span.span_id] = span
            if span.name.startswith(_ITERATION) and span.parent_id is not None:
                self._bound(self._iterations.setdefault(span.parent_id, deque()), span.span_id)
        elif known.status == "suspended" and known.ended_at is not None:
            self._rests[span.span_id] = known.ended_at
            self.change(span.span_id, ended_at=None, status=None)
        else:
            self.change(span.span_id, ended_at=None, status=None, error=None)

    def change(self, span_id: str, **changes: Any) -> None:
        """A span is other than it was, if it is known."""
        span = self.spans.get(span_id)
        if span is not None:
            self.spans[span_id] = replaced(span, **changes)

    def add(self, span_id: str, event: SpanEvent) -> None:
        """Something happens within a span; if it goes on by that, it has rested until then."""
        span = self.spans.get(span_id)
        if span is None or len(span.events) >= _EVENTS:
            return
        rested = self._rests.pop(span_id, None) if event.name in _GOES_ON else None
        waits = span.waits if rested is None else (*span.waits, (rested, event.at))
        self.change(span_id, events=(*span.events, event), waits=waits)

    def _bound(self, turns: deque[str], added: str) -> None:
        turns.append(added)
        if len(turns) > self._turns:
            self._forget(turns.popleft())
            self.left_out += 1

    def _forget(self, span_id: str) -> None:
        """Forget a span and all below it."""
        gone = {span_id}
        for span in list(self.spans.values()):  # each after what it is below
            if span.span_id in gone or span.parent_id in gone:
                gone.add(span.span_id)
                del self.spans[span.span_id]


class Recorder(BaseTracingProvider):
    """Keeps traces in memory: for scripts, tests, and a look at what has gone wrong.

    ::

        recorder = Recorder()
        await agent.run("Weather in Bergen?", tracing=recorder)
        print(recorder.last.to_text())

    Texts are cut at 64 KB, lists at 100 elements, and of a trace the last turns are kept.

    Args:
        trace: What is kept: True for all traces, ``"on_error"`` for those that fail, False for none, so that
            nothing is traced at all.
        content: Whether what was said is kept, see `Tracing`.
        debug: Whether the state before each turn is kept, too, with all that was said.
        traces: How many traces are kept; the oldest make room.
        turns: How many turns of each run are kept; the oldest make room.
    """

    def __init__(
        self,
        trace: TraceMode = True,  # noqa: FBT002  # the modes are named so by the specification
        *,
        content: bool = False,
        debug: bool = False,
        traces: int = 100,
        turns: int = _TURNS,
    ) -> None:
        if not (isinstance(trace, bool) or trace == "on_error"):
            raise InvalidArgument("trace", trace, 'give True, "on_error" or False')
        for name, given in (("traces", traces), ("turns", turns)):
            if given < 1:
                raise InvalidArgument(name, given, "give at least 1")
        self._mode = trace
        self._content = content or debug
        self._debug = debug
        self._most = traces
        self._turns = turns
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def opened(self) -> AbstractAsyncContextManager[Spans | None]:
        """Trace the runs of a runner, or a run in memory."""
        return (
            nullcontext() if self._mode is False else Tracing(self, content=self._content, debug=self._debug).opened()
        )

    @property
    def traces(self) -> Sequence[TraceLog]:
        """All that are kept, the oldest first; of mode ``on_error`` those that have failed."""
        kept = [each for each in self._kept.values() if self._mode is True or each.has_failed]
        return tuple(TraceLog(tuple(each.spans.values()), each.left_out) for each in kept)

    @property
    def last(self) -> TraceLog:
        """The trace that began last.

        Raises:
            LookupError: None is kept.
        """
        found = self.traces
        if not found:
            raise LookupError("no trace is kept")
        return found[-1]

    def clear(self) -> None:
        """Forget all traces."""
        self._kept.clear()

    async def begin_trace(
        self,
        context: TraceContext,
        name: str,
        *,
        parent_context: TraceContext | None,
        session_id: str | None,
        user_id: str | None,
        metadata: Attributes,
        tags: Sequence[str],
        at: float | None,
    ) -> None:
        """Keep a new trace, or go on with one."""
        kept = self._kept.get(context.trace_id)
        if kept is None:
            kept = self._kept[context.trace_id] = _Kept(self._turns)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        told: dict[str, JsonValue] = {"session_id": session_id, "user_id": user_id, "tags": list(tags) or None}
        known = {key: value for key, value in told.items() if value is not None}
        parent = None if parent_context is None else parent_context.span_id
        kept.begin(_span(context, name, ObservationType.SPAN, parent_id=parent, metadata={**metadata, **known}, at=at))

    async def begin_observation(
        self,
        context: TraceContext,
        name: str,
        observation_type: ObservationType,
        parent_context: TraceContext,
        *,
        metadata: Attributes,
        input_data: JsonValue,
        at: float | None,
    ) -> None:
        """Keep an observation, if its trace is kept."""
        kept = self._kept.get(context.trace_id)
        if kept is not None:
            span = _span(context, name, observation_type, parent_id=parent_context.span_id, metadata=metadata, at=at)
            kept.begin(replaced(span, input=cut(input_data)))

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """Note how an observation has ended."""
        self._end(context, status, at, output_data, None)

    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        """Note what a model has answered."""
        self._end(context, status, at, dict(output) or None, usage)

    async def add_event(
        self, context: TraceContext, name: str, attributes: Attributes | None = None, *, at: float | None = None
    ) -> None:
        """Keep an event of an observation."""
        kept = self._kept.get(context.trace_id)
        if kept is not None:
            event = SpanEvent(name=name, at=time() if at is None else at, attributes=cut_mapping(attributes or {}))
            kept.add(context.span_id, event)

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        """Keep why an observation has failed."""
        kept = self._kept.get(context.trace_id)
        if kept is not None:
            kind = error.kind if isinstance(error, ObservedError) else type(error).__name__
            text = str(error)
            told = cut(kind if text in ("", kind) else f"{kind}: {text}")
            kept.change(context.span_id, error=told)

    def _end(
        self,
        context: TraceContext,
        status: ObservationStatus,
        at: float | None,
        output: JsonValue,
        usage: Mapping[str, int | float] | None,
    ) -> None:
        kept = self._kept.get(context.trace_id)
        span = None if kept is None else kept.spans.get(context.span_id)
        if kept is None or span is None or span.status is not None:
            return
        ended = time() if at is None else at
        used = span.usage if usage is None else dict(usage)
        kept.change(context.span_id, status=status, ended_at=ended, output=cut(output), usage=used)
        if span.parent_id is None or span.parent_id not in kept.spans:
            self._judge(context.trace_id, kept, status)

    def _judge(self, trace_id: str, kept: _Kept, status: ObservationStatus) -> None:
        """A trace has ended: is it kept?"""
        kept.has_failed = status == "error"
        if self._mode == "on_error" and status in ("ok", "cancelled"):
            del self._kept[trace_id]


def _span(
    context: TraceContext,
    name: str,
    kind: ObservationType,
    *,
    parent_id: str | None,
    metadata: Attributes,
    at: float | None,
) -> Span:
    """A span that begins."""
    model = metadata.get("model")
    return Span(
        trace_id=context.trace_id,
        span_id=context.span_id,
        parent_id=parent_id,
        name=name,
        type=kind,
        started_at=time() if at is None else at,
        model=model if isinstance(model, str) else None,
        metadata=cut_mapping({key: value for key, value in metadata.items() if key != "model"}),
    )
