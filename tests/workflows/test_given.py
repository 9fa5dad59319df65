"""Keys, traces and other texts that are stored beside a run have a length."""

from typing import Any

import pytest
from tests.workflows._words import Store, running

from stagepost.checkpoint import LabelRefused
from stagepost.hub import InvalidName
from stagepost.workflows import Chain, Receive, Wait

asked = Chain("asked", [Wait("approval", expect=bool), Receive("letter")])

REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a long key": ({"key": "k" * 1001}, ValueError, "key= has 1,001 characters, and at most 1,000 are taken"),
    "a long trace": ({"trace": "t" * 5_000_000}, ValueError, "trace= has 5,000,000 characters"),
    "no Unicode": ({"key": "\ud800"}, ValueError, "key= has characters that are no Unicode"),
    "an empty key": ({"key": ""}, ValueError, "give a text that is not empty"),
    "no text": ({"trace": 7}, TypeError, "trace=7: give a text"),
    "a long id": ({"run_id": "r" * 101}, InvalidName, "use 1 to 100 of the characters"),
    "a long label": ({"labels": {"a": "v" * 201}}, LabelRefused, "1 to 200 characters"),
}


@pytest.mark.parametrize(("options", "error", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_is_too_long_is_refused_before_anything_is_stored(
    store: Store, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    async with running(store, asked) as runner:
        with pytest.raises(error, match=words):
            await runner.start(asked, **options)
        assert (await runner.runs.count()).total == 0


async def test_what_is_as_long_as_it_may_be_is_stored(store: Store) -> None:
    async with running(store, asked) as runner:
        run = await runner.start(asked, key="k" * 1000, trace="\U0001f600" * 1000)
        again = await runner.start(asked, key="k" * 1000)
        assert (again.id, (await runner.runs.info(run.id)).trace) == (run.id, "\U0001f600" * 1000)


async def test_who_answers_and_what_makes_a_signal_one_have_a_length(store: Store) -> None:
    async with running(store, asked) as runner:
        run = await runner.start(asked, run_id="r")
        await run.settled()
        with pytest.raises(ValueError, match=r"by= has 1,001 characters"):
            await runner.answer("r/approval", value=True, by="x" * 1001)
        with pytest.raises(ValueError, match=r"dedup= has 1,001 characters"):
            await runner.signal("r", "letter", dedup="x" * 1001)
        await runner.answer("r/approval", value=True, by="")
