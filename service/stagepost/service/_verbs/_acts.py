"""Who has done what to runs: a table of the service in the store, beside what the store itself knows of a run."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from stagepost.checkpoint import Cell, Statement, StatementFailed

from .._keys._caller import Caller
from .._wire._inspected import ActList, ActRow
from .._wire._output import Output
from .._wire._workflows import RunStarted
from ._scopes import SCOPES

P = ParamSpec("P")

_MAKE: Final = (
    Statement(
        "CREATE TABLE IF NOT EXISTS app_stagepost_acts (at TEXT NOT NULL, act TEXT NOT NULL, who TEXT NOT NULL, "
        "run_id TEXT NOT NULL, note TEXT NOT NULL)"
    ),
    Statement("CREATE INDEX IF NOT EXISTS app_stagepost_acts_by_run ON app_stagepost_acts (run_id, at)"),
    Statement("CREATE INDEX IF NOT EXISTS app_stagepost_acts_by_time ON app_stagepost_acts (at)"),
)
_ADD: Final = "INSERT INTO app_stagepost_acts (at, act, who, run_id, note) VALUES (?, ?, ?, ?, ?)"
_FORGET: Final = "DELETE FROM app_stagepost_acts WHERE at < ?"
_READ: Final = "SELECT at, act, who, run_id, note FROM app_stagepost_acts WHERE run_id = ? ORDER BY at DESC LIMIT ?"
_READ_ACT: Final = "SELECT at, act, who, run_id, note FROM app_stagepost_acts WHERE act = ? ORDER BY at DESC LIMIT ?"
_KEPT: Final = timedelta(days=400)
_SHOWN: Final = 50


class Queried(Protocol):
    """A store as far as reading acts needs it."""

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT."""
        ...


class Written(Protocol):
    """A store as far as recording acts needs it."""

    async def execute(self, *statements: Statement) -> None:
        """Execute statements in one transaction."""
        ...


async def record_act(store: Written, act: str, by: str, run_id: str, note: str = "") -> None:
    """Keep who has done something; what is older than 400 days is forgotten."""
    now = datetime.now(UTC)
    added = Statement(_ADD, (now.isoformat(), act, by, run_id, note))
    await store.execute(*_MAKE, added, Statement(_FORGET, ((now - _KEPT).isoformat(),)))


async def read_acts(store: Queried, run_id: str) -> ActList:
    """What was done to a run, the last first."""
    return await _read(store, _READ, run_id)


async def read_acts_of(store: Queried, act: str) -> ActList:
    """What was done by one verb, the last first."""
    return await _read(store, _READ_ACT, act)


async def _read(store: Queried, text: str, value: str) -> ActList:
    try:
        rows: Sequence[Any] = await store.query(text, value, _SHOWN)
    except StatementFailed:  # nobody has done anything yet, so that there is no table
        rows = ()
    return ActList(
        acts=[
            ActRow(at=datetime.fromisoformat(at), act=act, by=who, run_id=run, note=note)
            for at, act, who, run, note in rows
        ]
    )


class Recorder(Protocol):
    """Verbs of a service, as far as recording needs them."""

    async def _record(self, act: str, by: str, run_id: str, note: str) -> None:
        """Keep who has done something."""
        ...


R = TypeVar("R", bound=Recorder)
D = TypeVar("D", bound=Output)


def recorded(
    method: Callable[Concatenate[R, str, P], Awaitable[D]],
) -> Callable[Concatenate[R, Caller, str, P], Coroutine[Any, Any, D]]:
    """A method of which is kept who has called it, once it has done what it does: what `acts` shows.

    Its first argument is a run, or a wait of one. It is for acts of people, and not for what programs do all the time.
    """
    scope, name = SCOPES[method.__name__], method.__name__.removesuffix("_wait")

    @wraps(method)
    async def checked(self: R, caller: Caller, of: str, /, *args: P.args, **kwargs: P.kwargs) -> D:
        caller.require(scope)
        found = await method(self, of, *args, **kwargs)
        run_id = of.partition("/")[0]
        other = found.run_id if isinstance(found, RunStarted) and found.run_id != run_id else ""
        await self._record(name, caller.name, run_id, other)
        return found

    return checked
