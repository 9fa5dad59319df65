"""A disk that remembers in which order things were written, and what a power cut would have left of them.

A process runs with `_disk.c` between it and its disk, which records what is done to the files of one folder. From the
recording `Disk` makes the folder as a cut at any instant could have left it: what was synced is there; of what was
written since, nothing, all, a torn prefix, any sectors, or garbage in the place of some of them. A file that was made
or deleted is there or not according to the last sync of its folder.
"""

import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import pytest

SECTOR = 512
_HEADER = struct.Struct("=IIQQ")
_SOURCE = Path(__file__).with_name("_disk.c")


class Kind(IntEnum):
    MADE = 1
    DELETED = 2
    WRITE = 3
    LENGTH = 4
    SYNC_BEGINS = 5
    SYNC_ENDS = 6


class Entry(NamedTuple):
    kind: Kind
    file: int
    offset: int
    data: bytes


def build(folder: Path) -> Path:
    """The compiled recorder; skips the test where none can be made."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("recording a disk needs Linux and a C compiler named cc")
    library = folder / "disk.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl", "-lpthread"], check=True)
    return library


def recording(library: Path, folder: Path, log: Path) -> dict[str, str]:
    """The environment of a process whose disk is recorded."""
    return {"LD_PRELOAD": str(library), "DISK_FOLDER": str(folder), "DISK_LOG": str(log)}


def read_log(path: Path) -> Iterator[Entry]:
    """What was recorded; a last entry that was not written whole is left out."""
    log, place = path.read_bytes(), 0
    while place + _HEADER.size <= len(log):
        kind, file, offset, length = _HEADER.unpack_from(log, place)
        place += _HEADER.size
        if place + length > len(log):
            return
        yield Entry(Kind(kind), file, offset, log[place : place + length])
        place += length


@dataclass
class File:
    """What is safe of a file, and what was done to it since its last sync."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Entry] = field(default_factory=list)
    syncing: int = 0  # how much of `pending` the sync under way makes safe


class Disk:
    """The state of a folder while a recording is played."""

    def __init__(self) -> None:
        self.files: dict[int, File] = {}
        self.names: dict[int, str] = {}  # that are safe
        self.changes: list[Entry] = []  # of names, since the folder was synced
        self._syncing = 0

    def play(self, entry: Entry) -> None:
        if entry.file == 0:
            self._sync_folder(entry.kind)
        elif entry.kind is Kind.MADE or entry.kind is Kind.DELETED:
            self.files.setdefault(entry.file, File())
            self.changes.append(entry)
        else:
            _play(self.files[entry.file], entry)

    def cut(self, chance: random.Random) -> dict[str, bytes]:
        """The files that a power cut could leave now."""
        kept = chance.choice((0, len(self.changes), chance.randint(0, len(self.changes))))
        names = _renamed(self.names, self.changes[:kept])
        return {name: bytes(_torn(self.files[number], chance)) for number, name in names.items()}

    def _sync_folder(self, kind: Kind) -> None:
        if kind is Kind.SYNC_BEGINS:
            self._syncing = len(self.changes)
        elif kind is Kind.SYNC_ENDS:
            self.names = _renamed(self.names, self.changes[: self._syncing])
            del self.changes[: self._syncing]


def _renamed(names: Mapping[int, str], changes: Sequence[Entry]) -> dict[int, str]:
    changed = dict(names)
    for entry in changes:
        if entry.kind is Kind.MADE:
            changed[entry.file] = entry.data.decode()
        else:
            changed.pop(entry.file, None)
    return changed


def _play(file: File, entry: Entry) -> None:
    if entry.kind is Kind.SYNC_BEGINS:
        file.syncing = len(file.pending)
    elif entry.kind is Kind.SYNC_ENDS:
        for written in file.pending[: file.syncing]:
            _apply(file.content, written)
        del file.pending[: file.syncing]
    else:
        file.pending.append(entry)


def _apply(content: bytearray, entry: Entry) -> None:
    if entry.kind is Kind.LENGTH:
        del content[entry.offset :]
        content.extend(bytes(entry.offset - len(content)))
    else:
        content.extend(bytes(max(0, entry.offset - len(content))))
        content[entry.offset : entry.offset + len(entry.data)] = entry.data


def _torn(file: File, chance: random.Random) -> bytearray:
    """A file behind a cut: what is safe, and some of the rest."""
    content = bytearray(file.content)
    way = chance.choice(("nothing", "all", "prefix", "sectors", "garbage"))
    if way == "nothing":
        return content
    written = file.pending if way == "all" else _some(file.pending, way, chance)
    for entry in written:
        _apply(content, entry)
    return content


def _some(pending: Sequence[Entry], way: str, chance: random.Random) -> list[Entry]:
    if way == "prefix":
        whole = chance.randint(0, len(pending))
        torn = _sectors(pending[whole]) if whole < len(pending) else []
        return [*pending[:whole], *torn[: chance.randint(0, len(torn))]]
    sectors = [sector for entry in pending for sector in _sectors(entry)]
    share = chance.random()
    kept = [sector for sector in sectors if chance.random() < share]
    if way == "sectors":
        return kept
    return [_spoilt(sector, chance) if chance.random() < 0.3 else sector for sector in kept]


def _spoilt(sector: Entry, chance: random.Random) -> Entry:
    return sector._replace(data=chance.randbytes(len(sector.data)))


def _sectors(entry: Entry) -> list[Entry]:
    """A write as the disk does it: by sectors. Bytes of a sector beside those written are never harmed."""
    if entry.kind is Kind.LENGTH:
        return [entry]
    bounds = [entry.offset, *range((entry.offset // SECTOR + 1) * SECTOR, entry.offset + len(entry.data), SECTOR)]
    ends = [*bounds[1:], entry.offset + len(entry.data)]
    return [
        entry._replace(offset=start, data=entry.data[start - entry.offset : end - entry.offset])
        for start, end in zip(bounds, ends, strict=True)
    ]
