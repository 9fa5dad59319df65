"""Who is measured, what is measured, and how the sides take turns."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

from benchmarks.workflows.measure import LONG, STEPS, Measure
from benchmarks.workflows.shim import build_shim

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = (ROOT, *(ROOT / layer for layer in ("hub", "checkpoint", "workflows")))
Times: TypeAlias = Mapping[str, Sequence[float]]
Environment: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Side:
    """Somebody who is measured.

    Attributes:
        name: What the tables call it.
        module: Its module in `sides`.
        distribution: What has to be installed.
        imports: The package of it that is imported; both None if it comes with the checkout.
    """

    name: str
    module: str
    distribution: str | None = None
    imports: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether it can be measured here."""
        return self.imports is None or find_spec(self.imports) is not None

    @property
    def label(self) -> str:
        """Its name with its version."""
        if self.distribution is None:
            return self.name
        return f"{self.name} {version(self.distribution)}" if self.is_installed else f"{self.name} (not installed)"

    @property
    def measures(self) -> Mapping[str, Measure]:
        """What it can do."""
        measures: Mapping[str, Measure] = import_module(f"benchmarks.workflows.sides.{self.module}").MEASURES
        return measures


BARE: Final = Side("bare", "bare")
OURS: Final = Side("**stagepost**", "ours")
PEERS: Final = (
    Side("pydantic-graph", "pydantic_graph", "pydantic-graph", "pydantic_graph"),
    Side("Burr", "burr", "apache-burr", "burr"),
    Side("LangGraph", "langgraph", "langgraph", "langgraph"),
)


class Numbers(NamedTuple):
    """How many times something is done in a round.

    Attributes:
        floor: By the bare side.
        ours: By us.
        peers: By each peer, which takes longer.
        least: All of them are multiples of this.
    """

    floor: int
    ours: int
    peers: int
    least: int = STEPS

    def of(self, side: Side, scale: float) -> int:
        """How many times a side does it."""
        number = self.floor if side is BARE else self.ours if side is OURS else self.peers
        return max(1, round(number * scale / self.least)) * self.least


@dataclass(frozen=True, slots=True)
class Column:
    """Something to measure.

    Attributes:
        name: What the table calls it.
        measure: Its name in the sides' measures.
        numbers: How many times it is done in a round.
        wanted: What we want to reach.
        unit: Makes text of a figure.
        cell: Makes text of a figure and its ratio to the bare side's.
    """

    name: str
    measure: str
    numbers: Numbers
    wanted: str
    unit: Callable[[float], str]
    cell: Callable[[float, float], str]


def _digits(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"  # noqa: PLR2004 - digits worth reading


def _micros(seconds: float, ratio: float | None = None) -> str:
    return _beside(f"{seconds * 1e6:.3g} µs", ratio)


def _millis(seconds: float, ratio: float | None = None) -> str:
    return _beside(f"{seconds * 1e3:.3g} ms", ratio)


def _kilobytes(written: float, ratio: float | None = None) -> str:
    return _beside(f"{written / 1024:.1f} KB", ratio)


def _beside(text: str, ratio: float | None) -> str:
    return text if ratio is None else f"{text} ({_digits(ratio)} ×)"


def _percent(share: float, ratio: float | None = None) -> str:
    return _beside(f"{share * 100:.2g} %", ratio)


def _times(factor: float, _ratio: float | None = None) -> str:
    return f"{_digits(factor)} ×"


def _rate(_seconds: float, ratio: float) -> str:
    return f"{_digits(1 / ratio)} ×"


_RESTARTS: Final = Numbers(3, 3, 3, least=1)
_TURNS: Final = Numbers(LONG, LONG, LONG)
ENGINE: Final = (
    Column("step of a chain", "chain", Numbers(200_000, 20_000, 2_000), "≤ 11 µs", _micros, _micros),
    Column("visit in a cycle", "cycle", Numbers(200_000, 20_000, 2_000), "≤ 11 µs", _micros, _micros),
    Column("item of a fan-out", "fan-out", Numbers(100_000, 5_000, 1_000), "≤ Burr ÷ 5", _micros, _micros),
)
DURABLE: Final = (
    Column("1 run", "1 run", Numbers(500, 500, 100), "≥ 0.85 ×", _millis, _rate),
    Column("100 runs", "100 runs", Numbers(500, 10_000, 1_000), "≥ 20 ×", _millis, _rate),
    Column("1,000 runs", "1,000 runs", Numbers(500, 20_000, 10_000), "≥ 30 ×", _millis, _rate),
    Column("fan-out, 16 workers", "16 workers", Numbers(500, 2_000, 0), "≥ 10 ×", _millis, _rate),
    Column("fan-out, 100 workers", "100 workers", Numbers(500, 5_000, 0), "≥ 35 ×", _millis, _rate),
)
FIGURES: Final = (
    Column("written per step", "bytes", _TURNS, "≤ 6 KB", _kilobytes, _kilobytes),
    Column("start to first new step", "restart", _RESTARTS, "≤ 300 ms", _millis, _millis),
    Column("without the imports", "restart without imports", _RESTARTS, "≤ 60 ms", _millis, _millis),
)
BESIDE: Final = (
    Column("heard, p99", "heard", Numbers(50, 50, 0), "≤ 300 ms", _millis, _millis),
    Column("idle owner, of a core", "idle", Numbers(50, 50, 0), "≤ 0.1 %", _percent, _percent),
)
HISTORY: Final = (
    Column("on disk", "history on disk", _TURNS, "≤ 300 KB", _kilobytes, _kilobytes),
    Column("written per turn", "history bytes", _TURNS, "≤ 14 KB", _kilobytes, _kilobytes),
    Column("last turns ÷ first", "history growth", _TURNS, "≤ 1.2 ×", _times, _times),
)


@contextmanager
def environment() -> Iterator[tuple[Environment, bool]]:
    """The environment of the measuring processes, and whether fsync takes a millisecond in them."""
    found = os.environ.get("PYTHONPATH")
    paths = [*map(str, SOURCES), *([found] if found else [])]
    with TemporaryDirectory(prefix="bench-") as folder:
        shim = build_shim(Path(folder))
        preload = {} if shim is None else {"LD_PRELOAD": str(shim)}
        yield {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **preload}, shim is not None


def measured(side: Side, column: Column, scale: float, where: Environment) -> float:
    """A figure of one side, from a process of its own."""
    number = column.numbers.of(side, scale)
    command = [sys.executable, "-m", "benchmarks.workflows.worker", side.module, column.measure, str(number)]
    done = subprocess.run(command, env=where, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return float(done.stdout)


def take_turns(column: Column, rounds: int, scale: float, where: Environment) -> Times:
    """The figures of all sides that can do it, by module, round by round."""
    sides = [side for side in (BARE, OURS, *PEERS) if side.is_installed and column.measure in side.measures]
    times: dict[str, list[float]] = {side.module: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            times[side.module].append(measured(side, column, scale, where))
    return times


def ratio(times: Times, side: Side, other: Side) -> float:
    """How many times another side's figure a side's is: the median of the rounds' ratios."""
    return median(one / two for one, two in zip(times[side.module], times[other.module], strict=True))
