"""Measure, and print or write the tables."""

import argparse
import sys

from benchmarks.agents.report import BEGIN, END, report
from benchmarks.page import PAGE, write


def main() -> None:
    """Read the options, measure, and say what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agents",
        description="Measure agents against bare awaits, httpx, and other frameworks.",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how many times each side has its turn")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer runs in a round")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="the interpreter that has the peers")
    parser.add_argument("--write", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.scale, peers=options.peers)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
