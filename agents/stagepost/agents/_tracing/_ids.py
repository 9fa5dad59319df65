"""The ids of traces and spans, derived from runs and places, so that every process derives the same ones. Pure."""

from hashlib import sha256

from ._observation import TraceContext


def trace_id_of(trace: str) -> str:
    """The id of the trace that a run belongs to.

    Args:
        trace: What the run says: a W3C ``traceparent``, whose id it is, or any other text.
    """
    given = TraceContext.from_traceparent(trace)
    return sha256(f"trace\0{trace}".encode(errors="replace")).hexdigest()[:32] if given is None else given.trace_id


def span_id_of(run_id: str, *what: object) -> str:
    """The id of a span of a run.

    Args:
        run_id: The run.
        what: What it is of: a kind, and then a place, turn, call, epoch, as far as the kind has them.
    """
    return sha256("\0".join(("span", run_id, *map(str, what))).encode(errors="replace")).hexdigest()[:16]


def root_id(run_id: str) -> str:
    """The id of what stands for a whole run."""
    return span_id_of(run_id, "run")


def iteration_id(run_id: str, turn: int) -> str:
    """The id of a turn of an agent's run."""
    return span_id_of(run_id, "iteration", turn)


def parent_run(run_id: str) -> str | None:
    """The run above one that a step has started; None if no step has."""
    return run_id.rpartition(".")[0] or None
