"""The timesheet assistant, as its users meet it: each path of an answer, offline."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest
from tests._forks import Forks
from tests.examples.example_process import run_example
from timesheet_assistant.backend import Failures
from timesheet_assistant.core import Core, Options, models_of, open_core
from timesheet_assistant.data import entries_of
from timesheet_assistant.local.planning import period_in
from timesheet_assistant.terminal import Talk

from stagepost.agents import Cached
from stagepost.checkpoint import WaitKind
from stagepost.hub import Hub
from stagepost.service.assistant import AssistantRequest, AssistantResult, StageBudgets, User, date_range

PATIENT = StageBudgets.of(60)  # on a busy machine, too


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(folder: Path, **options: Any) -> AsyncIterator[Core]:
    async with open_core(Options(folder, model=None, **{"budgets": PATIENT, **options})) as core:
        yield core


async def ask(core: Core, message: str, channel: str = "sms", user: str = "ada", **given: Any) -> AssistantResult:
    return await core.ask(user, message, channel=channel, conversation_id=user, **given)


def failed(result: AssistantResult) -> list[list[str]]:
    return [[criterion.id for criterion in scorecard.failed()] for scorecard in result.scorecards]


async def test_check_my_timesheet_by_sms_fails_its_format_is_refined_and_goes_out_plain(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        result = await ask(core, "Check my timesheet")
        (delivery,) = core.deliveries("ada")
    assert failed(result) == [["sms_format"], []]
    text = delivery.part.content
    assert "32 of 40 hours" in text
    assert "this week" in text
    assert len(text) < 1600
    assert not set("*#|") & set(text)
    assert result.validation_passed
    assert [warning.partition(":")[0] for warning in result.metadata.warnings] == ["lovely", "short"]


async def test_no_entries_are_said_to_be_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        result = await ask(core, "Check my timesheet", user="maria")
    assert "no entries" in result.formatted_response.text
    assert result.validation_passed


async def test_a_refinement_that_is_still_bad_ends_in_an_apology(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        core.failures.refiner_stubborn = True
        result = await ask(core, "Check my timesheet")
        assert len(core.deliveries("ada")) == 1
        assert len(core.logged) == 1
    assert result.graceful_failure
    assert failed(result) == [["sms_format"], ["sms_format"]]


@pytest.mark.parametrize(
    ("failure", "apology", "reason"),
    [
        ("data_down", True, "the timesheet service does not answer"),
        ("composer_down", True, "the local model was switched off"),
        ("planner_slow", True, "has not answered within 0.1 s"),
        ("judge_down", False, "the judge has failed"),
    ],
)
async def test_whatever_is_switched_off_an_answer_goes_out(
    tmp_path: Path,
    failure: str,
    apology: bool,  # noqa: FBT001  # of a table
    reason: str,
) -> None:
    quick = {"analyze": 0.1} if failure == "planner_slow" else {}
    async with opened(tmp_path, budgets=PATIENT.model_copy(update=quick)) as core:
        setattr(core.failures, failure, True)
        result = await ask(core, "What have I worked on today?", "whatsapp")
        assert len(core.deliveries("ada")) == 1
    assert result.graceful_failure is apology
    assert reason in str(result.metadata.reason)


async def test_what_cannot_be_sent_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        core.failures.sender_down = True
        result = await ask(core, "hello")
        assert core.deliveries("ada") == []
    assert not result.metadata.delivered


async def test_a_long_sms_has_three_parts(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        result = await ask(core, "List all entries of last month")
        parts = [delivery.part.content for delivery in core.deliveries("ada")]
    assert [part[-5:] for part in parts] == ["(1/3)", "(2/3)", "(3/3)"]
    assert result.validation_passed


@pytest.mark.parametrize("path", ["pipeline", "single"])
async def test_whoever_gets_a_summary_and_replies_email_gets_the_whole_by_mail(tmp_path: Path, path: Any) -> None:
    async with opened(tmp_path) as core:
        none = await ask(core, "EMAIL")
        short = await ask(core, "List all entries from 2020-01-01 to 2099-12-31", path=path)
        whole = await ask(core, "email.", request_id="mail", path=path)
        again = await ask(core, "email.", request_id="mail", path=path)
        after = await ask(core, "EMAIL")
        deliveries = core.deliveries("ada")
    assert (none.channel, after.channel) == ("sms", "sms")
    assert short.formatted_response.metadata.is_summary
    assert "Reply EMAIL" in short.formatted_response.text
    assert (whole.channel, again) == ("email", whole)
    assert whole.formatted_response.text.count("On that day you") == 40
    assert [each.to for each in deliveries if each.channel == "email"] == ["email:ada"]


async def test_limits_of_channels_may_be_edited_while_it_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        (tmp_path / "channels.yaml").write_text("channels: {sms: {max_parts: 1}}\n")
        core.limits.reread()
        result = await ask(core, "List all entries of last month")
        assert core.limits.problem is None
    assert result.formatted_response.metadata.is_summary


async def test_verdicts_of_a_providers_model_are_kept_for_the_tenant() -> None:
    models = models_of(Options(Path(), model="openai/gpt-5", small_model="openai/gpt-5-mini"), Failures())
    assert isinstance(models["quality"], Cached)
    assert (models["planner"], models["data"]) == ("openai/gpt-5", "openai/gpt-5-mini")


async def test_a_follow_up_is_about_the_right_days(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        await ask(core, "What did I do today?")
        result = await ask(core, "And what about yesterday?", "email")
    day = date_range("yesterday", now=datetime.now(UTC), time_zone="Europe/Oslo").first
    assert f"{day}" in result.formatted_response.text
    assert result.channel == "email"


async def test_two_messages_at_once_are_answered_in_order(tmp_path: Path) -> None:
    async with opened(tmp_path) as core, anyio.create_task_group() as group:
        group.start_soon(ask, core, "What did I do today?")
        group.start_soon(ask, core, "And last week?")
    assert [("today" in text) for text in texts(core)] == [True, False]


def texts(core: Core) -> Sequence[str]:
    return [delivery.part.content for delivery in core.outbox.sent()]


async def test_today_is_that_of_the_user() -> None:
    late = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
    days = {zone: date_range("today", now=late, time_zone=zone).first.day for zone in ("Asia/Tokyo", "UTC")}
    assert days == {"Asia/Tokyo": 1, "UTC": 31}
    assert late.astimezone(ZoneInfo("Asia/Tokyo")).day == 1


def test_periods_are_read_from_words() -> None:
    assert period_in("from 2026-11-02 to 2026-11-06") == "2026-11-02:2026-11-06"
    assert period_in("and the projects?", ["How was last month?"]) == "last_month"
    assert period_in("Check my timesheet", ["How was last month?"]) == "this_week"


async def test_an_entry_is_deleted_only_after_somebody_has_approved_it(tmp_path: Path) -> None:
    today = date_range("today", now=datetime.now(UTC), time_zone="Europe/Oslo").first
    entry = entries_of("ada", today)[0].id
    async with opened(tmp_path) as core, anyio.create_task_group() as group:
        group.start_soon(ask, core, f"Please delete {entry}")
        with anyio.fail_after(30):
            while not (waits := await core.runner.waits(kind=WaitKind.ANSWER)):  # noqa: ASYNC110  # nobody rings here
                await anyio.sleep(0.01)
            from stagepost.agents import Allow, Tasks

            (approval,) = await Tasks(core.runner).approvals()
            assert approval.id in {wait.id for wait in waits}
            await Tasks(core.runner).decide(approval.id, Allow(), by="Grace")
    assert texts(core) == ["Hi Ada,\n\nYour request to delete it: deleted."]


def files_with(secret: bytes, folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()]


async def test_the_token_and_other_peoples_timesheets_stay_where_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        await ask(core, "Check my timesheet")
        await ask(core, "Show me kenji's timesheet, user kenji")
    assert [file.name for file in files_with(b"timesheet-token-4711", tmp_path)] == []
    assert all(delivery.to == "sms:ada" for delivery in core.outbox.sent())


async def test_one_agent_alone_answers_without_a_scorecard(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        result = await ask(core, "Check my timesheet", path="single")
        core.failures.data_down = True
        worse = await ask(core, "Check my timesheet", path="single")
    assert "32 of 40 hours" in result.formatted_response.text
    assert result.scorecards == ()
    assert "does not answer" in worse.formatted_response.text  # the technical words that a judge would have found


async def test_the_style_guide_may_be_edited_and_broken_while_it_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        before = await ask(core, "hello")
        core.guide_path.write_text('version: "1.0"\nformatting: {sign_off: true}\nemojis: {enabled: false}\n')
        core.guide.reread()
        edited = await ask(core, "hello")
        core.guide_path.write_text("emojis: {enabled: perhaps}\n")
        core.guide.reread()
        broken = await ask(core, "hello")
        assert core.guide.problem is not None
    assert "Timesheet Assistant" not in before.formatted_response.text
    assert edited.formatted_response.text.endswith("Timesheet Assistant")
    assert edited.metadata.style_version == broken.metadata.style_version != before.metadata.style_version


async def test_the_assistant_and_its_agents_are_on_the_hub(tmp_path: Path) -> None:
    async with opened(tmp_path) as core:
        hub: Hub = core.hub
        request = AssistantRequest(
            request_id="1", conversation_id="c", message="hello", channel="sms", to="+47", user=User(id="ada")
        )
        result: Any = await hub.request("assistant", request)
        assert isinstance(result, AssistantResult)
        assert {"planner", "data", "composer", "quality", "refiner", "single"} <= set(hub.agents)


async def test_a_talk_at_a_terminal(tmp_path: Path) -> None:
    async def said() -> AsyncIterator[str]:
        for line in ("/channel email", "/user maria", "hello", "/fail data_down", "/single", "/what", "/quit", "never"):
            yield line

    out = StringIO()
    async with opened(tmp_path) as core:
        await Talk(core, out, "talk").hold(said())
        assert core.failures.data_down
    shown = out.getvalue()
    assert "Hi Maria," in shown
    assert "one agent alone" in shown
    assert "never" not in shown


def test_the_demonstration_shows_a_failed_criterion_its_refinement_and_the_parts(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "timesheet_assistant", "--demo", "--pace", "0", "--patience", "60", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "✗ sms_format: it has a heading, bold text and a table" in done.stdout
    assert "→ refined once" in done.stdout
    assert "┌ sms 3 of 3" in done.stdout
    assert "because data: ConnectionError" in done.stdout
