from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import ToolCall
from stagepost.agents._models._litellm._gathering import Gathered, Piece
from stagepost.agents._models._litellm._served import Served


def delta(
    index: int | None, arguments: str = "", *, call: str | None = None, name: str | None = None
) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": call, "function": {"name": name, "arguments": arguments}}]}


def gathered(*deltas: Mapping[str, Any]) -> Gathered:
    made = Gathered()
    for each in deltas:
        made.add(each)
    return made


@given(st.text(), st.lists(st.text(), max_size=3), st.data())
def test_pieces_of_any_size_make_the_whole(text: str, arguments: list[str], data: st.DataObject) -> None:
    def pieces(whole: str) -> list[str]:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
        return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces(text)]
    for index, written in enumerate(arguments):
        deltas.append(delta(index, call=f"c{index}", name=f"tool{index}"))
        deltas += [delta(index, piece) for piece in pieces(written)]
    made = gathered(*deltas)
    assert made.text == text
    assert made.calls(0) == tuple(
        ToolCall(id=f"c{index}", name=f"tool{index}", arguments=written or "{}")
        for index, written in enumerate(arguments)
    )


def test_deltas_of_two_calls_may_alternate() -> None:
    made = gathered(delta(0, "{", call="a", name="x"), delta(1, "[", call="b", name="y"), delta(0, "}"), delta(1, "]"))
    assert [(call.id, call.arguments) for call in made.calls(0)] == [("a", "{}"), ("b", "[]")]


def test_calls_that_are_all_numbered_0_are_told_apart_by_their_ids() -> None:
    made = gathered(delta(0, "1", call="a", name="x"), delta(0, "2", call="b", name="y"), delta(0, "3"))
    assert [(call.name, call.arguments) for call in made.calls(0)] == [("x", "1"), ("y", "23")]


def test_calls_of_a_whole_answer_are_different_ones_whatever_their_numbers_and_ids() -> None:
    made = Gathered()
    calls = [delta(0, "{}", call="a", name=name)["tool_calls"][0] for name in ("x", "y")]
    made.add({"tool_calls": calls}, is_whole=True)
    assert [(call.id, call.name, call.arguments) for call in made.calls(0)] == [("a", "x", "{}"), ("a", "y", "{}")]


def test_a_call_without_an_id_gets_one_of_its_turn() -> None:
    made = gathered(delta(None, "{}", name="x"))
    assert [call.id for call in made.calls(3)] == ["call-3-0"]


def test_a_refusal_is_gathered_wherever_it_stands() -> None:
    made = gathered({"refusal": "I "}, {"provider_specific_fields": {"refusal": "won't"}}, {"content": None})
    assert (made.text, made.refusal, made.calls(0)) == ("", "I won't", ())


def heard(*deltas: Mapping[str, Any]) -> list[Piece]:
    made = Gathered(known={"x", "y"})
    return [piece for each in deltas for piece in made.add(each) if piece.text]


def test_arguments_are_heard_as_they_come_with_tool_and_place_of_their_call() -> None:
    assert heard(
        {"content": "I look."},
        delta(0, call="a", name="x"),
        delta(0, '{"a":'),
        delta(1, "{", call="b", name="y"),
        delta(0, "1}"),
        delta(1, "}"),
    ) == [
        Piece("I look.", "text"),
        Piece('{"a":', "arguments", "x", 0),
        Piece("{", "arguments", "y", 1),
        Piece("1}", "arguments", "x", 0),
        Piece("}", "arguments", "y", 1),
    ]


def test_calls_that_the_provider_has_made_itself_are_not_heard_and_have_no_place() -> None:
    served = Served()
    served.add({"type": "content_block_start", "content_block": {"type": "server_tool_use", "id": "a"}})
    found = heard({**delta(0, "{}", call="a", name="web_search"), "served": served}, delta(1, "{}", call="b", name="x"))
    assert found == [Piece("{}", "arguments", "x", 0)]
