"""How many instructions a turn takes that nobody listens to, counted by valgrind.

``python -m benchmarks.streams.instructions`` runs `turns`. Unlike time, instructions do not depend on what else the
machine does. A turn is what 200 turns take more than 100 do, divided by a hundred. With ``--against FOLDER``, another
checkout, it prints what a turn takes there, and the ratio.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.streams.turns import WAYS

_HERE: Final = Path(__file__).parents[2]
_LAYERS: Final = ("hub", "checkpoint", "workflows", "agents")
_SHORT: Final = 100
_LONG: Final = 200


def taken(root: Path, way: str, turns: int) -> int:
    """The instructions of a whole process with so many turns."""
    with TemporaryDirectory() as folder:
        valgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out")
        command = [*valgrind, sys.executable, str(Path(__file__).with_name("turns.py")), way, str(turns)]
        where = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        where |= {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(str(root / layer) for layer in _LAYERS)}
        done = subprocess.run(command, env=where, check=True, stderr=subprocess.PIPE, text=True)  # noqa: S603  # ours
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(f"valgrind does not say how much there was:\n{done.stderr}")
    return int(found.group(1))


def of_a_turn(root: Path, way: str) -> float:
    """The instructions of a turn."""
    return (taken(root, way, _LONG) - taken(root, way, _SHORT)) / (_LONG - _SHORT)


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.instructions", description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout")
    options = parser.parse_args()
    for root in filter(None, (_HERE, options.against)):
        taken(root, "memory", 1)  # compiles what is not compiled yet
    for way in WAYS:
        ours = of_a_turn(_HERE, way)
        if options.against is None:
            print(f"{way}: {ours:,.0f} instructions a turn")
        else:
            theirs = of_a_turn(options.against, way)
            print(f"{way}: {ours:,.0f} instructions a turn, {theirs:,.0f} there: {ours / theirs - 1:+.2%}")


if __name__ == "__main__":
    main()
