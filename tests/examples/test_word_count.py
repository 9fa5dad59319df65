"""The map-reduce example as its user runs it, on real files, killed with SIGKILL."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = 40
WORKERS = 4


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / "inner").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "not.txt").write_text("secret")
    for number in range(FILES):
        (folder / "inner" / f"{number}.txt").write_text("Tide and tide, " * number + "sea")
    return folder


def start(*command: str, error: int = subprocess.PIPE) -> subprocess.Popen[str]:
    paths = [str(ROOT / part) for part in ("hub", "checkpoint", "workflows", "agents", "examples")]
    forcing = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}  # make rich believe what they say
    inherited = {name: value for name, value in os.environ.items() if name not in forcing}
    environment = {**inherited, "PYTHONPATH": os.pathsep.join(paths), "TERM": "xterm", "COLUMNS": "80"}
    return subprocess.Popen(
        [sys.executable, "-m", *command], env=environment, stdout=subprocess.PIPE, stderr=error, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    with process:
        return process.communicate(timeout=60)


def test_a_killed_count_is_the_same_as_a_direct_one(texts: Path) -> None:
    process = start("word_count", str(texts))
    said, complaints = finish(process)
    assert process.returncode == 0, complaints
    assert "the first process has ended with -9" in said
    assert "the second process has ended with 0" in said
    assert "compared with a direct count: the same" in said
    assert complaints == "", "there is no bar where there is no terminal"


def test_p7_only_what_was_under_way_at_the_kill_is_counted_again(texts: Path, tmp_path: Path) -> None:
    first = start("word_count.work", str(texts), str(tmp_path), "--die-at", "0.5")
    finish(first)
    assert first.returncode == -signal.SIGKILL
    assert not (tmp_path / "words.txt").exists()
    second = start("word_count.work", str(texts), str(tmp_path))
    _, complaints = finish(second)
    assert second.returncode == 0, complaints
    begun = Counter(line.split(maxsplit=1)[1] for line in (tmp_path / "begun.log").read_text().splitlines())
    assert len(begun) == FILES
    assert sum(begun.values()) - FILES <= WORKERS
    assert (
        tmp_path / "words.txt"
    ).read_text() == f"and {sum(range(FILES))}\nsea {FILES}\ntide {2 * sum(range(FILES))}\n"


def test_on_a_terminal_a_bar_shows_that_it_does_not_begin_anew(texts: Path, tmp_path: Path) -> None:
    finish(start("word_count.work", str(texts), str(tmp_path), "--die-at", "0.5"))
    terminal, end = os.openpty()
    try:
        process = start("word_count.work", str(texts), str(tmp_path), error=end)
        os.close(end)
        shown = _read(terminal)
        finish(process)
    finally:
        os.close(terminal)
    assert process.returncode == 0
    counts = [int(done) for done in re.findall(rf"(\d+)/{FILES}", shown)]
    assert counts == sorted(counts)
    assert all(done >= FILES // 2 for done in counts)
    assert "2/2" in shown


def _read(terminal: int) -> str:
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other end is closed
            part = b""
        if not part:
            return shown.decode()
        shown += part


def test_a_folder_without_texts_gets_one_clear_sentence(tmp_path: Path) -> None:
    process = start("word_count", str(tmp_path / "nowhere"))
    said, complaints = finish(process)
    assert (process.returncode, said) == (2, "")
    assert complaints == f"word count: there are no texts in {tmp_path / 'nowhere'}\n"
