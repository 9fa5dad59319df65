"""Sending all parts: retries send what is missing, whoever is asked again gets the same id."""

import io
from pathlib import Path
from typing import Any

import pytest

from stagepost.checkpoint import MemoryStore, WaitKind
from stagepost.service.channels import (
    Channels,
    ConsoleOutbox,
    FileOutbox,
    FormattedResponse,
    NoSender,
    NotSent,
    OutgoingPart,
    Reply,
    Sender,
    send_all,
    send_parts,
)
from stagepost.workflows import Chain, Parallel, Retry, RunFailed, Runner, StepContext

LONG = Channels().format("sms", Reply(text="You worked eight hours that day. " * 106))
SHORT = Channels().format("email", Reply(text="# Your week\n\n**32** hours"))


class Unsteady:
    """Fails at given attempts, with given errors."""

    def __init__(self, *, takes_our_id: bool, errors: dict[int, Exception]) -> None:
        self.takes_our_id = takes_our_id
        self.errors = errors
        self.attempts: list[OutgoingPart] = []

    async def send(self, delivery: OutgoingPart) -> str:
        self.attempts.append(delivery)
        error = self.errors.pop(len(self.attempts), None)
        if error is not None:
            raise error
        return f"R-{delivery.part.sequence}"

    @property
    def numbers(self) -> list[int]:
        return [each.part.sequence for each in self.attempts]


def answering(senders: dict[str, Sender], response: FormattedResponse = LONG, retry: Retry | None = None) -> Any:
    return Chain(
        "answer", [send_parts("send", senders, response=lambda _: response, to=lambda state: state["to"], retry=retry)]
    )


@pytest.mark.parametrize("takes_our_id", [True, False])
async def test_a_retry_sends_the_missing_parts_only(takes_our_id: bool) -> None:  # noqa: FBT001  # a table
    sender = Unsteady(takes_our_id=takes_our_id, errors={2: NotSent("refused"), 3: NotSent("refused")})
    workflow = answering({"sms": sender}, retry=Retry(attempts=3, first=0, jitter=0))
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        result = dict(await (await runner.start(workflow, {"to": "+49"}, run_id="r")).result())
    assert sender.numbers == [1, 2, 2, 2, 3]
    assert len({each.id for each in sender.attempts}) == 3
    assert [each["receipt"] for each in result["sent"]] == ["R-1", "R-2", "R-3"]
    assert {(each.to, each.parts, each.channel) for each in sender.attempts} == {("+49", 3, "sms")}


async def test_a_run_that_is_resumed_sends_the_missing_parts_only() -> None:
    sender = Unsteady(takes_our_id=True, errors={2: TimeoutError("no answer")})
    workflow = answering({"sms": sender})
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        run = await runner.start(workflow, {"to": "+49"}, run_id="r")
        with pytest.raises(RunFailed):
            await run.result()
        await (await runner.resume("r")).result()
    assert sender.numbers == [1, 2, 2, 3]
    assert sender.attempts[1].id == sender.attempts[2].id


async def test_an_unknown_outcome_waits_for_a_person_where_our_id_is_not_taken() -> None:
    sender = Unsteady(takes_our_id=False, errors={2: TimeoutError("no answer")})
    workflow = answering({"sms": sender}, retry=Retry(attempts=3, first=0, jitter=0))
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        run = await runner.start(workflow, {"to": "+49"}, run_id="r")
        assert await run.settled() == "waiting"
        (doubt,) = await runner.waits(kind=WaitKind.EFFECT)
        await runner.settle("r", doubt.name, value="R-2, says the provider's page")
        result = dict(await run.result())
    assert sender.numbers == [1, 2, 3]
    assert result["sent"][1]["receipt"] == "R-2, says the provider's page"


async def test_each_item_of_a_fan_out_has_ids_of_its_own() -> None:
    sender = Unsteady(takes_our_id=True, errors={})

    async def send(item: str, context: StepContext) -> int:
        return len(await send_all(context, LONG, to=item, senders={"sms": sender}))

    workflow: Any = Chain("all", [Parallel("out", send, over="to")])
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        result = dict(await (await runner.start(workflow, {"to": ["a", "b"]}, run_id="r")).result())
    assert result["out"] == [3, 3]
    assert len({each.id for each in sender.attempts}) == 6


async def test_a_run_in_memory_sends_too() -> None:
    sender = Unsteady(takes_our_id=True, errors={})
    result = dict(await answering({"sms": sender}).run({"to": "+49"}))
    assert len(result["sent"]) == 3


async def test_a_channel_without_a_sender_is_an_error() -> None:
    with pytest.raises(Exception, match="no sender is given for the channel 'email'; given: sms") as found:
        await answering({"sms": ConsoleOutbox()}, SHORT).run({"to": "ann"})
    assert isinstance(found.value.__cause__, NoSender)


def delivery(response: FormattedResponse) -> OutgoingPart:
    return OutgoingPart(
        id="id-1", channel=response.channel, to="ann", part=response.parts[0], parts=len(response.parts)
    )


async def test_a_file_is_there_once_however_often_it_is_sent(tmp_path: Path) -> None:
    outbox = FileOutbox(tmp_path / "outbox")
    assert [await outbox.send(delivery(SHORT)) for _ in range(2)] == ["id-1.json", "id-1.json"]
    assert outbox.sent() == [delivery(SHORT)]


async def test_a_file_that_cannot_be_written_was_not_sent(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("no folder")
    with pytest.raises(NotSent, match="the part was not sent: "):
        await FileOutbox(tmp_path / "outbox").send(delivery(SHORT))


async def test_a_terminal_shows_subject_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    assert await ConsoleOutbox(stream).send(delivery(SHORT)) == "id-1"
    assert stream.getvalue() == "--- email to ann, 1 of 1\nSubject: Your week\nYour week\n\n32 hours\n"
    await ConsoleOutbox().send(delivery(LONG))
    assert capsys.readouterr().out.startswith("--- sms to ann, 1 of 3\nYou worked")
