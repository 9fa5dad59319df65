"""What programs cost beside the same work in Python, and how far attacks get beyond their limits.

Run ``python -m benchmarks.programs``. The first table compares a program with the same Python, median of the ratios of
rounds that take turns. The second shows, for each attack in a process of its own, the time and the memory that it took
from outside, as a share of its limits; 2 is what is promised. The memory is read from /proc, so this needs Linux.
The last lines are the cost of a small program, alone and as the answer of an agent beside an answer that is a text, of
a call in it, of the import beyond pydantic, and the longest that another task waits.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import reduce
from statistics import median
from typing import Any, Final

import anyio
import anyio.lowlevel

from stagepost.agents import Agent, ScriptedModel, tool
from stagepost.programs import Limits, PtcLisp, run, run_sync

DEAR: Final = 50.0
ROWS: Final[list[dict[str, Any]]] = [
    {"price": float(n % 97), "n": n % 13, "status": "active" if n % 3 else "off"} for n in range(100_000)
]
LIMITS: Final = Limits(seconds=30, memory=200_000_000)
TABLE: Final[dict[str, tuple[str, Callable[[], Any]]]] = {
    "map": ("(count (map (fn [r] (* (:price r) 2.0)) data/rows))", lambda: len([row["price"] * 2.0 for row in ROWS])),
    "filter": (
        "(count (filter (fn [r] (> (:price r) 50.0)) data/rows))",
        lambda: len([row for row in ROWS if row["price"] > DEAR]),
    ),
    "reduce": (
        "(reduce (fn [a r] (+ a (:n r))) 0 data/rows)",
        lambda: reduce(lambda total, row: total + row["n"], ROWS, 0),
    ),
    "all three": (
        "(->> data/rows (filter #(> (:price %) 50.0)) (map #(* (:price %) (:n %))) (reduce +))",
        lambda: reduce(
            lambda total, value: total + value,
            (row["price"] * row["n"] for row in ROWS if row["price"] > DEAR),
        ),
    ),
    "group-by": (
        "(count (group-by :n data/rows))",
        lambda: len(reduce(lambda found, row: found | {row["n"]}, ROWS, frozenset[int]())),
    ),
}
ATTACKS: Final = {
    "range": "(range 100000000)",
    "combinations": "(combinations (range 60) 30)",
    "doubled text": '(reduce (fn [s _] (str s s)) "abc" (range 60))',
    "doubled vector": "(reduce (fn [v _] (concat v v)) [1] (range 60))",
    "a map of maps": "(map (fn [i] {:a i :b (str i) :c [i i]}) (range 1000000))",
    "integers": "(map (fn [i] (pow 7 (+ 900 (mod i 9)))) (range 100000))",
    "texts": '(map (fn [i] (str i "-" i)) (range 1000000))',
    "loops in loops": "(for [a (range 5000) b (range 5000)] (+ a b))",
    "sorting": "(loop [i 0] (if (< i 900) (do (sort (fn [a b] (> a b)) (range 20000)) (recur (inc i)))))",
    "expressions": '(loop [i 0] (do (re-seq #"(a|b|ab)*c" (join (range 9000))) (recur (inc i))))',
    "a value in itself": "(str (reduce (fn [a _] [a a]) [1] (range 40)))",
}
_ATTACK: Final = """
import sys, time
from stagepost.programs import Limits, run_sync
run_sync("(sort (map inc (range 100)))")
limits = Limits(seconds=2.0, memory=50_000_000, steps=None, loops=None)
def most():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return 0
before = most()
start = time.process_time()
outcome = run_sync(sys.argv[1], limits=limits)
took = time.process_time() - start
more = (most() - before) * 1024
print(outcome.error.kind if outcome.error else "value", took / 2.0, more / 50_000_000)
"""
_IMPORT: Final = """
from time import process_time
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
start = process_time()
import stagepost.programs
print((process_time() - start) * 1000)
"""


def timed(act: Callable[[], Any]) -> float:
    """Processor time in seconds."""
    start = time.process_time()
    act()
    return time.process_time() - start


def ratio(program: str, python: Callable[[], Any], rounds: int) -> float:
    """How many times as long the program takes."""
    run_sync(program, data={"rows": ROWS}, limits=LIMITS)
    found = []
    for _ in range(rounds):
        whole = timed(lambda: run_sync(program, data={"rows": ROWS}, limits=LIMITS))
        inputs = timed(lambda: run_sync("(count data/rows)", data={"rows": ROWS}, limits=LIMITS))
        found.append((whole - inputs) / timed(python))
    return median(found)


def _python(*arguments: str) -> str:
    """What a new process prints."""
    command = [sys.executable, "-c", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - programs of this file


def attack(program: str) -> tuple[str, float, float]:
    """How an attack ended, and its time and memory as shares of the limits."""
    done = _python(_ATTACK, program)
    kind, seconds, memory = done.split()
    return kind, float(seconds), float(memory)


@tool(idempotent=True)
async def look(number: int) -> int:
    """Give a number."""
    return number


def answered(answer: str, *, rounds: int, programs: PtcLisp | None = None) -> float:
    """Processor time of a run of an agent whose model answers so, in milliseconds."""
    agent = Agent("counter", "Count.", model=ScriptedModel([answer]), tools=[look], programs=programs)
    found: list[float] = []

    async def runs() -> None:
        for _ in range(rounds):
            start = time.process_time()
            await agent.run("go")
            found.append(time.process_time() - start)

    anyio.run(runs)
    return median(found) * 1000


def turns(rounds: int) -> tuple[float, float]:
    """What a program costs an agent beside an answer that is a text, and each call of a tool in it, in milliseconds."""
    text = answered("6", rounds=rounds)
    program = answered("(return (reduce + (map inc [0 1 2])))", rounds=rounds, programs=PtcLisp())
    calls = "(return (sum (map (fn [n] (tool/look {:number n})) (range 20))))"
    return program - text, (answered(calls, rounds=rounds, programs=PtcLisp()) - program) / 20


async def longest_wait() -> float:
    """The longest that another task waits while a program works, in milliseconds."""
    longest = 0.0

    async def other() -> None:
        nonlocal longest
        while True:
            start = time.process_time()
            await anyio.lowlevel.checkpoint()
            longest = max(longest, time.process_time() - start)

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        await run("(sort-by :price > (filter :n (map identity data/rows)))", data={"rows": ROWS}, limits=LIMITS)
        group.cancel_scope.cancel()
    return longest * 1000


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| program over 100,000 rows | × Python (wanted: ≤ 60) |\n|---|---|")
    for name, (program, python) in TABLE.items():
        print(f"| {name} | {ratio(program, python, rounds):.1f} |")
    print("\n| attack | ended with | time / limit | memory / limit |\n|---|---|---|---|")
    for name, program in ATTACKS.items():
        kind, seconds, memory = attack(program)
        print(f"| {name} | {kind} | {seconds:.2f} | {memory:.2f} |")
    small = median(timed(lambda: run_sync("(reduce + (map inc [1 2 3]))")) for _ in range(200)) * 1000
    imports = [float(_python(_IMPORT)) for _ in range(rounds)]
    print(f"\na small program: {small:.2f} ms (wanted: ≤ 1)")
    beside, each = turns(40 * rounds)
    print(f"a program of an agent beside its model: {beside:.2f} ms (wanted: ≤ 1), each call in it {each:.2f} ms")
    print(f"import beyond pydantic: {median(imports):.1f} ms (wanted: ≤ 30)")
    print(f"longest wait of another task: {anyio.run(longest_wait):.1f} ms (wanted: ≤ 50)")


if __name__ == "__main__":
    main()
