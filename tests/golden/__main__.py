"""Make the golden store of this version: ``python -m tests.golden``; with ``--again`` though there is one."""

import sys
import tomllib
from pathlib import Path

from tests.golden._making import golden, make

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"

if __name__ == "__main__":
    version = tomllib.loads(_PROJECT.read_text())["project"]["version"]
    if golden(version).exists() and "--again" not in sys.argv[1:]:
        sys.exit(
            f"{golden(version).name} is there, and is kept for ever once {version} is released. "
            "Raise the version in pyproject.toml; or, if it is not released yet, say --again"
        )
    make(version)
    sys.stdout.write(f"{golden(version)}: {golden(version).stat().st_size} bytes\n")
