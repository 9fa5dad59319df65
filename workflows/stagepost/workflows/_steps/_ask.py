"""A step that asks an agent on the hub."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stagepost.checkpoint import PLAIN, WaitKind
from stagepost.hub import HandlerFailed

from .._execution._signals import Parks
from .._values._expected import expected
from .._values._types import item_types
from .._values._unawaited import refuse_unawaited
from ..errors import DefinitionError, RunParked
from ._context import StepContext
from ._retry import Retry
from ._step import Step, caller, step


def Ask(  # noqa: N802  # read as the noun that it makes: a step among patterns
    agent: str,
    build: Callable[..., Any],
    *,
    expect: Any = None,
    name: str | None = None,
    into: str | None = None,
    timeout: float | None = None,
    retry: Retry | None = None,
) -> Step:
    """A step that sends a request to an agent and stores its answer.

    The request carries an ``idempotency-key`` header of its own, so that a recovered step joins what the agent began
    before the crash, where the agent is served by a `Runner`. A plain handler may run again. If the agent's own run
    parks, this one parks with it and goes on when it has ended.

    Args:
        agent: The agent's id on the hub.
        build: Makes the request's payload: ``(state)`` or ``(state, context)``; in a worker, of the item.
        expect: Type of the answer, checked when it comes; stored and read back as this type.
        name: The step's name; by default the agent's id.
        into: Key of the state for the answer; by default the step's name.
        timeout: Seconds to wait for the answer; None for no limit. The hub's default does not apply to steps, which
            may rightly take as long as their agent. With `retry` each attempt has them for itself.
        retry: When to ask again after an error. The request keeps its key, so where the agent is served by a `Runner`,
            another attempt joins the same run.
    """
    name = agent if name is None else name
    payload = caller(name, build, inline=True)
    takes, _ = item_types(build)
    hoped = expect if isinstance(expect, type) else object  # the hub compares classes only
    codec = PLAIN if hoped is expect else expected(expect)

    async def ask(value: Any, context: StepContext) -> Any:
        if context.hub is None:
            raise DefinitionError(f"step {name!r}", f"it asks agent {agent!r}, and there is no hub")
        asked = await payload(value, context)
        refuse_unawaited(asked, f"what asks {agent!r} for step {name!r}")
        try:
            answer: Any = await context.hub.request(
                agent,
                asked,
                expect=hoped,
                timeout=timeout,
                trace=context.trace,
                headers={"idempotency-key": context.idempotency_key},
            )
        except HandlerFailed as error:
            if isinstance(error.cause, RunParked) and context.is_durable:
                raise Parks(WaitKind.CHILD, error.cause.run_id) from None
            raise
        return codec.convert(answer, f"the answer of {agent!r}")

    asking = step(name, ask, retry=retry)
    return replace(asking, takes=takes, gives=expect, into=name if into is None else into, asks=(agent,))
