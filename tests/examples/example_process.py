"""Runs the examples of agents as their users do: a process each, without a model or with one."""

import subprocess
from pathlib import Path

from tests._forks import Forks

ROOT = Path(__file__).parents[2]


def run_example(
    forks: Forks, *command: str, cwd: Path, provider: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it, with warnings as errors.

    Args:
        forks: Starts the process.
        command: A file in the folder of examples with its arguments, or ``-m`` and a module.
        cwd: The folder to run it in.
        provider: URL of the API that the model of STAGEPOST_MODEL is asked by; None for no such model.
    """
    environment = {"COLUMNS": "300"}
    if provider is not None:
        environment |= {"STAGEPOST_MODEL": "openai/local", "OPENAI_BASE_URL": provider, "OPENAI_API_KEY": "none"}
    first, *rest = command
    line = [first, *rest] if first == "-m" else [str(ROOT / "examples" / first), *rest]
    return forks.run(*line, cwd=cwd, environment=environment)
