"""Fifty chats at once over HTTP, against the least route: ``python -m benchmarks.service.chats [--write]``.

The services are processes of their own, and so are the callers, who do as little as can be: that is this process. Each
round measures every way in turn, the bare route first.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final, NamedTuple
from uuid import uuid4

import anyio
from benchmarks.page import PAGE, write
from benchmarks.service.calling import Answer, Process, asked, service
from benchmarks.service.served import ASKS, TOKENS

BEGIN: Final = "<!-- benchmarks.service.chats writes from here -->"
END: Final = "<!-- service.chats end here -->"
_CHATS: Final = 50


class Way(NamedTuple):
    """A way to ask the model.

    Attributes:
        name: What it is.
        path: The route.
        body: What it is asked.
        served: Which service is asked.
        wanted: What we want to reach.
    """

    name: str
    path: str
    body: Callable[[], Mapping[str, str]]
    served: str = "ours"
    wanted: str = ""


class Found(NamedTuple):
    """What one way took in one round.

    Attributes:
        whole: Seconds within which 95 % of the answers were there.
        first: Seconds within which 95 % had the first token after the model had made it.
        spent: Seconds of the service's processor, per chat.
        calling: Seconds of the callers' processor, per chat.
    """

    whole: float
    first: float
    spent: float
    calling: float


def _said(message: str) -> Callable[[], Mapping[str, str]]:
    return lambda: {"message": message, "session_id": str(uuid4())}


_WANTED: Final = "≤ 60 ms later, first token ≤ 30 ms"
BARE: Final = Way("bare Starlette", "/", lambda: {"request": "chat"}, "bare")
WAYS: Final = (
    BARE,
    Way("`POST /runs`, an agent", "/runs", lambda: {"workflow": "clock", "request": "chat"}, wanted=_WANTED),
    Way("`POST /chat`, a supervisor", "/chat", _said("What time is it?"), wanted=_WANTED),
    Way("`POST /chat`, its worker asked first", "/chat", _said(f"Ask your {ASKS}: what time is it?")),
)


def p95(values: Sequence[float]) -> float:
    """The value that 95 of 100 do not exceed."""
    return quantiles(values, n=20)[-1]


async def measured(way: Way, process: Process, chats: int = _CHATS) -> Found:
    """Ask in one way, as many times at once."""
    spent, calling = process.cpu, process_time()
    answers: Sequence[Answer] = await asked(process.port, way.path, [way.body() for _ in range(chats)])
    return Found(
        p95([each.seconds for each in answers]),
        p95([each.first for each in answers]),
        (process.cpu - spent) / chats,
        (process_time() - calling) / chats,
    )


async def rounds_of(rounds: int, chats: int = _CHATS) -> Sequence[Mapping[Way, Found]]:
    """Measure every way in each round; one more before, which warms up, does not count."""
    with TemporaryDirectory() as name:
        file = Path(name) / "served.db"
        async with service("bare", file) as bare, service("ours", file) as ours:
            of = {"bare": bare, "ours": ours}
            found = [{way: await measured(way, of[way.served], chats) for way in WAYS} for _ in range(rounds + 1)]
    return found[1:]


def table(found: Sequence[Mapping[Way, Found]]) -> str:
    """The table, by the medians of the rounds; what is later is later than the bare route in the same round."""
    lines = []
    for way in WAYS:
        whole, first, spent, calling = (median(values) for values in zip(*(each[way] for each in found), strict=True))
        lates = sorted(each[way].whole - each[BARE].whole for each in found)
        ratio = median(each[way].spent / each[BARE].spent for each in found)
        is_bare = way is BARE
        cells = (
            way.name,
            f"{whole * 1e3:,.0f} ms",
            "" if is_bare else f"{median(lates) * 1e3:,.0f} ms ({lates[0] * 1e3:,.0f} to {lates[-1] * 1e3:,.0f})",
            f"{first * 1e3:,.1f} ms",
            f"{spent * 1e3:.1f} ms",
            f"{ratio:.2f} ×",
            f"{calling * 1e3:.1f} ms",
            way.wanted,
        )
        lines.append(f"| {' | '.join(cells)} |")
    head = (
        f"| {_CHATS} chats at once | p95 | later than bare | p95 of the first token after the model's | "
        "processor of the service, a chat | ÷ bare | of the callers, a chat | wanted |"
    )
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|--:|--:|", *lines])


def report(rounds: int) -> str:
    """Measure everything, and return it as Markdown."""
    before = os.getloadavg()[0]
    made = table(anyio.run(rounds_of, rounds))
    how = (
        f"`python -m benchmarks.service.chats {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, Starlette {version('starlette')}, uvicorn {version('uvicorn')}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores with a load of {before:.1f} before and "
        f"{os.getloadavg()[0]:.1f} after, medians of {rounds} rounds, answers of {TOKENS} tokens."
    )
    return f"{how}\n\n{made}"


def main() -> None:
    """Read the options, measure, and say what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.chats", description="Measure what serving adds to the answers of a model."
    )
    parser.add_argument("--rounds", type=int, default=5, help="how many times each way is measured")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
