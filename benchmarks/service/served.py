"""The service that is measured, as a process of its own: ``python -m benchmarks.service.served FILE FD``."""

import socket
import sys
from time import time
from typing import Final

import anyio
import uvicorn

from stagepost.agents import Agent, ModelRequest, ModelResponse, Token
from stagepost.checkpoint import SqliteStore
from stagepost.service import RequestLimits, create_app
from stagepost.workflows import Chain, Runner, State, step

FIRST: Final = 0.5  # seconds until the first token of an answer
WHOLE: Final = 2.0  # seconds until the answer
TOKENS: Final = 40


class Clock:
    """A model whose tokens are the times at which they were made; its answer is the time of the last one."""

    name = "clock"

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Answer after two seconds."""
        begun = anyio.current_time()
        await anyio.sleep(FIRST)
        made = f"{time():.6f} "
        for number in range(TOKENS):
            if request.on_token is not None:
                request.on_token(Token(number, made))
            due = begun + FIRST + (WHOLE - FIRST) * (number + 1) / TOKENS  # a provider does not wait for its readers
            await anyio.sleep_until(due)
            made = f"{time():.6f} "
        return ModelResponse(made)


@step
async def rest(_state: State) -> None:
    """Do nothing for as long as the measure takes."""
    await anyio.sleep_forever()


def agent() -> Agent[str]:
    """The agent that is asked."""
    return Agent("clock", prompt="Tell the time.", model=Clock())


async def main(file: str, descriptor: int) -> None:
    """Serve until the process is killed."""
    runner = Runner(SqliteStore(file), workflows=[agent(), Chain("rest", [rest])], max_running=None, grace=0)
    app = create_app(runner, limits=RequestLimits.none())
    config = uvicorn.Config(app, log_level="critical", ws="none", access_log=False)
    await uvicorn.Server(config).serve(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]))
