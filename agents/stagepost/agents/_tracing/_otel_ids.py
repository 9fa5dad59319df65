"""Ids of spans that are given, for an SDK of OpenTelemetry that asks a generator for them."""

from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def giving(self, trace_id: int, span_id: int) -> Iterator[None]:
        """Give these ids to the span that is started in this block."""
        token = self._next.set((trace_id, span_id))
        try:
            yield
        finally:
            self._next.reset(token)

    def generate_trace_id(self) -> int:
        """The trace's id, if the span has no parent."""
        given = self._next.get()
        return self._others.generate_trace_id() if given is None else given[0]

    def generate_span_id(self) -> int:
        """The span's own id."""
        given = self._next.get()
        return self._others.generate_span_id() if given is None else given[1]

    def is_trace_id_random(self) -> bool:
        """Whether the low 56 bits of trace ids are as good as random: those of a hash are."""
        return True
