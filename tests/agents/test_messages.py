from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import AssistantMessage, ChatMessage, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from stagepost.checkpoint import codec_for

texts = st.text(st.characters())  # lone surrogates included
calls = st.builds(ToolCall, id=texts, name=texts, arguments=texts)
messages = st.one_of(
    st.builds(SystemMessage, text=texts),
    st.builds(UserMessage, text=texts),
    st.builds(AssistantMessage, text=texts, calls=st.lists(calls, max_size=3).map(tuple)),
    st.builds(ToolMessage, call_id=texts, tool=texts, text=texts, is_error=st.booleans()),
)


@given(st.lists(messages, max_size=4))
def test_messages_come_back_from_json_as_they_went_in(said: list[ChatMessage]) -> None:
    codec = codec_for(list[ChatMessage])
    data = codec.dump(said, "messages")
    assert codec.load(data) == said
    assert codec.dump(codec.load(data), "messages") == data


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert UserMessage(text="caf\u00e9 \ud83d").text == "café ?"


def test_usage_adds_up() -> None:
    total = Usage(input_tokens=3, output_tokens=1) + Usage(input_tokens=2)
    assert (total, total.tokens) == (Usage(input_tokens=5, output_tokens=1), 6)


def test_a_message_holds_what_json_gives_back() -> None:
    class Traced(ToolCall):
        span: str

    class Shouted(str):
        __slots__ = ()

    call = Traced(id="1", name="f", arguments="{}", span="s")
    said = AssistantMessage(text=Shouted("hi"), calls=(call,))
    assert (type(said.text), type(said.calls[0])) == (str, ToolCall)
