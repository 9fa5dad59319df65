"""Which files belong to a distribution, and whether they are still what was installed."""

import base64
import csv
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .metadata import read_text
from .models import FileSource

CACHE = "__pycache__"
ALGORITHMS = {name for name in hashlib.algorithms_guaranteed if not name.startswith("shake_")}
"""Algorithms that every Python has; the shake family has no length of its own and cannot be recorded."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a distribution; `path` is relative to the environment's folder, with slashes."""

    path: str
    algorithm: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a distribution, without caches, and how they became known."""

    source: FileSource
    files: list[ListedFile]


@dataclass(slots=True)
class FileCheck:
    """What looking at every listed file on disk has told."""

    size: int = 0
    count: int = 0
    verified: int = 0
    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def list_files(location: Path) -> FileList:
    """List a distribution's files from the best source that it has.

    Args:
        location: Its `.dist-info` or `.egg-info`.

    Returns:
        The files, sorted by path, each once, without those under `__pycache__`.
    """
    sources: tuple[tuple[FileSource, Iterable[ListedFile]], ...] = (
        ("RECORD", _recorded(location)),
        ("installed-files.txt", _installed(location)),
        ("top_level.txt", _under_top_level(location)),
    )
    for source, files in sources:
        unique = {file.path: file for file in files if CACHE not in PurePosixPath(file.path).parts}
        if unique:
            return FileList(source, [unique[path] for path in sorted(unique)])
    return FileList("metadata", sorted(_walked(location.parent, location), key=lambda file: file.path))


def check_files(folder: Path, files: Iterable[ListedFile]) -> FileCheck:
    """Measure every file and compare it with its recorded hash.

    A file without a hash, or with one of an unknown algorithm, is measured and not compared. Contents are
    read in chunks. Only regular files are opened, since a list may name anything.

    Args:
        folder: The environment's folder, which the paths are relative to.
        files: The files.
    """
    check = FileCheck()
    for file in files:
        _check(check, folder, file)
    return check


def _check(check: FileCheck, folder: Path, file: ListedFile) -> None:
    path = Path(os.path.normpath(folder / file.path))
    size = _regular_size(path)
    if size is None:
        check.missing.append(file.path)
        return
    check.size += size
    check.count += 1
    if file.algorithm not in ALGORITHMS or not file.digest:
        return
    digest = _digest(path, file.algorithm)
    if digest is None:
        check.unreadable.append(file.path)
        return
    check.verified += 1
    if digest != file.digest.rstrip("="):
        check.changed.append(file.path)


def _regular_size(path: Path) -> int | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # a list may hold names that no file system takes
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _digest(path: Path, algorithm: str) -> str | None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, algorithm).digest()
    except OSError:
        return None
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _recorded(location: Path) -> list[ListedFile]:
    """Read RECORD: path, `algorithm=digest` in urlsafe base64 without padding, size."""
    try:
        rows = list(csv.reader(io.StringIO(read_text(location, "RECORD") or "", newline="")))
    except csv.Error:
        return []
    return [_listed(*row[:2]) for row in rows if row and row[0]]


def _listed(path: str, checksum: str = "") -> ListedFile:
    algorithm, _, digest = checksum.partition("=")
    return ListedFile(path, algorithm.lower(), digest)


def _installed(location: Path) -> Iterator[ListedFile]:
    """Read the list that `setup.py install --record` left: paths relative to the `.egg-info`."""
    for line in (read_text(location, "installed-files.txt") or "").splitlines():
        if line.strip():
            yield ListedFile(os.path.normpath(f"{location.name}/{line.strip()}"))


def _under_top_level(location: Path) -> Iterator[ListedFile]:
    """Guess the files from the names that can be imported, as distributions of Linux systems need it."""
    names = (read_text(location, "top_level.txt") or "").split()
    modules = {name for name in names if re.fullmatch(r"[\w-]+", name)}
    if modules:
        yield from _walked(location.parent, location)
    for entry in location.parent.iterdir() if modules else ():
        if entry.name.split(".")[0] in modules and not entry.name.lower().endswith(("-info", ".pth")):
            yield from _walked(location.parent, entry)


def _walked(folder: Path, start: Path) -> Iterator[ListedFile]:
    if start.is_file():
        yield ListedFile(start.relative_to(folder).as_posix())
    for parent, folders, names in os.walk(start):
        folders[:] = [name for name in folders if name != CACHE]
        yield from (ListedFile((Path(parent) / name).relative_to(folder).as_posix()) for name in names)
