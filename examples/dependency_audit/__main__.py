"""Audit a Python environment, and be killed in the middle of it.

``python -m dependency_audit`` starts the audit in a process of its own, kills that with SIGKILL while distributions are
being inspected, lets a new process go on, and shows what it cost. ``--no-crash`` runs it straight through.

What is wrong is written down by rules; where STAGEPOST_MODEL names a model, such as ``openai/gpt-5-mini``, by an agent.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .environment import find_distributions, running_environment
from .errors import AuditError
from .parent import Outcome, run_job
from .policy import load_policy
from .words import counted
from .worker import Job


def main() -> int:
    """Run the command line; returns the exit code."""
    options = _parse()
    console, problems = Console(), Console(stderr=True)
    folders = [options.path] if options.path else running_environment()
    try:
        total = sum(len(find_distributions(folder)) for folder in folders)
        load_policy(options.policy) if options.policy else load_policy()
        output = Path(options.output).resolve()
        output.mkdir(parents=True, exist_ok=True)
    except (AuditError, OSError) as error:
        problems.print(f"[red]dependency audit:[/red] {error}", highlight=False, soft_wrap=True)
        return 2
    console.print(f"Auditing {counted(total, 'distribution')} in {', '.join(folders)}", highlight=False, soft_wrap=True)
    job = Job(_new_id(), folders, ", ".join(folders), str(output), options.policy)
    outcome = run_job(job, console, crash=not options.no_crash)
    return _tell(outcome, console, problems)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dependency_audit", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--path", help="a site-packages folder; by default that of this Python")
    parser.add_argument("--policy", help="a TOML file with rules; by default policy.toml beside this example")
    parser.add_argument("--output", default="audit-report", help="folder for the report and the checkpoints")
    parser.add_argument("--no-crash", action="store_true", help="run straight through")
    return parser.parse_args()


def _new_id() -> str:
    return f"audit-{time.time_ns() // 1_000_000:x}"


def _tell(outcome: Outcome, console: Console, problems: Console) -> int:
    if outcome.report is None:
        problems.print(f"[red]dependency audit:[/red] {outcome.workers[-1].complaint}", highlight=False, soft_wrap=True)
        return 1
    table = Table(show_header=False, box=None)
    for fact, value in _facts(outcome):
        table.add_row(fact, value)
    console.print(table)
    console.print(f"The report is in {outcome.report}", highlight=False, soft_wrap=True)
    return 0


def _facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    last = outcome.workers[-1]
    yield "distributions inspected", str(last.total)
    if len(outcome.workers) == 1:
        yield "killed", "no"
        return
    yield "inspections saved before SIGKILL", str(last.found)
    yield "inspections run again", f"{outcome.again} (those under way at the kill)"
    if last.first_step is not None:
        yield "new process to first new result", f"{last.first_step * 1000:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
