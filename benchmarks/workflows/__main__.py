"""Measure, and print or write the tables."""

import argparse

from benchmarks.page import PAGE, write
from benchmarks.workflows.report import BEGIN, END, report


def main() -> None:
    """Read the options, measure, and say what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.workflows",
        description="Measure workflows against bare awaits, raw sqlite3, pydantic-graph, Burr and LangGraph.",
    )
    parser.add_argument("--rounds", type=int, default=5, help="how many times each side has its turn")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer steps in a round")
    parser.add_argument("--write", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.scale)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
