"""Measure, and print the table."""

import argparse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anyio
from benchmarks.service.measure import end, start, streams

_MEGABYTE = 1_000_000


async def report(rounds: int) -> str:
    """The table, by the medians of some rounds."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        starts = [(await start(folder, 1_000), await start(folder, 0)) for _ in range(rounds)]
        found = [await streams(folder) for _ in range(rounds)]
        ends = [await end(folder) for _ in range(rounds)]
    full, bare = (median(times) for times in zip(*starts, strict=True))
    many = {key: median(each[key] for each in found) for key in found[0]}
    alone = median(ends)
    rows = [
        ("start with 1,000 open runs, against none", f"{full:.2f} s", f"{bare:.2f} s", f"{full / bare:.2f} ×"),
        ("the same beyond a start with none", f"{full - bare:.2f} s", "", ""),
        ("memory of 500 open streams", f"{many['memory'] / _MEGABYTE:.0f} MB", "", ""),
        ("processor with 500 idle streams, against none", f"{many['idle']:.2%}", f"{many['idle bare']:.2%}", ""),
        (
            "end with 500 open streams, against none",
            f"{many['end']:.2f} s",
            f"{alone:.2f} s",
            f"{many['end'] / alone:.2f} ×",
        ),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(["| what | ours | floor | ratio |", "|---|--:|--:|--:|", *lines])


def main() -> None:
    """Read the options, measure, and say what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service", description="Measure the service as a process."
    )
    parser.add_argument("--rounds", type=int, default=3, help="how many times each row is measured")
    print(anyio.run(report, parser.parse_args().rounds))


if __name__ == "__main__":
    main()
