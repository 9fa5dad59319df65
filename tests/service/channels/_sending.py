"""Run by test_sending_killed.py: sends an answer in three parts, and is killed at a place.

``python -m tests.service.channels._sending FOLDER ours|theirs before|after|never NUMBER``
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.service.channels import Channels, FileOutbox, FormattedResponse, OutgoingPart, Reply, send_parts
from stagepost.workflows import Chain, Runner

TEXT = "You worked eight hours on the website that day. " * 80


class Provider:
    """Writes each request down, as a provider would bill it, and dies at a place."""

    def __init__(self, folder: Path, *, takes_our_id: bool, dies: str, at: int) -> None:
        self.takes_our_id = takes_our_id
        self._folder = folder
        self._outbox = FileOutbox(folder / "sent")
        self._dies, self._at = dies, at

    async def send(self, delivery: OutgoingPart) -> str:
        self._die("before", delivery)
        with (self._folder / "requests").open("a") as file:
            file.write(f"{delivery.part.sequence} {delivery.id}\n")
        receipt = await self._outbox.send(delivery) if self.takes_our_id else delivery.id
        self._die("after", delivery)
        return receipt

    def _die(self, moment: str, delivery: OutgoingPart) -> None:
        if self._dies == moment and delivery.part.sequence == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def answering(provider: Provider) -> Chain:
    """A workflow that formats an answer, and sends it."""

    async def form(state: dict[str, Any]) -> dict[str, Any]:
        return {"response": Channels().format("sms", Reply(text=TEXT)).model_dump()}

    sending = send_parts(
        "send",
        {"sms": provider},
        response=lambda state: FormattedResponse.model_validate(state["response"]),
        to=lambda _: "+49 30 1234",
    )
    return Chain("answer", [form, Chain("out", [sending])])


async def main(folder: Path, kind: str, dies: str, at: int) -> None:
    workflow = answering(Provider(folder, takes_our_id=kind == "ours", dies=dies, at=at))
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[workflow]) as runner:
        await runner.recover()
        run = await runner.start(workflow, {}, run_id="request-1")
        print(await run.settled(), flush=True)  # noqa: T201  # the test reads it


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
