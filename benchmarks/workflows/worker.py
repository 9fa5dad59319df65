"""One measurement in a process of its own: ``python -m benchmarks.workflows.worker SIDE MEASURE COUNT``."""

import sys
from importlib import import_module


def main() -> None:
    """Measure and print the figure."""
    side, measure, number = sys.argv[1:]
    print(import_module(f"benchmarks.workflows.sides.{side}").MEASURES[measure](int(number)))


if __name__ == "__main__":
    main()
