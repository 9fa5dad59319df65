"""The transcripts of docs/supervisor.md are what the service of the page answers to curl."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests._needs import need

need("uvicorn", "starlette")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "supervisor.md").read_text()
SERVICE = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TRANSCRIPTS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def answered(command: str, address: str, folder: Path) -> str:
    """What a command prints, once the service answers."""
    there = command.replace("localhost:8000", address)
    done = await anyio.run_process(["bash", "-c", there], cwd=folder, check=False)
    return done.stdout.decode()


def shown(text: str) -> re.Pattern[str]:
    """A text in which … stands for anything within a line."""
    return re.compile("[^\n]*".join(map(re.escape, text.split("…"))))


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
async def test_the_transcripts_are_what_the_service_answers(tmp_path: Path) -> None:
    assert SERVICE is not None
    assert len(TRANSCRIPTS) == 4
    (tmp_path / "service.py").write_text(SERVICE[1])
    with socket.create_server(("127.0.0.1", 0)) as listener, anyio.fail_after(60):
        process = subprocess.Popen(  # noqa: ASYNC220  # it goes on while this waits
            [sys.executable, "-m", "uvicorn", "service:app", "--fd", str(listener.fileno()), "--log-level", "error"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *map(str, map(ROOT.joinpath, ROOTS))])},
            pass_fds=[listener.fileno()],
        )
        try:
            address = f"localhost:{listener.getsockname()[1]}"
            for command, output in TRANSCRIPTS:
                text = await answered(command, address, tmp_path)
                assert shown(output.strip("\n")).fullmatch(text.strip("\n")), f"{command}\n{text}"
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


ROOTS = ("hub", "checkpoint", "workflows", "agents", "service")
