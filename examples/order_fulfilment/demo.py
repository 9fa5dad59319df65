"""The demo: a process that dies at the worst moment, one that goes on, and the books."""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from .outside import Ledger

_WORST_MOMENT: Final = 2  # the first charge is booked, and its answer is never heard


def run_demo() -> int:
    """Run it; returns the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("a process takes six orders, and is killed behind the first charge that the bank books", flush=True)
        first = _work(folder, "--die-at", str(_WORST_MOMENT))
        print(f"  it has ended with {first}, and the ledger has {_WORST_MOMENT} entries", flush=True)
        print("another process goes on", flush=True)
        second = _work(folder)
        return second or check_books(Ledger(folder / "ledger.jsonl"))


def check_books(ledger: Ledger) -> int:
    """Say whether anything was done twice; returns the exit code."""
    entries = ledger.entries()
    references = Counter(entry["reference"] for entry in entries)
    twice = [reference for reference, count in references.items() if count > 1]
    kinds = Counter(entry["kind"] for entry in entries)
    print("the books: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))
    print(f"done twice: {', '.join(twice) or 'nothing'}")
    return 1 if twice else 0


def _work(folder: Path, *options: str) -> int:
    command = [sys.executable, "-m", "order_fulfilment.work", str(folder), *options]
    return subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode  # noqa: S603  # our own
