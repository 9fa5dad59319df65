"""Reading a distribution's metadata folder, whatever state it is in.

The files are read here and not by `importlib.metadata`, which raises for metadata that is not UTF-8 and, from
Python 3.12 on, leaves missing files out of its list: the ones that an audit is after.
"""

import configparser
import json
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

ABSENT = {"", "unknown", "none"}
"""What old build tools write for a field that was not given, in lower case."""


def read_text(location: Path, name: str) -> str | None:
    """Return a file of the metadata folder; undecodable bytes are replaced.

    Args:
        location: The `.dist-info` or `.egg-info`.
        name: The file's name.

    Returns:
        The text, None if the file does not exist or cannot be read.
    """
    try:
        return (location / name).read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return None


def read_headers(location: Path) -> Message | None:
    """Return the core metadata: `METADATA`, `PKG-INFO`, or the `.egg-info` if it is a file itself.

    Args:
        location: The `.dist-info` or `.egg-info`.

    Returns:
        The headers, None if there are none.
    """
    texts = (read_text(location, name) for name in ("METADATA", "PKG-INFO", ""))
    text = next((text for text in texts if text), None)
    headers = HeaderParser().parsestr(text, headersonly=True) if text else None
    return headers or None


def field(headers: Message | None, name: str) -> str | None:
    """Return one field on one line, None if it is absent or a filler such as `UNKNOWN`."""
    value = " ".join(str(headers.get(name, "")).split()) if headers else ""
    return None if value.lower() in ABSENT else value


def read_entry_points(location: Path) -> list[str] | None:
    """Return the entry points as `group: name`, sorted.

    Args:
        location: The `.dist-info` or `.egg-info`.

    Returns:
        The entry points, an empty list if there are none, None if the file cannot be parsed.
    """
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False, default_section="")
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # the documented way to keep the case
    try:
        parser.read_string(read_text(location, "entry_points.txt") or "")
    except configparser.Error:
        return None
    return sorted(_named(parser))


def _named(parser: configparser.RawConfigParser) -> Iterator[str]:
    for group in parser.sections():
        yield from (f"{group}: {name}" for name in parser.options(group))


def is_editable(location: Path) -> bool:
    """Tell whether the distribution was installed from a working tree that it still points to."""
    try:
        origin = json.loads(read_text(location, "direct_url.json") or "null")
    except (ValueError, RecursionError):
        return False
    info = origin.get("dir_info") if isinstance(origin, dict) else None
    return isinstance(info, dict) and info.get("editable") is True
