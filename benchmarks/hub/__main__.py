"""Measure, and print or write the tables."""

import argparse

from benchmarks.hub.report import BEGIN, END, report
from benchmarks.page import PAGE, write


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hub",
        description="Measure the hub against asyncio.Queue and autogen-core.",
    )
    parser.add_argument("--rounds", type=int, default=7, help="how many times each side has its turn")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer messages in a round")
    parser.add_argument(
        "--instructions",
        type=int,
        nargs="?",
        const=5_000,
        default=0,
        help="count the processor's instructions of so many messages, too, by perf or valgrind; this takes minutes",
    )
    parser.add_argument("--write", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.scale, options.instructions)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
