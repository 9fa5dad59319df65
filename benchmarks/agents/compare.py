"""Who is measured, what is measured, and how the sides take turns."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

from benchmarks.agents.measure import Figures
from benchmarks.workflows import compare as workflows
from benchmarks.workflows.compare import ROOT, Environment

_VERSION: Final = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Row:
    """Somebody who does something.

    Attributes:
        name: What the table calls it.
        side: Its module in `sides`.
        measure: What it does, in the measures of that module.
        needs: What has to be installed; its version stands behind the name.
        is_peer: Whether it runs where the peers are.
        wanted: What we want to reach.
    """

    name: str
    side: str
    measure: str
    needs: str | None = None
    is_peer: bool = False
    wanted: str = ""


Times: TypeAlias = Mapping[Row, Sequence[Figures]]


@dataclass(frozen=True, slots=True)
class Column:
    """What a table says of a row.

    Attributes:
        name: What the table calls it.
        figure: Which of a measure's figures.
        unit: Makes text of it.
        over: The row whose figure it is divided by.
    """

    name: str
    figure: str
    unit: Callable[[float], str]
    over: Row | None = None

    def cell(self, times: Times, row: Row) -> str:
        """The median of the rounds; of their ratios, if it is divided."""
        found = [figures[self.figure] for figures in times[row]]
        if self.over is None:
            return self.unit(median(found))
        if self.over not in times:
            return ""
        below = [figures[self.figure] for figures in times[self.over]]
        return self.unit(median(one / two for one, two in zip(found, below, strict=True)))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the same kind, which take turns.

    Attributes:
        title: What it is about.
        rows: Its rows.
        columns: Its columns; what is wanted stands behind them.
    """

    title: str
    rows: Sequence[Row]
    columns: Sequence[Column]


def _digits(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:,.0f}"  # noqa: PLR2004 - digits worth reading


def _micros(seconds: float) -> str:
    return f"{_digits(seconds * 1e6)} µs"


def _millis(seconds: float) -> str:
    return f"{_digits(seconds * 1e3)} ms"


def _millis_if_any(seconds: float) -> str:
    return _millis(seconds) if seconds else ""


def _megabytes(size: float) -> str:
    return f"{_digits(size / 1e6)} MB" if size else ""


def _times(ratio: float) -> str:
    return f"{_digits(ratio)} ×"


def _any(number: float) -> str:
    return "yes" if number else "no"


def _peer(name: str, side: str, needs: str) -> Row:
    return Row(name, side, "loop", needs, is_peer=True)


_BARE: Final = Row("bare", "bare", "loop")
_OURS: Final = Row("**stagepost**, in memory", "ours", "loop", wanted="≤ agent-framework ÷ 2.1")
PEERS: Final = (
    _peer("agent-framework", "agent_framework", "agent-framework-core"),
    _peer("pydantic-ai", "pydantic_ai", "pydantic-ai-slim"),
    _peer("LangChain", "langchain", "langchain"),
    _peer("openai-agents", "openai_agents", "openai-agents"),
)
LOOP: Final = Table(
    "a turn",
    (
        _BARE,
        _OURS,
        Row("**stagepost**, `MemoryStore`", "ours", "memory store"),
        Row('**stagepost**, `SqliteStore`, `durability="process"`', "ours", "process"),
        Row('**stagepost**, `SqliteStore`, `durability="power"`', "ours", "power"),
        *PEERS,
    ),
    (
        Column("processor", "cpu", _micros),
        Column("÷ bare", "cpu", _times, _BARE),
        Column("÷ stagepost in memory", "cpu", _times, _OURS),
        Column("clock", "wall", _micros),
    ),
)

_HTTPX: Final = Row("bare httpx", "bare", "call", "httpx")
CALL: Final = Table(
    "an answer over HTTP",
    (
        _HTTPX,
        Row("litellm", "litellm", "call", "litellm"),
        Row("**stagepost** with litellm", "ours", "call", "litellm"),
    ),
    (
        Column("processor", "cpu", _millis),
        Column("÷ httpx", "cpu", _times, _HTTPX),
        Column("clock", "wall", _millis),
    ),
)


def _crowd(title: str, measure: str) -> Table:
    rows = (
        Row("bare", "bare", measure),
        Row("**stagepost**", "ours", measure, wanted="p95 ≤ 50 ms"),
        Row("over HTTP, httpx", "bare", f"{measure} over HTTP", "httpx"),
        Row("over HTTP, **stagepost** with litellm", "ours", f"{measure} over HTTP", "litellm"),
    )
    late = [Column(name, name, _millis) for name in ("p50", "p95", "max")]
    return Table(title, rows, (*late, Column("processor, per turn", "cpu", _millis)))


TALKS: Final = _crowd("50 conversations at once: later by", "talks")
BURST: Final = _crowd("100 requests within a second: later by", "burst")

LONG: Final = Table(
    "a turn at the end of",
    (
        Row("a conversation of 500 turns", "ours", "talk of 500", wanted="≤ 1.3 ×, ≤ 3 MB"),
        Row("a conversation of 5,000 turns", "ours", "talk of 5,000", wanted="≤ 1.3 ×"),
        Row("500 follow-ups of a task", "ours", "500 follow-ups", wanted="≤ 1.3 ×"),
        Row("500 messages from agent to agent", "ours", "500 messages", wanted="≤ 1.3 ×"),
        Row("5,000 runs in memory, one after the other", "ours", "5,000 in memory"),
    ),
    (
        Column("processor", "cpu", _millis),
        Column("÷ the tenth to twentieth turn", "cpu growth", _times),
        Column("clock", "wall", _millis),
        Column("÷ the tenth to twentieth turn, clock", "wall growth", _times),
        Column("closed file", "size", _megabytes),
        Column("opened anew in", "opened", _millis_if_any),
    ),
)

LONG_RUNS: Final = Table(
    "a run of 10,000 turns",
    (
        Row("**stagepost**, in memory", "ours", "long run", wanted="≤ 1.3 ×, prompt ≤ 1 ×"),
        Row('**stagepost**, `SqliteStore`, `durability="process"`', "ours", "long run on disk", wanted="≤ 1.3 ×"),
    ),
    (
        Column("processor, at the 1,000th turn", "early", _micros),
        Column("at the end", "late", _micros),
        Column("÷", "growth", _times),
        Column("largest prompt ÷ limit", "prompt", _times),
    ),
)

_DEPENDENCIES: Final = Row("anyio, pydantic, structlog and aiosqlite", "bare", "imports")
IMPORTS: Final = Table(
    "import of",
    (_DEPENDENCIES, Row("`stagepost.agents`", "ours", "imports", wanted="≤ 400 ms, without litellm and mcp")),
    (
        Column("clock", "wall", _millis),
        Column("÷ dependencies", "wall", _times, _DEPENDENCIES),
        Column("litellm or mcp loaded", "vendors", _any),
    ),
)


@contextmanager
def environment() -> Iterator[tuple[Environment, bool]]:
    """The environment of the measuring processes, and whether fsync takes a millisecond in them."""
    with workflows.environment() as (where, has_shim):
        yield {**where, "PYTHONPATH": os.pathsep.join([str(ROOT / "agents"), where["PYTHONPATH"]])}, has_shim


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how much is measured.

    Attributes:
        where: The environment of the processes.
        peers: The interpreter that has the peers.
        scale: More or fewer runs.
    """

    where: Environment
    peers: str = sys.executable
    scale: float = 1.0

    def version(self, row: Row) -> str | None:
        """The version of what a row needs; None if it is not installed."""
        if row.needs is None:
            return ""
        try:
            return self._output(row, "-c", _VERSION, row.needs).strip()
        except subprocess.CalledProcessError:
            return None

    def measured(self, row: Row) -> Figures:
        """The figures of a row, from a process of its own."""
        figures: Figures = json.loads(
            self._output(row, "-m", "benchmarks.agents.worker", row.side, row.measure, str(self.scale))
        )
        return figures

    def _output(self, row: Row, *arguments: str) -> str:
        command = [self.peers if row.is_peer else sys.executable, *arguments]
        errors = subprocess.DEVNULL if arguments[0] == "-c" else None
        return subprocess.run(  # noqa: S603 - our own programs
            command, env=self.where, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=errors, text=True
        ).stdout


def take_turns(rows: Sequence[Row], rounds: int, place: Place) -> Times:
    """The figures of rows, round by round."""
    times: dict[Row, list[Figures]] = {row: [] for row in rows}
    for _ in range(rounds):
        for row in rows:
            times[row].append(place.measured(row))
    return times
