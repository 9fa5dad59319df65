"""Ids of spans that are given, for an SDK of OpenTelemetry that asks a generator for them."""

from contextvars import ContextVar

from opentelemetry.sdk.trace.id_generator import IdGenerator


class GivenIds(IdGenerator):
    """Gives the next span the ids that were given, and any other what another generator makes.

    Args:
        others: That generator.
    """

    def __init__(self, others: IdGenerator) -> None:
        self._others = others
        self._next: ContextVar[tuple[int, int] | None] = ContextVar("stagepost_span_ids", default=None)

    def give(self, trace_id: int, span_id: int) -> None:
        """Give these ids to the next span of this task."""
        self._next.set((trace_id, span_id))

    def generate_trace_id(self) -> int:
        """The trace's id: the first that is asked for, and only if the span has no parent."""
        given = self._next.get()
        return self._others.generate_trace_id() if given is None else given[0]

    def generate_span_id(self) -> int:
        """The span's own id: the last that is asked for."""
        given = self._next.get()
        if given is None:
            return self._others.generate_span_id()
        self._next.set(None)
        return given[1]

    def is_trace_id_random(self) -> bool:
        """Whether the low 56 bits of trace ids are as good as random: those of a hash are."""
        return True
