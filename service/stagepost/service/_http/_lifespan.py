"""The life of a runner, as long as that of its application."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

from stagepost.hub import get_logger
from stagepost.workflows import RecoveryReport, Runner

Source: TypeAlias = Runner | Callable[[], AbstractAsyncContextManager[Runner]]


@asynccontextmanager
async def opened(source: Source) -> AsyncIterator[Runner]:
    """Open a runner for as long as a block lasts, and go on with what its store has.

    One that is open already is left as it is: whoever has opened it recovers and ends it.
    """
    if not isinstance(source, Runner):
        async with source() as runner:
            await recovered(runner)
            yield runner
    elif source.is_open:
        yield source
    else:
        async with source.store, source:
            await recovered(source)
            yield source


async def recovered(runner: Runner) -> None:
    """Go on with the open runs, and log those that are left open."""
    report = await runner.recover()
    log = get_logger("service", mask=runner.mask)
    for run_id, error in (*report.left_open.items(), *report.dead.items()):
        log.warning("run left open", run_id=run_id, reason=str(error))
    log.info("recovered", **counts(report))


def counts(report: RecoveryReport) -> dict[str, int]:
    """How many runs there are of each kind of a report."""
    return {
        "resumed": len(report.resumed),
        "left_open": len(report.left_open),
        "cancelled": len(report.cancelled),
        "dead": len(report.dead),
    }
