"""The inspector: everything that the disk tells about one distribution."""

import re
from collections.abc import Iterator
from email.message import Message
from pathlib import Path, PurePosixPath

from .files import FileList, check_files, list_files
from .licences import read_licence
from .metadata import field, is_editable, read_entry_points, read_headers, read_text
from .models import Distribution, Inspection

VENDORED = {"_vendor", "_vendored", "vendor"}
"""Folders with copies of other distributions, whose typing says nothing about this one."""


def inspect(distribution: Distribution) -> Inspection:
    """Look at one distribution's metadata and at all its files.

    Reads and hashes every file it has a hash for: blocking work, to be run in a thread. Nothing is imported
    or executed. Broken metadata, missing and unreadable files are results and never errors.

    Args:
        distribution: What the inventory found.

    Returns:
        The same value for the same files, whatever order the file system lists them in.
    """
    location = Path(distribution.metadata_path)
    headers, listed, entry_points = read_headers(location), list_files(location), read_entry_points(location)
    check = check_files(location.parent, listed.files)
    paths = [PurePosixPath(file.path) for file in listed.files]
    return Inspection(
        **distribution.model_dump(),
        licence=read_licence(headers),
        requires_python=field(headers, "Requires-Python"),
        entry_points=entry_points or [],
        editable=is_editable(location),
        native=any(_is_native(path) for path in paths),
        typed=any(_shows_typing(path) for path in paths),
        size_bytes=check.size,
        file_count=check.count,
        verified_count=check.verified,
        file_source=listed.source,
        missing_files=check.missing,
        changed_files=check.changed,
        unreadable_files=check.unreadable,
        problems=list(_problems(location, headers, listed, entry_points)),
    )


def _is_native(path: PurePosixPath) -> bool:
    return re.search(r"\.(so(\.\d+)*|pyd|dylib)$", path.name) is not None


def _shows_typing(path: PurePosixPath) -> bool:
    if any(part.endswith("-stubs") for part in path.parts[:1]):
        return True
    return path.name == "py.typed" and VENDORED.isdisjoint(path.parts)


def _problems(
    location: Path, headers: Message | None, listed: FileList, entry_points: list[str] | None
) -> Iterator[str]:
    wheel = location.name.lower().endswith(".dist-info")
    core = "METADATA" if wheel else "PKG-INFO"
    if headers is None:
        yield f"{core} is missing or empty"
    elif not (field(headers, "Name") and field(headers, "Version")):
        yield f"{core} has no name or no version"
    if listed.source != "RECORD" and read_text(location, "RECORD") is not None:
        yield "RECORD is empty or cannot be parsed"
    if entry_points is None:
        yield "entry_points.txt cannot be parsed"
