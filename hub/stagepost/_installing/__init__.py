"""How to install an extra: a command that works for the way in which the package itself was installed."""

import json
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from stagepost._dataclasses import dataclass

_NAME: Final = "stagepost"
_RECEIPT: Final = "uv-receipt.toml"  # in the environment of a tool of uv
_METADATA: Final = "pipx_metadata.json"  # in one of pipx


@dataclass(frozen=True, slots=True)
class Installation:
    """What is known of how the package was installed.

    Attributes:
        direct_url: What it was installed from, if that was no index: the content of ``direct_url.json``, see PEP 610.
        source: The checkout that it is imported from without being installed.
        installer: What has installed it: ``pip``, ``uv`` or another one.
        python: The interpreter.
        prefix: Its environment.
        has_pip: Whether that has pip.
    """

    direct_url: Mapping[str, Any] | None
    source: Path | None
    installer: str
    python: str
    prefix: Path
    has_pip: bool

    @classmethod
    def here(cls) -> Self:
        """That of this process."""
        direct_url, installer, source = None, "", None
        try:
            known = distribution(_NAME)
        except PackageNotFoundError:
            source = Path(__file__).resolve().parents[3]
        else:
            text = known.read_text("direct_url.json")
            direct_url = None if text is None else json.loads(text)
            installer = (known.read_text("INSTALLER") or "").strip()
        return cls(direct_url, source, installer, sys.executable, Path(sys.prefix), find_spec("pip") is not None)

    def command(self, extra: str) -> str:
        """What to type to get an extra."""
        what = self._arguments(f"{_NAME}[{extra}]")
        if (self.prefix / _METADATA).exists():
            return f"pipx inject {self.prefix.name} {shlex.quote(what[-1])}"
        if (self.prefix / _RECEIPT).exists():
            return f"uv tool install {self.prefix.name} --with {shlex.quote(what[-1])}"
        by_uv = self.installer == "uv" or not self.has_pip
        how = ["uv", "pip", "install", "--python", self.python] if by_uv else [self.python, "-m", "pip", "install"]
        return shlex.join([*how, *what])

    def _arguments(self, requirement: str) -> list[str]:
        extra = requirement.removeprefix(_NAME)
        if self.source is not None:
            return ["-e", f"{self.source}{extra}"]
        if self.direct_url is None:
            return [requirement]
        url = self.direct_url["url"]
        if "dir_info" in self.direct_url:
            folder = f"{unquote(urlsplit(url).path)}{extra}"
            return ["-e", folder] if self.direct_url["dir_info"].get("editable") else [folder]
        return [f"{requirement} @ {_reference(self.direct_url)}"]


def installed_version() -> str:
    """The version of the package; ``unknown`` if it is imported from a checkout without being installed."""
    try:
        return version(_NAME)
    except PackageNotFoundError:
        return "unknown"


def how_to_install(extra: str) -> str:
    """The command that installs an extra beside what this process imports."""
    return Installation.here().command(extra)


def _reference(direct_url: Mapping[str, Any]) -> str:
    """An archive's or a repository's address, as requirements have it."""
    url, vcs = direct_url["url"], direct_url.get("vcs_info")
    folder = f"#subdirectory={direct_url['subdirectory']}" if "subdirectory" in direct_url else ""
    if vcs is None:
        return f"{url}{folder}"
    return f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}{folder}"
