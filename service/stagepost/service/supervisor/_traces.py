"""Traces of a supervisor by the names that its sessions and workers have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from pydantic import JsonValue

from stagepost.agents import ObservationType, Starting, TraceContext, Tracing, TracingProvider

from ._config import WorkerConfig

_SESSION: Final = "conversation"  # the label that the turns of a session have, and what they start


def session_traces(
    provider: TracingProvider,
    workers: Iterable[WorkerConfig],
    *,
    model: str | None = None,
    name: str = "supervisor",
    content: bool = False,
) -> Tracing:
    """Traces in which sessions and workers have their own names, for ``Runner(tracing=…)``.

    All turns of a session are in one trace, whose id is derived from the session's; the text of that is in the metadata
    as ``trace``. Each turn is a span ``supervisor``. The work of a worker is a span ``weather-worker`` below the call,
    with ``trace`` = ``<session>-weather`` and ``parent_trace`` = the session in its metadata.

    Args:
        provider: Where the traces go.
        workers: The workers.
        model: Name of the supervisor's model, for the metadata.
        name: Name of the supervisor.
        content: Whether the provider is told what was said, as for `Tracing`.
    """
    models = {worker.name: worker.model for worker in workers}
    named = _SessionTraces(provider, models, model, name)
    return Tracing(cast("TracingProvider", named), content=content)


class _SessionTraces:
    """Passes everything on, and renames what stands for turns and workers."""

    def __init__(
        self, provider: TracingProvider, models: Mapping[str, str], model: str | None, supervisor: str
    ) -> None:
        self._provider = provider
        self._models = models
        self._model = model
        self._supervisor = supervisor

    def __getattr__(self, name: str) -> object:
        """Whatever is not renamed."""
        return getattr(self._provider, name)

    def start_trace(
        self,
        name: str,
        session_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        tags: Sequence[str] | None = None,
        *,
        context: TraceContext | None = None,
        parent_context: TraceContext | None = None,
        at: float | None = None,
    ) -> Starting:
        """See `TracingProvider.start_trace`."""
        known = dict(metadata or {})
        if session_id is not None and known.get("agent") == self._supervisor:
            name = self._supervisor
            known |= {"trace": session_id}
            if self._model is not None:
                known["model"] = self._model
        return self._provider.start_trace(
            name, session_id, user_id, known, tags, context=context, parent_context=parent_context, at=at
        )

    def start_observation(
        self,
        name: str,
        observation_type: ObservationType,
        parent_context: TraceContext,
        metadata: Mapping[str, JsonValue] | None = None,
        input_data: JsonValue = None,
        *,
        context: TraceContext | None = None,
        at: float | None = None,
    ) -> Starting:
        """See `TracingProvider.start_observation`."""
        known = dict(metadata or {})
        agent, labels = known.get("agent"), known.get("labels")
        session = labels.get(_SESSION) if isinstance(labels, dict) else None
        is_worker = observation_type is ObservationType.AGENT and isinstance(agent, str) and agent in self._models
        if is_worker and isinstance(session, str):
            name = f"{agent}-worker"
            known |= {
                "trace": f"{session}-{agent}",
                "parent_trace": session,
                "model": self._models[str(agent)],
            }
        return self._provider.start_observation(
            name, observation_type, parent_context, known, input_data, context=context, at=at
        )
