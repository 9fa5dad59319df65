"""One measurement in a process of its own: ``python -m benchmarks.agents.worker SIDE MEASURE SCALE``."""

import json
import sys
from importlib import import_module


def main() -> None:
    """Measure and print the figures."""
    side, measure, scale = sys.argv[1:]
    print(json.dumps(import_module(f"benchmarks.agents.sides.{side}").MEASURES[measure](float(scale))))


if __name__ == "__main__":
    main()
