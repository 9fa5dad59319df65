"""Whether the service can do its work: what it depends on is tried, each with a deadline of its own."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from stagepost._dataclasses import dataclass

from .._keys._key import Scope
from .._wire._health import CheckShown, HealthShown
from ..errors import NotServing
from ._runs._operation import Operation
from ._serving import Serving, asked, serving

HEALTH: Final = Operation(
    "health",
    "GET",
    "/health",
    "Whether the service can do its work.",
    HealthShown,
    None,
    scope=Scope.READ,
    is_open=True,
)
_LONGEST: Final = 300
_KEPT: Final = 2.0  # seconds for which an answer is used again


class Condition(StrEnum):
    """How the service is, or what it depends on."""

    OK = "ok"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Something that the service depends on.

    Attributes:
        name: What it is called in the answer of ``GET /health``.
        look: Tries it: returns a few words about it, or raises. Whoever has a key reads both, so they hold no secrets.
        timeout: Seconds after which it counts as failed.
        is_needed: Whether the service is unavailable without it (503); else it is degraded (200).
    """

    name: str
    look: Callable[[], Awaitable[str]]
    timeout: float = 2.0
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found.

    Attributes:
        name: That of the check.
        condition: How it is.
        detail: A few words about it.
        seconds: How long it took.
    """

    name: str
    condition: Condition
    detail: str
    seconds: float


class Health:
    """Tries what the service depends on, and remembers the answer for a moment.

    Args:
        checks: What it depends on, beside its store.

    Raises:
        ValueError: Two have one name.
    """

    def __init__(self, checks: Iterable[HealthCheck] = ()) -> None:
        self._checks = tuple(checks)
        names = ["store", *(check.name for check in self._checks)]
        if len(set(names)) < len(names):
            raise ValueError(f"two health checks have one name, or one is named store: {', '.join(names)}")
        self._found: Sequence[Finding] = ()
        self._until = 0.0
        self._lock = anyio.Lock()

    async def answer(self, request: Request) -> Response:
        """``GET /health``: the condition, and for callers with the scope read what was found, too."""
        caller = asked(request).caller
        try:
            found = await self.findings(serving(request))
        except NotServing as error:
            found = [Finding("runner", Condition.UNAVAILABLE, str(error), 0.0)]
        condition = condition_of(found)
        may_read = caller is not None and caller.may(Scope.READ)
        checks = {each.name: _shown(each) for each in found} if may_read else None
        told = HealthShown(status=condition.value, checks=checks).model_dump_json(exclude_none=True)
        is_up = condition is not Condition.UNAVAILABLE
        return Response(told, HTTPStatus.OK if is_up else HTTPStatus.SERVICE_UNAVAILABLE, media_type="application/json")

    async def findings(self, served: Serving) -> Sequence[Finding]:
        """What all checks find, at once; those who ask at the same time share one look."""
        async with self._lock:
            if anyio.current_time() >= self._until:
                self._found = await self._looked(served)
                self._until = anyio.current_time() + _KEPT
            return self._found

    async def _looked(self, served: Serving) -> Sequence[Finding]:
        checks = (HealthCheck("store", _store(served)), *self._checks)
        found: dict[str, Finding] = {}
        async with anyio.create_task_group() as group:
            for check in checks:
                group.start_soon(_tried, check, served.runner.mask, found)
        return [found[check.name] for check in checks]


def condition_of(found: Iterable[Finding]) -> Condition:
    """The worst of what was found."""
    conditions = {each.condition for each in found}
    return next(each for each in (Condition.UNAVAILABLE, Condition.DEGRADED, Condition.OK) if each in conditions)


def _store(served: Serving) -> Callable[[], Awaitable[str]]:
    async def look() -> str:
        await served.runner.store.probe()
        return "takes writes"

    return look


async def _tried(check: HealthCheck, mask: Callable[[str], str], found: dict[str, Finding]) -> None:
    began = anyio.current_time()
    condition, detail = Condition.OK, ""
    try:
        with anyio.fail_after(check.timeout):
            detail = await check.look()
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what was to be found out
        condition = Condition.UNAVAILABLE if check.is_needed else Condition.DEGRADED
        is_late = anyio.current_time() - began >= check.timeout
        detail = f"did not answer within {check.timeout:g} s" if is_late else f"{type(error).__name__}: {error}"
    found[check.name] = Finding(check.name, condition, mask(detail)[:_LONGEST], anyio.current_time() - began)


def _shown(finding: Finding) -> CheckShown:
    return CheckShown(status=finding.condition.value, detail=finding.detail, seconds=round(finding.seconds, 3))
