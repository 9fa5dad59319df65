"""Guardrails: a hook that holds the supervisor's answers against what the workers' tools have returned."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from stagepost.agents import ModelContext, ModelRequest, ModelResponse, Tasks, ToolMessage
from stagepost.hub import get_logger
from stagepost.workflows import Runner

from ._agent_log import session_of
from ._checking import Check, ToolEvidence, check_citations, check_prices, check_temperatures
from ._phrases import REFUSED

_PAGE: Final = 100
CHECKS: Final[tuple[Check, ...]] = (check_temperatures, check_prices, check_citations)


class Guardrails:
    """A model hook that checks what the supervisor answers; findings are logged, or the answer is refused.

    It reads what the workers' tools have returned in this turn from the store, also after a restart. `ChatSessions`
    binds it to its runner. Tokens are told before the check; a refused answer makes them void.

    Args:
        checks: What is checked; by default temperatures, prices and citations.
        refuses: Whether an answer with findings is replaced.
    """

    def __init__(self, checks: Sequence[Check] = CHECKS, *, refuses: bool = False) -> None:
        self._checks = tuple(checks)
        self._refuses = refuses
        self._runner: Runner | None = None

    def bind(self, runner: Runner) -> None:
        """Read from the runs of a runner."""
        self._runner = runner

    async def model_call(
        self, request: ModelRequest, context: ModelContext, call: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Ask the model, and check a final answer; see `ModelHook`."""
        response = await call(request)
        if response.calls or not response.text or context.is_summary or self._runner is None:
            return response
        evidence = await _evidence(self._runner, context.run_id)
        found = [finding for check in self._checks for finding in check(response.text, evidence)]
        if not found:
            return response
        log = get_logger("supervisor", mask=self._runner.mask)
        for finding in found:
            log.warning("answer_doubtful", session=session_of(context.run_id), finding=finding, refused=self._refuses)
        return replace(response, text=REFUSED) if self._refuses else response


async def _evidence(runner: Runner, turn_id: str) -> Sequence[ToolEvidence]:
    """What the tools of a turn's workers have returned."""
    tasks = Tasks(runner)
    found: list[ToolEvidence] = []
    after: str | None = None
    while True:
        page = await runner.runs.list(below=turn_id, after=after, limit=_PAGE)
        for info in page.items:
            task = await tasks.get(info.run_id)
            results = [message for message in task.messages if isinstance(message, ToolMessage)]
            found += [ToolEvidence(task.agent, each.tool, each.text) for each in results if not each.is_error]
        after = page.next
        if after is None:
            return found
