"""What each channel makes of an answer."""

import json
import logging
from threading import Event
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests._examples import law
from tests.service.channels._cases import answers

from stagepost.service.channels import (
    Action,
    ChannelLimit,
    ChannelLimits,
    Channels,
    Emojis,
    FormattedResponse,
    Formatting,
    Reply,
    ResponseMetadata,
    ResponsePart,
    StyleGuide,
    TextFormatter,
    UnknownChannel,
)
from stagepost.service.channels._markdown import tokens_of
from stagepost.service.channels._teams import size_of

ANSWER = """# Your week

You worked **32 of 40 hours**, *not* counting my_file_name and 2*3*4. See [the sheet](https://example.org/a_b).

| Day | Hours |
|-----|------:|
| Mon | 8     |

- one
- two **bold**
  1. inner

```
x = 1
    y = 2
```
"""
CHANNELS = Channels()


def texts(channel: str, text: str, **options: Any) -> list[str]:
    return list(CHANNELS.format(channel, Reply(text=text, **options)).texts)


def test_an_sms_is_plain_text() -> None:
    (text,) = texts("sms", ANSWER)
    assert text == (
        "Your week\n\nYou worked 32 of 40 hours, not counting my_file_name and 2*3*4. "
        "See the sheet (https://example.org/a_b).\n\nDay: Mon, Hours: 8\n\n- one\n- two bold\n  1. inner\n\n"
        "x = 1\n    y = 2"
    )


def test_whatsapp_knows_bold_and_italic_only() -> None:
    (text,) = texts("whatsapp", ANSWER)
    assert "*Your week*\n\nYou worked *32 of 40 hours*, _not_ counting my_file_name and 2*3*4." in text
    assert "- two *bold*" in text
    assert "`" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Note**s", "Notes"),
        ("***both***", "_*both*_"),
        ("**one\ntwo**", "*one*\n*two*"),
        (f"**{'word ' * 45}end**", f"{'word ' * 45}end"),
        (f"**{('A sentence that is long enough. ' * 8).strip()}**", "*A sentence that is long enough.* " * 8),
        (f"**{'word ' * 45}[a](https://b.cd)**", f"{'word ' * 45}a (https://b.cd)"),
        ("# **Bold already**", "*Bold already*"),
        ("~~old~~ new", "old new"),
    ],
    ids=["in a word", "nested", "lines", "long", "sentences", "with a link", "heading", "struck"],
)
def test_marks_of_whatsapp_open_and_close_in_one_line(text: str, shown: str) -> None:
    assert texts("whatsapp", text) == [shown.strip()]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2*3 and 4*5", "2*3 and 4*5"),
        ("2**3**4", "2**3**4"),
        ("a_b_c and d_e", "a_b_c and d_e"),
        (r"5 \* 3", "5 * 3"),
        ("<b>bold</b> & more", "<b>bold</b> & more"),
        ("[note]: https://example.org", "[note]: https://example.org"),
        ("---", "---"),
        ("![chart](https://example.org/c.png)", "chart (https://example.org/c.png)"),
        ("![](https://example.org/c.png)", "https://example.org/c.png"),
        ("<https://example.org>", "https://example.org"),
        ("[ann](mailto:ann@example.org)", "ann (ann@example.org)"),
        ("[](https://example.org)", "https://example.org"),
        ("2024. A year", "2024. A year"),
        ("1) first\n2) second", "1) first\n2) second"),
        ("- a\n\n  b\n\n- c", "- a\n\n  b\n- c"),
        ("- a\n  ```\n  x\n\n  y\n  ```", "- a\n  x\n\n  y"),
        ("in __init__ of a __bold word__ and __Bold__", "in __init__ of a bold word and Bold"),
        ("> said\n> so", "said\nso"),
        ("a  \nb", "a\nb"),
        (">\n\ntext", "text"),
        ("- \n- b", "- \n- b"),
        ("| a | |\n|---|---|\n| 1 | 2 |", "a: 1, 2"),
        ("| a | b |\n|---|---|", "a, b"),
        ("`code` here", "code here"),
        (">" * 70 + " deep", ">" * 70 + " deep"),
    ],
)
def test_markdown_is_read_and_not_stripped(text: str, shown: str) -> None:
    assert texts("sms", text) == [shown]


def test_a_mail_has_a_subject_html_and_plain_text() -> None:
    (part,) = CHANNELS.format("email", Reply(text=ANSWER)).parts
    assert part.subject == "Your week"
    assert part.content.startswith("Your week\n\nYou worked 32")
    assert part.html is not None
    for piece in (
        "<h1>Your week</h1>",
        "<strong>32 of 40 hours</strong>",
        "<em>not</em>",
        '<a href="https://example.org/a_b">the sheet</a>',
        "2*3*4",
        "<table style=",
        "text-align:right",
        "<pre><code style=",
    ):
        assert piece in part.html


def test_a_mail_runs_nothing_and_loads_nothing_of_strangers() -> None:
    text = '<script>alert(1)</script> [x](javascript:alert(1)) ![p](https://example.org/p.png "t") <img src=x>'
    (part,) = CHANNELS.format("email", Reply(text=text, subject="Hi\r\nBcc: everybody@example.org")).parts
    assert part.html is not None
    assert part.subject == "Hi Bcc: everybody@example.org"
    assert "<script" not in part.html
    assert "<img" not in part.html
    assert 'href="javascript' not in part.html
    assert '<a href="https://example.org/p.png">p</a>' in part.html


def test_the_subject_of_a_mail_is_given_or_found_and_not_too_long() -> None:
    def subject(text: str, **options: Any) -> str | None:
        return CHANNELS.format("email", Reply(text=text, **options)).parts[0].subject

    assert subject("No heading") == "Timesheet Assistant"
    assert subject("# A\n\ntext", subject="Given") == "Given"
    assert subject("# " + "long " * 60) == ("long " * 60)[:119].rstrip() + "…"
    assert subject(">" * 70 + " deep") == "Timesheet Assistant"
    deep = CHANNELS.format("email", Reply(text=">" * 70 + " <deep>")).parts[0].html
    assert deep is not None
    assert "&lt;deep&gt;" in deep


def found(card: Any, kind: str) -> list[Any]:
    """All elements of a kind."""
    if isinstance(card, dict):
        inner = [each for value in card.values() for each in found(value, kind)]
        return [card, *inner] if card.get("type") == kind else inner
    return [each for value in card for each in found(value, kind)] if isinstance(card, list) else []


def test_a_card_has_texts_tables_code_and_buttons() -> None:
    actions = (Action(title="Open", url="https://example.org"), Action(title="Approve", data={"week": 12}))
    response = CHANNELS.format("teams", Reply(text=ANSWER + "\n![chart](https://example.org/c.png)", actions=actions))
    card = response.parts[0].card
    assert card is not None
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.5")
    assert response.metadata.size == size_of(card)
    runs = {run["text"]: run for run in found(card, "TextRun")}
    assert runs["Your week"]["weight"] == "Bolder"
    assert runs["32 of 40 hours"]["weight"] == "Bolder"
    assert runs["not"]["italic"] is True
    assert runs["the sheet"]["selectAction"] == {"type": "Action.OpenUrl", "url": "https://example.org/a_b"}
    assert runs["    y = 2"]["fontType"] == "Monospace"
    assert runs["\xa0\xa0\xa0\xa01. "]
    (table,) = found(card, "Table")
    assert len(table["rows"]) == 2
    assert found(card, "Image") == [{"type": "Image", "url": "https://example.org/c.png", "altText": "chart"}]
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open", "url": "https://example.org"},
        {"type": "Action.Submit", "title": "Approve", "data": {"week": 12}},
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> quoted", "quoted"),
        ("- ```\n  code\n  ```", "• "),
        ("text ![a](https://b.cd) text", "a"),
        ("a `b` ~~c~~\nd", "b"),
        (">" * 70 + " deep", ">" * 70 + " deep"),
        ("---", "---"),
        ("| a |\n|---|\n| |", "a"),
    ],
)
def test_nothing_of_an_answer_is_missing_on_a_card(text: str, shown: str) -> None:
    card = CHANNELS.format("teams", Reply(text=text)).parts[0].card
    assert shown.strip() in [run["text"].strip() for run in found(card, "TextRun")]


def test_teams_shows_six_buttons_and_the_others_as_text() -> None:
    actions = tuple(Action(title=f"Week {number}", url=f"https://example.org/{number}") for number in range(8))
    card = CHANNELS.format("teams", Reply(text="Weeks", actions=actions)).parts[0].card
    assert card is not None
    assert len(found(card["actions"], "Action.OpenUrl")) == 6
    assert "Week 7: https://example.org/7" in json.dumps(card)


@law(30, 500)
@given(answers, st.integers(1024, 4000), st.booleans())
def test_a_card_is_never_larger_than_it_may_be(text: str, most: int, buttons: bool) -> None:  # noqa: FBT001  # hypothesis says
    channels = Channels(limits=ChannelLimits(channels={"teams": ChannelLimit(max_bytes=most)}))
    actions = (Action(title="Open", url="https://example.org"),) if buttons else ()
    whole = CHANNELS.format("teams", Reply(text=text, actions=actions)).parts[0].card
    response = channels.format("teams", Reply(text=text, actions=actions))
    card = response.parts[0].card
    assert card is not None
    assert size_of(card) <= most
    assert response.metadata.is_cut == (size_of(whole) > most)
    if not response.metadata.is_cut:
        assert card == whole
        return
    assert card.get("actions") == (whole or {}).get("actions")
    assert found(card, "TextBlock")[-1]["text"] == StyleGuide().texts.cut
    shown = "".join(run["text"] for run in found(card, "TextRun"))
    assert "".join(run["text"] for run in found(whole, "TextRun")).startswith(shown.rstrip())


def test_a_table_that_is_too_long_keeps_its_head_and_whole_rows() -> None:
    rows = "\n".join(f"| day {number} | {number} |" for number in range(300))
    response = CHANNELS.format("teams", Reply(text=f"Before.\n\n| Day | Hours |\n|---|---|\n{rows}"))
    assert response.metadata.is_cut
    (table,) = found(response.parts[0].card, "Table")
    assert 50 < len(table["rows"]) < 300
    assert all(len(row["cells"]) == 2 for row in table["rows"])


def test_a_single_long_paragraph_is_cut_after_a_sentence() -> None:
    response = CHANNELS.format("teams", Reply(text="A sentence with Ünïcödé. " * 3000))
    run = found(response.parts[0].card, "TextRun")[0]
    assert run["text"].endswith("Ünïcödé.")
    assert (response.metadata.size or 0) > 27_000


def test_what_the_reader_can_do_stands_at_the_end_of_a_text() -> None:
    actions = (Action(title="Open", url="https://example.org"), Action(title="YES", data={"a": 1}))
    assert texts("sms", "Fine.", actions=actions) == ["Fine.\n\nOpen: https://example.org\nReply: YES"]
    (part,) = CHANNELS.format("email", Reply(text="Fine.", actions=actions)).parts
    assert part.html is not None
    assert '<a href="https://example.org"><strong>Open</strong></a>' in part.html
    assert "Reply: <strong>YES</strong>" in part.html


@pytest.mark.parametrize("action", [{"title": "x"}, {"title": "x", "url": "https://a.b", "data": {}}])
def test_an_action_does_one_thing(action: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="either url= or data="):
        Action(**action)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_reply_says_something(text: str) -> None:
    with pytest.raises(ValidationError, match="at least one visible character"):
        Reply(text=text)


def test_a_long_sms_is_split_and_its_segments_are_counted() -> None:
    response = CHANNELS.format("sms", Reply(text="You worked eight hours that day. " * 106))
    assert response.is_split
    assert [part.continuation_indicator for part in response.parts] == ["(1/3)", "(2/3)", "(3/3)"]
    assert response.metadata.characters == sum(map(len, response.texts))
    assert response.metadata.segments is not None
    assert response.metadata.segments.encoding == "GSM-7"
    assert "(1/3)" not in response.text


def test_what_is_too_long_even_for_parts_is_a_summary_that_offers_the_whole() -> None:
    text = "\n\n".join(f"Paragraph {number} begins. " + "It goes on and on. " * 100 for number in range(30))
    response = CHANNELS.format("sms", Reply(text=text))
    assert response.metadata.is_summary
    (content,) = response.texts
    assert len(content) <= 1600
    assert content.startswith("Paragraph 0 begins.\nParagraph 1 begins.")
    assert content.endswith(StyleGuide().texts.too_long)
    tiny = Channels(limits=ChannelLimits(channels={"sms": ChannelLimit(max_length=60, max_parts=2)}))
    (short,) = tiny.format("sms", Reply(text=text)).texts
    assert len(short) <= 60


def test_an_unknown_channel_is_an_error() -> None:
    with pytest.raises(UnknownChannel, match="no channel is named 'fax'; known: email, sms, teams, whatsapp"):
        CHANNELS.format("fax", Reply(text="x"))


class Shouting:
    """A formatter of a user."""

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:  # noqa: ARG002  # the protocol
        text = f"{reply.text.upper()} {limit.max_length}"
        return FormattedResponse(
            parts=(ResponsePart(sequence=1, content=text),), metadata=ResponseMetadata(characters=len(text))
        )


class Failing:
    """A formatter with an error."""

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:  # noqa: ARG002  # the protocol
        raise ZeroDivisionError


def test_channels_of_your_own_have_a_name_and_limits() -> None:
    limits = ChannelLimits(channels={"pager": ChannelLimit(max_length=80)})
    channels = Channels({"pager": Shouting(), "board": TextFormatter()}, limits=lambda: limits)
    assert channels.names == ["board", "email", "pager", "sms", "teams", "whatsapp"]
    response = channels.format("pager", Reply(text="hello"))
    assert (response.channel, list(response.texts)) == ("pager", ["HELLO 80"])
    assert channels.format("board", Reply(text="**hello**")).texts == ["hello"]


class Endless:
    """A formatter that heeds no limit."""

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:  # noqa: ARG002  # the protocol
        part = ResponsePart(sequence=1, content="x" * 1601)
        return FormattedResponse(parts=(part,), metadata=ResponseMetadata(characters=1601))


def test_a_part_that_is_too_long_is_replaced_by_plain_text() -> None:
    response = Channels({"sms": Endless()}).format("sms", Reply(text="**32** hours"))
    assert (response.metadata.fell_back, response.texts) == (True, ["32 hours"])


@pytest.mark.parametrize(
    ("numbers", "is_split", "marker", "problem"),
    [
        ([2], False, None, "numbered from 1 on"),
        ([2, 1], True, "(1/2)", "numbered from 1 on"),
        ([1, 2], False, "(1/2)", "is_split"),
        ([1], True, None, "is_split"),
        ([1, 2], True, None, "continuation_indicator"),
        ([], False, None, "at least 1 item"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(
    numbers: list[int],
    is_split: bool,  # noqa: FBT001  # a table
    marker: str | None,
    problem: str,
) -> None:
    parts = tuple(ResponsePart(sequence=each, content="x", continuation_indicator=marker) for each in numbers)
    with pytest.raises(ValidationError, match=problem):
        FormattedResponse(is_split=is_split, parts=parts, metadata=ResponseMetadata(characters=1))


@pytest.mark.parametrize("channel", ["sms", "whatsapp", "email", "teams"])
def test_a_text_longer_than_any_answer_is_taken_as_it_is(channel: str) -> None:
    limits = ChannelLimits(channels={channel: ChannelLimit(max_parts=99)})
    response = Channels(limits=limits).format(channel, Reply(text="**a** " * 17_000))
    assert response.texts[0].startswith("**a** **a**")


def test_a_formatter_that_fails_is_logged_and_replaced_by_plain_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "stagepost"):
        response = Channels({"sms": Failing()}).format("sms", Reply(text="**32** hours. " * 200))
    assert response.metadata.fell_back
    assert response.is_split
    assert response.channel == "sms"
    assert response.text.startswith("32 hours.")
    assert "formatter_failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def guide(**formatting: bool) -> StyleGuide:
    return StyleGuide(formatting=Formatting(**formatting))


@pytest.mark.parametrize(
    ("style", "reply", "shown"),
    [
        (guide(), Reply(text="Fine.", is_first=True, user_name="Ann"), "Hi Ann,\n\nFine."),
        (guide(use_user_name=False), Reply(text="Fine.", is_first=True, user_name="Ann"), "Hi,\n\nFine."),
        (guide(greeting=False), Reply(text="Fine.", is_first=True, user_name="Ann"), "Fine."),
        (guide(), Reply(text="Fine.", user_name="Ann"), "Fine."),
        (guide(sign_off=True), Reply(text="Fine."), "Fine.\n\n– Timesheet Assistant"),  # noqa: RUF001  # a dash
        (guide(), Reply(text="Saved.", kind="success"), "✅ Saved."),
        (guide(), Reply(text="✅ Saved.", kind="success"), "✅ Saved."),
        (guide(), Reply(text="# Saved\n\nit", kind="success"), "✅ Saved\n\nit"),
        (guide(), Reply(text="- a\n- b", kind="error"), "❌\n\n- a\n- b"),
        (
            StyleGuide(emojis=Emojis(enabled=False)),
            Reply(text="Saved ✅ and 👩‍👩‍👧‍👦 so🎉on ©", kind="success"),
            "Saved and so on ©",
        ),
        (StyleGuide(emojis=Emojis(enabled=False)), Reply(text="a\n- 🎉 b 🇩🇪\n1️⃣ c"), "a\n\n- b\n  c"),
        (StyleGuide(emojis=Emojis(enabled=False)), Reply(text="👍"), "👍"),
    ],
)
def test_answers_follow_the_style_guide(style: StyleGuide, reply: Reply, shown: str) -> None:
    assert CHANNELS.format("sms", reply, guide=style).texts == [shown]


def test_a_response_is_a_value_of_json() -> None:
    response = CHANNELS.format("teams", Reply(text=ANSWER))
    assert FormattedResponse.model_validate_json(response.model_dump_json()) == response


class Slow:
    """A formatter that goes on once another task says so."""

    def __init__(self, patience: float = 20) -> None:
        self.begun = Event()
        self.event = Event()
        self._patience = patience

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        self.begun.set()
        assert self.event.wait(self._patience)
        return TextFormatter().format(reply, guide, limit)


async def test_no_other_task_waits_for_an_answer_that_is_formatted_in_a_thread() -> None:
    slow = Slow()
    made: list[FormattedResponse] = []

    async def form() -> None:
        made.append(await Channels({"slow": slow}).format_in_thread("slow", Reply(text="**Fine.**")))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(form)
            await anyio.to_thread.run_sync(slow.begun.wait, 20)
            slow.event.set()
    assert (made[0].texts, made[0].metadata.fell_back) == (["Fine."], False)


async def test_an_answer_whose_formatter_takes_too_long_goes_out_as_it_came(caplog: pytest.LogCaptureFixture) -> None:
    slow = Slow()
    try:
        made = await Channels({"slow": slow}).format_in_thread("slow", Reply(text="**Fine.**"), seconds=0.01)
    finally:
        slow.event.set()
    assert (made.channel, made.texts, made.metadata.fell_back) == ("slow", ["**Fine.**"], True)
    assert made.metadata.style_version == "1.0"
    assert "formatter_too_slow" in caplog.text


@pytest.mark.parametrize(
    "hostile", ["[" * 20_000, "![" * 20_000, "[](" * 30_000], ids=["links", "pictures", "addresses"]
)
def test_a_text_that_would_take_seconds_to_parse_is_taken_as_it_is(hostile: str) -> None:
    assert tokens_of(hostile) is None
    assert tokens_of("[see](https://example.org) " * 1000) is not None
    assert CHANNELS.format("email", Reply(text=hostile)).texts == [hostile]


@pytest.mark.parametrize("channel", ["sms", "whatsapp", "email", "teams"])
def test_what_steers_a_terminal_or_cannot_be_written_is_replaced(channel: str) -> None:
    reply = Reply(text="a\0b\x1b[31m\x9b\ud800\r\nc\td", subject="\x07s", user_name=" A\n\n# B ", is_first=True)
    made = CHANNELS.format(channel, reply)
    assert made.text == "Hi A # B,\n\na\ufffdb\ufffd[31m\ufffd\ufffd\nc\td"
    assert not made.metadata.fell_back
    assert made.parts[0].subject in {None, "\ufffds"}


def test_a_reader_whose_name_is_blank_is_greeted_without_it() -> None:
    assert texts("sms", "Fine.", user_name=" ", is_first=True) == ["Hi,\n\nFine."]
