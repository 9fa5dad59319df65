"""What a reader is told of what is not stored, and where that stands among the numbered parts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stagepost.agents._context._view import Shrunk, View
from stagepost.agents._live._told import Piece, ProgressMade, TurnBegun
from stagepost.agents._stream._merging import Merging
from stagepost.agents._stream._part import StreamPart
from stagepost.agents._stream._partial import Form, Partials
from stagepost.agents._stream._parts import (
    Compacted,
    Gap,
    MessageSaid,
    PartialOutput,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    TurnBegan,
)
from stagepost.agents._stream._standing import Standing
from stagepost.workflows import Told

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def merging(turn: int | None = 0, partials: Partials | None = None) -> Merging:
    """The merging of a reader of task ``t`` that has read up to a turn; None if it has read nothing."""
    made = Merging("t", NOW.timestamp, partials)
    if turn is not None:
        read(made, standing(turn))
    return made


def read(
    merging: Merging, runs: dict[str, Standing] | None, *parts: StreamPart, later: tuple[Told, ...] = ()
) -> list[StreamPart]:
    return list(merging.read(parts, runs, later))


def standing(turn: int, **below: int) -> dict[str, Standing]:
    runs = {"t": Standing(("lead",), turn)}
    return runs | {f"t.{name}": Standing(("lead", name), turn) for name, turn in below.items()}


def piece(number: int, text: str = "x", *, turn: int = 0, run: str = "t", **fields: Any) -> Told:
    path = ("lead", *run.split(".")[1:])
    return Told(run, "infer", Piece(path[-1], path, turn, number, text, **{"kind": "text", **fields}))


def progress(call: str, call_id: str = "c", run: str = "t") -> Told:
    return Told(run, "tools", ProgressMade("lead", ("lead",), call_id, call, "fetch", 1.0, 2.0, "half"))


def part(kind: type[StreamPart], run: str = "t", **fields: Any) -> StreamPart:
    return kind(timestamp=NOW, task_id="t", path=("lead",), visit=run[2:], **fields)


def answer(run: str = "t", seq: int = 1) -> StreamPart:
    return part(MessageSaid, run, seq=seq, role="assistant", text="hi")


def called(seq: int) -> list[StreamPart]:
    """An answer with two calls."""
    call = part(ToolCalled, seq=seq, name="fetch", arguments={}, phrase="", tool_call_id="c")
    return [answer(seq=seq), call, call]


def returned(call_id: str, run: str = "t") -> StreamPart:
    return part(ToolReturned, run, name="fetch", result="", tool_call_id=call_id, success=True)


def told(merging: Merging, *values: Told, missed: int = 0) -> list[StreamPart]:
    merging.hear(values, missed)
    return list(merging.flush())


def kinds(parts: list[StreamPart]) -> list[Any]:
    """Indexes of tokens, the first and last of gaps, types of others."""
    return [
        each.index if isinstance(each, TokenArrived) else (each.from_, each.to) if isinstance(each, Gap) else each.type
        for each in parts
    ]


def test_a_piece_becomes_a_token_with_all_that_is_known_of_it() -> None:
    (token,) = told(merging(1), piece(0, '{"a', turn=1, kind="arguments", tool="fetch", call=2))
    assert token == TokenArrived(
        timestamp=NOW,
        task_id="t",
        path=("lead",),
        token='{"a',  # noqa: S106  # a piece of text
        index=0,
        kind="arguments",
        agent="lead",
        turn=1,
        tool="fetch",
        call=2,
    )


def test_a_piece_of_an_agent_below_names_its_run() -> None:
    made = merging()
    read(made, standing(1, weather=0))
    (token,) = told(made, piece(0, run="t.weather"))
    assert (token.path, token.visit) == (("lead", "weather"), "weather")


def test_a_turn_that_begins_is_told() -> None:
    (began,) = told(merging(3), Told("t", "infer", TurnBegun("lead", ("lead",), 3)))
    assert began == TurnBegan(timestamp=NOW, task_id="t", path=("lead",), iteration=3)


@pytest.mark.parametrize("what", [piece(4, turn=1), Told("t", "infer", TurnBegun("lead", ("lead",), 1))])
def test_what_was_told_of_a_turn_that_was_read_already_is_dropped(what: Told) -> None:
    assert told(merging(2), what) == []


def test_what_was_told_of_a_run_that_a_result_covers_is_dropped() -> None:
    made = merging()
    read(made, standing(0, weather=0))
    assert told(made, piece(0, run="t.weather"))
    read(made, standing(1))
    assert told(made, piece(1, run="t.weather")) == []


def test_before_the_first_read_nothing_is_obsolete() -> None:
    made = merging(None)
    assert len(told(made, piece(0, turn=7), progress("7-0"))) == 2


def test_values_of_others_are_no_parts() -> None:
    assert told(merging(), Told("t", "infer", "something else")) == []


def test_a_piece_that_was_told_before_is_dropped() -> None:
    made = merging()
    assert kinds(told(made, piece(0, "ab", pieces=2), piece(1), piece(2))) == [0, 2]


def test_piece_0_begins_the_answer_anew() -> None:
    made = merging()
    assert kinds(told(made, piece(0), piece(1), piece(0), piece(1))) == [0, 1, 0, 1]


def test_a_joined_piece_counts_as_many() -> None:
    assert kinds(told(merging(), piece(0, "abc", pieces=3), piece(3))) == [0, 3]


def test_missing_pieces_are_told_before_the_next_one() -> None:
    made = merging()
    told(made, piece(0), piece(1))
    gap, token = told(made, piece(5), missed=3)
    assert gap == Gap(timestamp=NOW, task_id="t", path=("lead",), from_=2, to=4, generation=0)
    assert kinds([token]) == [5]


def test_the_beginning_of_an_answer_may_be_missing() -> None:
    assert kinds(told(merging(), piece(2), missed=2)) == [(0, 1), 2]
    made = merging()
    told(made, piece(0), piece(1))
    assert kinds(told(made, piece(2, turn=1), missed=9)) == [(0, 1), 2]


def test_a_missing_end_is_told_before_the_message() -> None:
    made = merging()
    told(made, piece(0))
    told(made, missed=4)
    assert kinds(read(made, standing(1), answer())) == [(1, 4), "message"]


def test_a_missing_end_is_told_before_a_message_with_more_to_read() -> None:
    made = merging()
    told(made, piece(0))
    told(made, missed=4)
    assert kinds(read(made, None, answer("t.weather"))) == ["message"]
    assert kinds(read(made, None, called(1)[-1])) == [(1, 4), "tool_call"]
    assert read(made, standing(1)) == []


def test_no_gap_is_told_of_an_answer_that_came_whole() -> None:
    made = merging()
    told(made, progress("0-0"), missed=4)
    told(made, piece(0), piece(1))
    assert kinds(read(made, standing(1), answer())) == ["message"]


def test_no_gap_is_told_of_an_answer_that_is_still_under_way() -> None:
    made = merging()
    told(made, piece(0))
    told(made, missed=4)
    assert kinds(read(made, standing(0), returned("c"))) == ["tool_result"]
    assert kinds(told(made, piece(5))) == [(1, 4), 5]


def test_no_gap_is_told_of_an_answer_of_which_nothing_came() -> None:
    made = merging()
    told(made, missed=4)
    assert kinds(read(made, standing(1), answer())) == ["message"]


def test_progress_is_told_with_its_call() -> None:
    (made,) = told(merging(1), progress("0-0"))
    assert made == ToolProgressed(
        timestamp=NOW, task_id="t", path=("lead",), call_id="c", name="fetch", progress=1.0, total=2.0, message="half"
    )


def test_progress_of_a_call_whose_result_was_told_is_dropped() -> None:
    made = merging(1)
    read(made, standing(1), returned("c"))
    assert told(made, progress("0-0")) == []
    assert told(made, progress("0-1", "d"))
    read(made, standing(2), answer())
    assert told(made, progress("0-1", "d")) == []
    assert told(made, progress("1-0")), "another turn may use the same id of a call"


def test_progress_of_a_run_that_is_covered_is_dropped() -> None:
    made = merging(1)
    read(made, standing(1), returned("c", "t.weather"))
    assert told(made, progress("0-0", run="t.weather")) == []


def test_it_is_told_when_a_model_sees_less() -> None:
    made = merging(4)
    view = View(hidden=((1, 3),), shrunk=(Shrunk(3, 5, 100), Shrunk(4, 6, 50)), summary="They met.")
    seen = {"t": Standing(("lead",), 4, view)}
    (compacted,) = read(made, seen)
    assert compacted == Compacted(
        timestamp=NOW, task_id="t", path=("lead",), hidden=2, shortened=3, summary="They met."
    )
    assert read(made, dict(seen)) == []
    assert read(made, standing(4)) == [], "it sees more again"


def test_what_a_model_did_not_see_before_the_reader_came_is_not_told() -> None:
    made = merging(None)
    assert read(made, {"t": Standing(("lead",), 4, View(hidden=((1, 3),)))}) == []


# among numbered parts


def test_pieces_stand_before_the_answer_that_a_read_has_brought() -> None:
    made = merging(0)
    made.hear([Told("t", "infer", TurnBegun("lead", ("lead",), 0)), piece(0), piece(1)])
    made.hear([piece(0, turn=1)])
    parts = [part(MessageSaid, seq=0, role="user", text="go"), *called(1), returned("c"), answer(seq=3)]
    assert kinds(read(made, standing(2), *parts)) == [
        "message", "turn", 0, 1, "message", "tool_call", "tool_call", "tool_result", 0, "message",
    ]  # fmt: skip


def test_pieces_of_the_turn_under_way_stand_after_the_parts_of_a_read() -> None:
    made = merging(0)
    made.hear([piece(0), piece(0, turn=1)])
    assert kinds(read(made, standing(1), *called(1), returned("c"))) == [
        0, "message", "tool_call", "tool_call", "tool_result", 0,
    ]  # fmt: skip


def test_pieces_of_a_turn_that_has_failed_stand_before_the_end() -> None:
    made = merging(0)
    made.hear([piece(0)])
    assert kinds(read(made, standing(0), part(TaskFailed, error="no"))) == [0, "error"]


def test_progress_stands_before_the_result_of_its_call() -> None:
    made = merging(1)
    made.hear([progress("0-0"), progress("0-1", "d")])
    parts = [returned("c"), returned("e")]
    assert kinds(read(made, standing(1), *parts)) == ["progress", "tool_result", "tool_result", "progress"]


def test_what_was_told_after_the_next_ring_waits_for_the_next_read() -> None:
    made = merging(0)
    later = (piece(1), piece(0, turn=1))
    made.hear([piece(0)])
    assert kinds(read(made, standing(1), answer(), later=later)) == [0, 1, "message"]
    assert kinds(read(made, standing(1), returned("c"))) == ["tool_result", 0]


def test_what_an_agent_has_told_whose_run_a_result_covers_stands_before_its_answer() -> None:
    made = merging(0)
    made.hear([piece(0, run="t.weather"), piece(0, turn=1)])
    parts = [answer("t.weather"), returned("c")]
    assert kinds(read(made, standing(1, weather=1), *parts)) == [0, "message", "tool_result", 0]


def test_what_was_told_waits_while_there_is_more_to_read() -> None:
    made = merging(0)
    made.hear([piece(0), piece(0, turn=1)])
    assert kinds(read(made, None, answer())) == ["message"]
    assert kinds(read(made, standing(2), answer(seq=4))) == [0, "message"]


def test_a_missing_end_is_told_before_the_answer_that_a_read_has_brought() -> None:
    made = merging(0)
    told(made, piece(0))
    made.hear([piece(0, turn=1)], missed=2)
    assert kinds(read(made, standing(2), answer(seq=1), answer(seq=2))) == [(1, 2), "message", 0, "message"]


def test_a_missing_end_of_an_agent_that_is_covered_is_told_before_its_answer() -> None:
    made = merging(0)
    read(made, standing(0, weather=0))
    told(made, piece(0, run="t.weather"))
    told(made, missed=2)
    assert kinds(read(made, standing(0), answer("t.weather"))) == [(1, 2), "message"]


# partial objects


def partials(mode: Any = "tool", *, wrapped: bool = False) -> Merging:
    return merging(0, Partials(lambda path: Form(mode, wrapped) if tuple(path) == ("lead",) else None))


def outputs(merging: Merging, *values: Told, missed: int = 0) -> list[Any]:
    return [each.output for each in told(merging, *values, missed=missed) if isinstance(each, PartialOutput)]


def returning(number: int, text: str, call: int = 0, tool: str = "return") -> Told:
    return piece(number, text, kind="arguments", tool=tool, call=call)


def test_the_arguments_of_return_are_told_as_they_grow() -> None:
    made = partials()
    pieces = [returning(0, '{"city": "Os'), returning(1, "lo"), returning(2, '", "days": [1'), returning(3, ", 2]}")]
    assert outputs(made, *pieces) == [
        {"city": "Os"},
        {"city": "Oslo"},
        {"city": "Oslo", "days": [1]},
        {"city": "Oslo", "days": [1, 2]},
    ]


def test_what_does_not_change_the_value_is_not_told_again() -> None:
    assert outputs(partials(), returning(0, '{"a": 1'), returning(1, ' , "'), returning(2, 'b"')) == [{"a": 1}]


def test_a_wrapped_answer_is_unwrapped() -> None:
    made = partials(wrapped=True)
    assert outputs(made, returning(0, '{"va'), returning(1, 'lue": [1'), returning(2, ",2]}")) == [[1], [1, 2]]


def test_a_wrapped_answer_without_its_wrapping_is_told_as_it_is() -> None:
    assert outputs(partials(wrapped=True), returning(0, '{"city": "Oslo"}')) == [{"city": "Oslo"}]


def test_an_answer_that_begins_anew_is_read_anew() -> None:
    assert outputs(partials(), returning(0, '{"a": 1'), returning(0, '{"b": 2')) == [{"a": 1}, {"b": 2}]


def test_an_answer_with_a_missing_piece_is_told_no_further() -> None:
    made = partials()
    assert outputs(made, returning(0, '{"a": "x')) == [{"a": "x"}]
    assert outputs(made, returning(3, 'y"}'), missed=2) == []
    assert outputs(partials(), returning(3, '{"a": 1}'), missed=3) == []
    assert outputs(made, returning(0, '{"a": "z"}')) == [{"a": "z"}]


def test_only_the_first_call_of_return_is_the_answer() -> None:
    pieces = [returning(0, '{"q": 1}', call=0, tool="fetch"), returning(1, "[1", call=1), returning(2, "[2", call=2)]
    assert outputs(partials(), *pieces) == [[1]]


def test_text_is_no_answer_where_return_is_called() -> None:
    assert outputs(partials(), piece(0, "{}")) == []


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_the_text_is_the_answer_where_the_model_writes_json(mode: str) -> None:
    made = partials(mode)
    pieces = [piece(0, "hm", kind="thinking"), piece(1, '{"a": "x'), piece(2, 'y"}'), returning(3, "[]")]
    assert outputs(made, *pieces) == [{"a": "x"}, {"a": "xy"}]


def test_a_fence_around_the_answer_is_left_out() -> None:
    pieces = [piece(0, "```js"), piece(1, 'on\n{"a"'), piece(2, ": 1}\n"), piece(3, "```")]
    assert outputs(partials("prompted"), *pieces) == [{}, {"a": 1}]


def test_a_text_that_is_no_json_tells_nothing() -> None:
    assert outputs(partials("prompted"), piece(0, "I think"), piece(1, " so")) == []


def test_agents_that_answer_with_text_have_no_partial_answers() -> None:
    made = partials("native")
    read(made, standing(0, weather=0))
    assert outputs(made, piece(0, "{}", run="t.weather")) == []


def test_partial_answers_that_are_whole_are_forgotten() -> None:
    kept = Partials(lambda _: Form("tool", is_wrapped=False))
    made = merging(0, kept)
    told(made, returning(0, "[1"))
    read(made, standing(0))
    assert kept.count == 1
    read(made, standing(1), answer())
    assert kept.count == 0


def test_answers_of_runs_that_nothing_is_known_of_are_handed_on() -> None:
    made = merging(0)
    made.hear([piece(0, run="t.weather"), Told("t", "infer", "something else")])
    assert kinds(read(made, standing(0), answer("t.weather"))) == ["message"]


def test_before_the_first_read_what_others_tell_is_no_part() -> None:
    assert told(merging(None), Told("t", "infer", "something else")) == []


def test_what_others_have_too_is_changed_in_a_copy() -> None:
    said = Told("t", "infer", TurnBegun("lead", ("lead",), 0))
    one, other = Merging("t", lambda: 0.0), Merging("t", lambda: 0.0)
    assert one.state == other.state
    assert one.own() is one
    shared = one.share()
    own = shared.own()
    own.hear([said])
    assert [part.type for part in own.flush()] == ["turn"]
    assert own.state != shared.state == other.state
    assert list(shared.own().flush()) == []
