"""Measure, and print or write the table."""

import argparse

from benchmarks.page import PAGE, write
from benchmarks.streams.report import BEGIN, END, report


def main() -> None:
    """Read the options, measure, and say what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.streams", description="Measure what it costs to listen to runs."
    )
    parser.add_argument("--rounds", type=int, default=5, help="how many times each row is measured")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer runs, listeners, tokens")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.scale)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
