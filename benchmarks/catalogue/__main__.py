"""The program: measures, and prints or writes the table."""

import argparse

from benchmarks.catalogue.report import BEGIN, END, report
from benchmarks.page import PAGE, write


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.catalogue", description="Measure what it costs to find and count stored runs."
    )
    parser.add_argument("--runs", type=int, default=1_000_000, help="how many runs have ended")
    parser.add_argument("--open", type=int, default=10_000, help="how many runs are open")
    parser.add_argument("--rounds", type=int, default=5, help="how many times each question is asked")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.runs, options.open, options.rounds)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
