"""The provider of traces for whoever is given none."""

from stagepost.workflows import default_tracing, set_default_tracing

from ._noop import NoOpTracingProvider
from ._provider import TracingProvider
from ._tracing import Tracing


def set_tracing_provider(provider: TracingProvider | Tracing) -> None:
    """Trace, from now on, all runners that are opened and all runs in memory that are begun without ``tracing=``.

    One for the whole process, as convenient as a global can be: two runners that are to be traced in two ways are each
    given theirs as an argument, which always wins.

    Args:
        provider: The provider; or a `Tracing` of it, which says what it is told.
    """
    set_default_tracing(Tracing.of(provider))


def get_tracing_provider() -> TracingProvider:
    """The provider that `set_tracing_provider` was given; a `NoOpTracingProvider` if none was."""
    found = default_tracing()
    return found.provider if isinstance(found, Tracing) else NoOpTracingProvider()


def reset_tracing_provider() -> None:
    """Trace nothing that is given no provider."""
    set_default_tracing(None)
