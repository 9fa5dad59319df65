"""The inventory: which distributions are installed in a folder."""

import re
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from .errors import NotAnEnvironment
from .metadata import field, read_headers
from .models import Distribution

SUFFIXES = (".dist-info", ".egg-info")
"""How the metadata of an installed distribution is named."""


def normalised(name: str) -> str:
    """Return the form in which two spellings of one distribution's name are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def running_environment(paths: Mapping[str, str] | None = None) -> list[str]:
    """Return the folders that a Python installs into: one, or two where compiled libraries are kept apart.

    Args:
        paths: Its installation paths by their `sysconfig` names; None means the running Python's.
    """
    paths = sysconfig.get_paths() if paths is None else paths
    folders = {str(Path(paths[key]).resolve()) for key in ("purelib", "platlib")}
    return sorted(folder for folder in folders if _is_in_use(folder)) or sorted(folders)


def find_distributions(path: str | Path) -> list[Distribution]:
    """Return what is installed in exactly this folder.

    Args:
        path: A site-packages folder.

    Returns:
        The distributions, sorted by normalised name. Those with broken metadata are among them, under the
        name that their folder carries.

    Raises:
        NotAnEnvironment: The path does not exist, is no folder, cannot be read, or holds no distribution.
    """
    return _with_twins(_identified(entry) for entry in _entries(path))


def _entries(path: str | Path) -> list[Path]:
    try:
        entries = _metadata_of(path)
    except FileNotFoundError as error:
        raise NotAnEnvironment(path, "does not exist") from error
    except NotADirectoryError as error:
        raise NotAnEnvironment(path, "is not a folder") from error
    except (OSError, ValueError) as error:
        raise NotAnEnvironment(path, "cannot be read") from error
    if not entries:
        raise NotAnEnvironment(path, _why_empty(Path(path)))
    return entries


def _metadata_of(folder: str | Path) -> list[Path]:
    return [entry for entry in Path(folder).resolve().iterdir() if entry.name.lower().endswith(SUFFIXES)]


def _is_in_use(folder: str) -> bool:
    try:
        return bool(_metadata_of(folder))
    except OSError:
        return False


def _why_empty(folder: Path) -> str:
    inner = [*sorted(folder.glob("lib/python3*/site-packages")), *folder.glob("Lib/site-packages")]
    return "holds no installed distribution" + (f" (did you mean {str(inner[0])!r}?)" if inner else "")


def _identified(entry: Path) -> Distribution:
    """Name the distribution by its metadata, else by its folder: `name-version[-tag].suffix`."""
    headers = read_headers(entry)
    parts = entry.name.rpartition(".")[0].split("-")
    return Distribution(
        name=field(headers, "Name") or parts[0] or "unknown",
        version=field(headers, "Version") or (parts[1] if len(parts) > 1 else "unknown"),
        metadata_path=str(entry),
    )


def _with_twins(found: Iterable[Distribution]) -> list[Distribution]:
    alike: defaultdict[str, list[Distribution]] = defaultdict(list)
    for one in sorted(found, key=lambda one: (normalised(one.name), one.version, one.metadata_path)):
        alike[normalised(one.name)].append(one)
    return [
        one.model_copy(update={"twins": [other.metadata_path for other in group if other is not one]})
        for group in alike.values()
        for one in group
    ]
