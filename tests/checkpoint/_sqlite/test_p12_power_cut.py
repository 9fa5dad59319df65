"""A power cut at any instant loses no acknowledged commit at the default durability, and never harms the database.

Power is not really cut: a process commits while the order of its writes and syncs is recorded, and the folder is made
again as a cut could have left it.
"""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from anyio import fail_after
from tests.checkpoint import _committer
from tests.checkpoint._committer import state_of
from tests.checkpoint._disk import Disk, Entry, Kind, build, read_log, recording
from tests.checkpoint._processes import environment

from stagepost.checkpoint import RunNotFound, SqliteStore
from stagepost.checkpoint._sqlite._connect import Durability

SEEDS = [0, *[pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 40)]]
CUTS = 40  # instants for each seed

Told: TypeAlias = dict[str, int]  # the last version of each run that was acknowledged


class Cut(NamedTuple):
    """What a power cut leaves, and what the world had been told before."""

    files: dict[str, bytes]
    told: Told


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module", params=["power", "process"])
def recorded(request: pytest.FixtureRequest, library: Path, tmp_path_factory: pytest.TempPathFactory) -> "Recorded":
    """One process per durability, whose disk was recorded."""
    folder, log = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("log") / "log"
    command = [sys.executable, "-m", _committer.__name__, str(folder), request.param, "60"]
    subprocess.run(command, env=environment(**recording(library, folder, log)), check=True, timeout=60)
    return Recorded(request.param, list(read_log(log)))


class Recorded(NamedTuple):
    durability: Durability
    entries: Sequence[Entry]


def cuts(entries: Sequence[Entry], seed: int) -> Iterator[Cut]:
    """Cuts at instants that a seed chooses, in order."""
    chance = random.Random(seed)  # noqa: S311  # nothing to guess
    instants = sorted(chance.sample(range(len(entries)), CUTS))
    disk, told, teller = Disk(), dict[str, int](), -1
    for number, entry in enumerate(entries):
        if entry.kind is Kind.MADE and entry.data == b"told":
            teller = entry.file
        elif entry.file == teller:
            name, seq = entry.data.split()
            told[name.decode()] = int(seq)
        disk.play(entry)
        if number in instants:
            yield Cut(disk.cut(chance), dict(told))


async def found(folder: Path, files: dict[str, bytes], told: Told) -> Told:
    """The versions that the store finds behind a cut; whatever it finds must be whole."""
    file, versions = write(folder, files), dict[str, int]()
    with fail_after(30):
        async with SqliteStore(file, durability="process") as store:
            for name in told:
                try:
                    root = (await store.load(name)).root
                except RunNotFound:
                    versions[name] = 0
                    continue
                assert root.state == state_of(name, root.seq)
                versions[name] = root.seq
    assert integrity(file) == [("ok",)]
    return versions


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "runs.db"


def integrity(file: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


@pytest.mark.parametrize("seed", SEEDS)
async def test_p12_what_a_power_cut_leaves(
    recorded: Recorded, seed: int, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    lost = [0]
    acknowledged = 0
    for number, cut in enumerate(cuts(recorded.entries, seed)):
        versions = await found(tmp_path / str(number), cut.files, cut.told)
        lost.append(sum(max(0, cut.told[name] - versions[name]) for name in cut.told))
        acknowledged = sum(cut.told.values())
    record_testsuite_property(f"lost at {recorded.durability}", f"at most {max(lost)} of {acknowledged}")
    if recorded.durability == "power":
        assert max(lost) == 0
    else:
        assert max(lost) > 0  # or the recording would not show what a cut does
