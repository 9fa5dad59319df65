"""Runs the examples of agents as their users do: a process each, without a model or with one."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_example(*command: str, cwd: Path, provider: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run it, with warnings as errors.

    Args:
        command: A file in the folder of examples with its arguments, or ``-m`` and a module.
        cwd: The folder to run it in.
        provider: URL of the API that the model of STAGEPOST_MODEL is asked by; None for no such model.
    """
    paths = [str(ROOT / part) for part in ("hub", "checkpoint", "workflows", "agents", "examples")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "300"}
    if provider is not None:
        environment |= {"STAGEPOST_MODEL": "openai/local", "OPENAI_BASE_URL": provider, "OPENAI_API_KEY": "none"}
    first, *rest = command
    line = [first, *rest] if first == "-m" else [str(ROOT / "examples" / first), *rest]
    return subprocess.run(
        [sys.executable, "-W", "error", *line],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
