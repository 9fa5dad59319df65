"""Count the words of a folder, be killed in the middle, go on, and compare."""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .counting import as_report, count_words, find_texts


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="word_count", description=(__doc__ or "").splitlines()[0])
    repository = Path(__file__).resolve().parents[2]
    parser.add_argument("folder", nargs="?", type=Path, default=repository, help="by default this repository")
    folder = parser.parse_args().folder.resolve()
    files = find_texts(folder) if folder.is_dir() else []
    if not files:
        print(f"word count: there are no texts in {folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as output:
        print(f"counting the words of {len(files)} files in {folder}", flush=True)
        print(f"the first process has ended with {_work(folder, Path(output), '--die-at', '0.5')}", flush=True)
        print(f"the second process has ended with {_work(folder, Path(output))}", flush=True)
        return _compare(Path(output), folder, files)


def _compare(output: Path, folder: Path, files: list[str]) -> int:
    """Say what has come of it; returns the exit code."""
    direct = sum((count_words(folder / file) for file in files), Counter[str]())
    begun = [line.split(maxsplit=1) for line in (output / "begun.log").read_text().splitlines()]
    again = len(begun) - len({file for _, file in begun})
    is_right = (output / "words.txt").read_text() == as_report(direct)
    print(f"{direct.total()} words, {len(direct)} different ones; counted twice: {again} of {len(files)} files")
    print(f"compared with a direct count: {'the same' if is_right else 'NOT the same'}")
    return 0 if is_right else 1


def _work(folder: Path, output: Path, *options: str) -> int:
    command = [sys.executable, "-m", "word_count.work", str(folder), str(output), *options]
    return subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode  # noqa: S603  # our own


if __name__ == "__main__":
    sys.exit(main())
