"""The order example as its users run it: real processes, killed behind entries of a real ledger."""

import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from order_fulfilment.outside import Ledger
from tests._forks import Forks

OUTCOMES = [
    "order-1   2 lamp   on its way as parcel",
    "order-2   2 desk   on its way as parcel",
    "order-3   5 desk   cancelled: nobody needs 5 desks",
    "order-4  99 chair  cancelled: 10 of chair left",
    "order-5   1 lamp   cancelled: the bank does not take this card",
    "order-6   1 chair  cancelled: nobody delivers to the moon",
]
ENTRIES = 24


def python(forks: Forks, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return forks.run("-m", *command, cwd=cwd)


def work(forks: Forks, folder: Path, *, die_at: int | None = None) -> subprocess.CompletedProcess[str]:
    options = [] if die_at is None else ["--die-at", str(die_at)]
    return python(forks, "order_fulfilment.work", str(folder), *options, cwd=folder)


def assert_books_are_right(ledger: Ledger) -> None:
    entries = ledger.entries()
    references = Counter(entry["reference"] for entry in entries)
    assert max(references.values()) == 1
    kinds = Counter(entry["kind"] for entry in entries)
    assert kinds == {"charge": 5, "refund": 3, "reservation": 5, "release": 3, "parcel": 2, "mail": 6}
    assert sum(entry.get("cents", 0) for entry in entries) == 2 * 3_000 + 2 * 40_000  # what was shipped is paid


def test_the_demo_is_killed_and_charges_nobody_twice(tmp_path: Path, forks: Forks) -> None:
    done = python(forks, "order_fulfilment", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ended with -9, and the ledger has 2 entries" in done.stdout
    assert done.stdout.splitlines()[-1] == "done twice: nothing"


@pytest.mark.parametrize("entry", [1, 9, 20, ENTRIES])
def test_p8_killed_behind_any_entry_nothing_is_booked_twice(entry: int, tmp_path: Path, forks: Forks) -> None:
    assert work(forks, tmp_path, die_at=entry).returncode == -signal.SIGKILL
    ledger = Ledger(tmp_path / "ledger.jsonl")
    assert len(ledger.entries()) == entry
    assert_outcomes(work(forks, tmp_path))
    assert_books_are_right(ledger)


def test_p8_killed_again_and_again_nothing_is_booked_twice(tmp_path: Path, forks: Forks) -> None:
    for entry in (2, 3, 12):
        assert work(forks, tmp_path, die_at=entry).returncode == -signal.SIGKILL
    assert_outcomes(work(forks, tmp_path))
    assert_books_are_right(Ledger(tmp_path / "ledger.jsonl"))


def assert_outcomes(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(OUTCOMES)
    for line, outcome in zip(lines, OUTCOMES, strict=True):
        assert line.startswith(outcome)


def test_a_clerk_approves_in_a_process_of_their_own(tmp_path: Path, forks: Forks) -> None:
    def shop(*arguments: str) -> str:
        done = python(forks, "order_fulfilment", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert shop("place", "desk", "--quantity", "2", "--number", "order-7") == "order-7: waits for a clerk\n"
    assert "order-7: item desk, quantity 2, price 800.00; by " in shop("inbox")
    assert "order-7: on its way as parcel" in shop("approve", "order-7")
    assert shop("inbox") == ""
    assert "order-7: on its way as parcel" in shop("place", "desk", "--quantity", "2", "--number", "order-7")
    assert [entry["kind"] for entry in Ledger(tmp_path / "shop" / "ledger.jsonl").entries()].count("charge") == 1


def test_what_a_clerk_refuses_is_undone(tmp_path: Path, forks: Forks) -> None:
    python(forks, "order_fulfilment", "place", "desk", "--quantity", "2", "--number", "order-7", cwd=tmp_path)
    done = python(forks, "order_fulfilment", "refuse", "order-7", "--reason", "too dear", cwd=tmp_path)
    assert done.stdout == "order-7: cancelled: too dear\n"
    kinds = sorted(entry["kind"] for entry in Ledger(tmp_path / "shop" / "ledger.jsonl").entries())
    assert kinds == ["charge", "mail", "refund", "release", "reservation"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["approve", "order-9"], "order-9", id="no such order"),
        pytest.param(["place", "lamp", "--quantity", "0"], "greater than 0", id="no such quantity"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], words: str, tmp_path: Path, forks: Forks) -> None:
    done = python(forks, "order_fulfilment", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
