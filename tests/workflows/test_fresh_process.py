"""A workflow that runs where nothing of anyio's has run before."""

import subprocess
import sys

PROGRAM = """
import asyncio

from stagepost.workflows import Chain, step


async def greet(state):
    return {"text": "hello"}


print(dict(asyncio.run(Chain("chain", [step("greet", greet)]).run()))["text"])
"""


def test_a_run_in_memory_needs_no_event_loop_of_anyio() -> None:
    ended = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("hello\n", "")
