"""The command ``stagepost``, also as ``python -m stagepost.service``."""

import sys
from typing import Final

_PACKAGES: Final = frozenset({"rich", "typer"})  # what the extra `cli` brings
_USAGE: Final = 2


def main() -> None:
    """Run the command, or say what it needs."""
    try:
        from ._cli._main import run  # noqa: PLC0415  # what it needs may be missing
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        sys.stderr.write(f"{needed(error.name)}\n")
        sys.exit(_USAGE)
    run()


def needed(package: str) -> str:
    """What to install for the command, by a package that it lacks."""
    from stagepost._installing import how_to_install  # noqa: PLC0415  # only if something is missing

    return f"the command stagepost needs {package}, which is not installed: {how_to_install('cli')}"


if __name__ == "__main__":
    main()
