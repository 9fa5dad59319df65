"""Processes that are killed while they send: every part goes out, none twice, or somebody is asked."""

import signal
from pathlib import Path

import pytest
from tests._forks import shared
from tests.service.channels._sending import Provider, answering

from stagepost.checkpoint import SqliteStore, WaitKind
from stagepost.service.channels import FileOutbox
from stagepost.workflows import Runner

ROOT = Path(__file__).parents[3]
USED = ("_channels", "_sending", "_outboxes")
PLACES = [(moment, number) for number in (1, 2, 3) for moment in ("before", "after")]


def lived(folder: Path, kind: str, dies: str, at: int = 0) -> tuple[int, str]:
    """Run a process to its end; returns its code and what it wrote."""
    forks = shared(
        "stagepost.workflows", "stagepost.checkpoint", *(f"stagepost.service.channels.{each}" for each in USED)
    )
    found = forks.run("-m", "tests.service.channels._sending", str(folder), kind, dies, str(at), cwd=ROOT)
    return found.returncode, found.stdout.strip() or found.stderr


def requests(folder: Path) -> list[str]:
    return (folder / "requests").read_text().splitlines() if (folder / "requests").exists() else []


@pytest.mark.parametrize(("moment", "number"), PLACES)
def test_a_sender_that_takes_our_id_sends_every_part_once(moment: str, number: int, tmp_path: Path) -> None:
    assert (lived(tmp_path, "ours", moment, number))[0] == -signal.SIGKILL
    assert lived(tmp_path, "ours", "never") == (0, "completed")
    sent = FileOutbox(tmp_path / "sent").sent()
    assert [delivery.part.sequence for delivery in sent] == [1, 2, 3]
    again = 1 if moment == "after" else 0  # the provider heard of it, and nobody knew: it gets the same id again
    assert len(requests(tmp_path)) == 3 + again
    assert len(set(requests(tmp_path))) == 3
    assert lived(tmp_path, "ours", "never") == (0, "completed")  # the same request once more sends nothing
    assert len(requests(tmp_path)) == 3 + again


@pytest.mark.parametrize(("moment", "number"), PLACES)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_sender_that_does_not_has_the_run_wait_for_a_person(moment: str, number: int, tmp_path: Path) -> None:
    assert (lived(tmp_path, "theirs", moment, number))[0] == -signal.SIGKILL
    assert lived(tmp_path, "theirs", "never") == (0, "waiting")
    went_out = moment == "after"
    assert len(requests(tmp_path)) == number - (not went_out)
    workflow = answering(Provider(tmp_path, takes_our_id=False, dies="never", at=0))
    async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[workflow]) as runner:
        await runner.recover()
        (doubt,) = await runner.waits(kind=WaitKind.EFFECT)
        assert doubt.name == f"part-{number}"
        assert "eight hours" in str(doubt.shown)
        if went_out:
            await runner.settle("request-1", doubt.name, value="seen by the customer")
        else:
            await runner.settle("request-1", doubt.name, retry=True)
        result = dict(await (await runner.get("request-1")).result())
    assert [each["sequence"] for each in result["sent"]] == [1, 2, 3]
    assert [line.split()[0] for line in requests(tmp_path)] == ["1", "2", "3"]
