"""An agent with a real MCP server, and a commit that somebody has to allow, whatever becomes of the process meanwhile.

``python examples/git_steward.py`` is the demo: it makes a repository with a change in it, and starts the agent in a
process that is killed with SIGKILL while it waits for an answer. A second process finds the question, and answers it.

To play it yourself, one process at a time::

    python examples/git_steward.py work FOLDER
    python examples/git_steward.py work FOLDER --allow
    python examples/git_steward.py work FOLDER --allow --message "Words of my own"
    python examples/git_steward.py work FOLDER --deny "not on a Friday"

Needs git, and ``pip install mcp-server-git``.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from getpass import getuser
from pathlib import Path

import anyio
from offline import example_model
from offline.scripts import tidy as script
from rich.console import Console

from stagepost.agents import Agent, Allow, Decision, Deny, McpServer, Model, PendingApproval, Tasks
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import ExtraMissing, Run, RunFailed, Runner

SERVER = (sys.executable, "-m", "mcp_server_git")
TOOLS = ("git_status", "git_diff*", "git_log", "git_add", "git_commit")

console = Console(highlight=False, soft_wrap=True)


def git_steward(model: Model, repository: Path) -> Agent[str]:
    """The agent: it may do what it likes, but for commits."""
    git = McpServer.stdio(*SERVER, "--repository", str(repository), name="git", include=TOOLS)
    return Agent(
        "steward",
        prompt=f"Commit what has changed, with a message that says why. Your repository is {repository}\n",
        model=model,
        tools=[git],
        approvals=["git_commit"],
    )


async def work(options: argparse.Namespace) -> None:
    """Start the run, or go on with it, as far as it gets."""
    repository = make_repository(options.folder.resolve())
    async with example_model(script) as model, SqliteStore(options.folder / "runs.db") as store:
        steward = git_steward(model, repository)
        async with Runner(store, workflows=[steward]) as runner:
            await runner.recover()
            tasks = Tasks(runner)
            run = await tasks.start(steward, "Tidy up.", task_id="tidy-up")
            if await run.settled() is RunStatus.WAITING:
                await face(await tasks.approvals(), tasks, options)
            await tell(run)


async def face(approvals: Sequence[PendingApproval], tasks: Tasks, options: argparse.Namespace) -> None:
    """Show what waits for an answer, and give one, if there is one on the command line."""
    for approval in approvals:
        console.print(f"  {approval.agent} asks whether it may call {approval.tool}: {approval.arguments}")
        if options.die:
            os.kill(os.getpid(), signal.SIGKILL)
        decision = decided(approval, options)
        if decision is not None:
            await tasks.decide(approval.id, decision, by=getuser())


def decided(approval: PendingApproval, options: argparse.Namespace) -> Decision | None:
    """What the command line says; None if it says nothing."""
    if options.deny is not None:
        return Deny(reason=options.deny)
    if not options.allow:
        return None
    edited = None if options.message is None else {**approval.arguments, "message": options.message}
    return Allow(arguments=edited)


async def tell(run: Run) -> None:
    """Say what has become of the run, as soon as nothing of it goes on."""
    if await run.settled() is RunStatus.WAITING:
        console.print("  nobody has answered: the process ends, the question stays. Answer with --allow or --deny WHY")
    else:
        state = await run.result()
        console.print(f"  steward: {state['output']}")


def make_repository(folder: Path) -> Path:
    """A repository with a change that nobody has committed; the one that is there, if there is one."""
    repository = folder / "repository"
    if not repository.exists():
        repository.mkdir(parents=True)
        git(repository, "init", "--quiet")
        git(repository, "config", "user.name", "Steward")
        git(repository, "config", "user.email", "steward@example.org")
        notes = repository / "notes.txt"
        notes.write_text("the tide goes\n")
        git(repository, "add", "notes.txt")
        git(repository, "commit", "--quiet", "--message", "Begin with notes")
        notes.write_text("the tide goes\nthe tide comes\n")
    return repository


def git(repository: Path, *words: str) -> str:
    """Ask git."""
    command = ["git", "-C", str(repository), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  # whichever git


def demo() -> int:
    """Be killed while somebody thinks, and go on; returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        console.print("an agent is to tidy up a repository")
        first = _process(folder, "--die")
        console.print(f"its process has ended with {first}; another one finds the question, and answers it")
        second = _process(folder, "--allow", "--message", "Note when the tide comes, as was decided")
        console.print(git(Path(folder) / "repository", "log", "--format=  %s"), end="")
        return second


def _process(folder: str, *options: str) -> int:
    return subprocess.run([sys.executable, __file__, "work", folder, *options], check=False).returncode  # noqa: S603  # ours


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="git_steward", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    working = commands.add_parser("work", help="one process of it; without a command it is the demo")
    working.add_argument("folder", type=Path, help="where repository and run are kept")
    working.add_argument("--allow", action="store_true", help="let it call the tool that it asks for")
    working.add_argument("--message", help="instead of the message that it has written")
    working.add_argument("--deny", metavar="WHY", help="do not let it")
    working.add_argument("--die", action="store_true", help="SIGKILL itself while the question is open")
    options = parser.parse_args()
    if options.command is None:
        return demo()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        anyio.run(work, options)
    except (ExtraMissing, RunFailed) as error:
        print(f"git steward: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
