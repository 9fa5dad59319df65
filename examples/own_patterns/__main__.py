"""Send a parcel, be killed on the way, and go on."""

import subprocess
import sys
import tempfile
from pathlib import Path

from .parcel import parcel


def main() -> int:
    """Run the demonstration; returns the exit code."""
    print(parcel.mermaid(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(f"the first process has ended with {_work(folder, '--die-in', '3')}", flush=True)
        print(f"the second process has ended with {_work(folder)}", flush=True)
        print((Path(folder) / "said.log").read_text(), end="")
    return 0


def _work(*arguments: str) -> int:
    command = [sys.executable, "-m", "own_patterns.work", *arguments]
    return subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode  # noqa: S603  # our own


if __name__ == "__main__":
    sys.exit(main())
