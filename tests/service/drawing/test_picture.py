"""Runs as pictures."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from tests.service.drawing._runs import SVG, links, nested, nothing, parked, texts, titles, ways

from stagepost.service._drawing._boxes import Drawn, boxes_of
from stagepost.service._drawing._marks import Mark, Standing
from stagepost.service._drawing._outline import Part, outline_of
from stagepost.service._drawing._picture import draw_run
from stagepost.service._drawing._standings import Standings, standings_of
from stagepost.service._drawing._text import fitted, plain, width_of
from stagepost.workflows import END, Chain, Graph, Parallel, Pattern, key_exists, step

HOSTILE = "<script>alert('\x1b[31m')</script>\r\n\u202e" + "x" * 5000


def outline(workflow: Pattern) -> Part:
    return outline_of(workflow.shape.skeleton, workflow.name)


def page(path: str) -> str:
    return f"/step/{path}"


def toggled(path: str) -> str:
    return f"?open={path}"


def chain(count: int) -> Part:
    return outline(Chain("long", [step(f"s{number}", nothing) for number in range(count)]))


async def test_a_run_is_drawn_with_its_marks_in_words_and_links_to_its_places() -> None:
    snapshot, history = await parked(nested(), waits=4)
    assert snapshot.shape is not None
    shown = outline_of(snapshot.shape, "campaign")
    standings = standings_of(snapshot, history)
    svg = draw_run(Drawn(outline=shown, standings=standings, address=page, toggle=toggled), title="Run 7")
    said = titles(svg)
    assert said[0] == "Run 7"
    assert "step load: done" in said
    assert "step save: not reached" in said
    assert "step approve: waiting, 4 waiting" in said
    assert "step prose: done, 2 visits" in said
    assert "sizes[1]: failed" in said
    found = links(svg)
    assert found["place-load"] == "/step/load"
    assert found["item-sizes[1]"] == "/step/sizes[1]"
    assert found["item-review/judge/deep/checks[2]"] == "?open=review/judge/deep/checks[2]"
    assert "n is 1" in texts(svg)


async def test_the_ways_that_were_decided_are_taken_and_no_others() -> None:
    snapshot, history = await parked(nested(), waits=4)
    assert snapshot.shape is not None
    whole = outline_of(snapshot.shape, "campaign")

    def taken(standings: Standings, name: str) -> set[tuple[str, str]]:
        boxes = [boxes_of(Drawn(outline=whole, standings=standings))]
        for box in boxes:  # it grows meanwhile
            boxes += box.inner
        return {(way.source, way.target) for box in boxes if box.name == name for way in box.busy}

    told, guessed = standings_of(snapshot, history), standings_of(snapshot)
    assert taken(told, "review") == {("review/draft/", "review/judge/"), ("review/judge/", "review/draft/")}
    assert taken(told, "judge") == {("review/judge", "review/judge/quick"), ("review/judge", "review/judge/deep/")}
    assert taken(told, "campaign") == {("load", "sizes"), ("sizes", "review/")}
    assert taken(guessed, "judge") == {("review/judge", "review/judge/deep/")}


def test_out_of_a_graph_the_way_that_was_decided_is_taken() -> None:
    graph = Graph("loop")
    graph.add("one", nothing)
    graph.add("two", nothing)
    graph.start("one")
    graph.edge("one", END, when=key_exists("a"))
    graph.edge("one", END, when=key_exists("b"))
    graph.edge("one", "two")
    graph.finish("two")
    done = {"one": Standing(Mark.DONE)}
    for standings, expected in (
        (Standings(places=done, led={"one": frozenset({""})}), {("one", "->END")}),
        (Standings(places=done, led={"one": frozenset({"two"})}), {("one", "two")}),
        (Standings(places={**done, "two": Standing(Mark.DONE)}), {("one", "->END"), ("one", "two"), ("two", "->END")}),
        (Standings(places={**done, "two": Standing(Mark.RUNNING)}), {("one", "two")}),
    ):
        box = boxes_of(Drawn(outline=outline(graph), standings=standings))
        assert {(way.source, way.target) for way in box.busy} == expected
        assert [way.label for way in box.ways if way.target == "->END"] == ["has a or has b", None]


def test_boxes_in_which_something_has_failed_are_opened_before_others() -> None:
    parts = [Chain(f"part{one}", [step(f"s{one}-{two}", nothing) for two in range(20)]) for one in range(20)]
    standings = Standings(places={"part0/s0-0": Standing(Mark.DONE), "part7/s7-3": Standing(Mark.FAILED)})
    svg = draw_run(Drawn(outline=outline(Chain("whole", parts)), standings=standings), title="t", most=50)
    assert "s7-3" in texts(svg)
    assert "s0-0" not in texts(svg)


async def test_an_item_is_opened_in_place() -> None:
    snapshot, _ = await parked(nested(), waits=4)
    assert snapshot.shape is not None
    item = "review/judge/deep/checks[2]"
    drawn = Drawn(
        outline=outline_of(snapshot.shape, "campaign"),
        standings=standings_of(snapshot),
        address=page,
        toggle=toggled,
        opened=frozenset({item}),
    )
    svg = draw_run(drawn, title="Run 7")
    assert links(svg)[f"place-{item}/approve"] == f"/step/{item}/approve"
    assert links(svg)["toggle-review/judge/deep/checks"] == f"?open={item}"
    assert {"item 2", "close item 2"} <= set(texts(svg))
    assert "step approve: waiting" in titles(svg)


def test_runs_that_a_step_has_started_are_opened_in_place() -> None:
    child = Drawn(outline=outline(Chain("child", [nothing])), address=lambda path: f"/child/{path}", name="c1:")
    standings = Standings(places={"ask": Standing(Mark.WAITING, children=2)})
    whole = outline(Chain("parent", [step("ask", nothing), step("after", nothing)]))
    closed = draw_run(Drawn(outline=whole, standings=standings, address=page, toggle=toggled), title="t")
    assert "2 runs" in texts(closed)
    assert links(closed)["toggle-ask"] == "?open=ask"
    opened = Drawn(
        outline=whole,
        standings=standings,
        address=page,
        toggle=toggled,
        opened=frozenset({"ask"}),
        children={"ask": [child]},
    )
    found = links(draw_run(opened, title="t"))
    assert found["place-c1:nothing"] == "/child/nothing"
    assert found["toggle-ask"] == "?open=ask"


def test_where_no_page_is_there_are_no_links() -> None:
    svg = draw_run(Drawn(outline=outline(nested())), title="t")
    assert links(svg) == {}
    assert "step load: not reached" in titles(svg)


def test_many_branches_stand_in_rows() -> None:
    branches = {f"branch-number-{number}": nothing for number in range(12)}
    drawn = Drawn(outline=outline(Chain("work", [Parallel("all", branches)])))
    svg = ET.fromstring(draw_run(drawn, title="t"))  # noqa: S314  # our own
    assert float(svg.attrib["width"]) < 850


def test_items_without_pages_and_runs_that_cannot_be_opened_have_no_links() -> None:
    places = {"ask": Standing(Mark.RUNNING, children=1)}
    standings = Standings(places=places, items={"sizes": {0: Mark.DONE, 1: Mark.AHEAD}})
    whole = outline(Chain("work", [Parallel("sizes", len, over="docs"), step("ask", nothing)]))
    svg = draw_run(Drawn(outline=whole, standings=standings), title="t")
    assert links(svg) == {}
    assert "sizes[1]: not reached" in titles(svg)
    assert "1 run" in texts(svg)


def test_the_same_run_is_drawn_in_the_same_way() -> None:
    drawn = Drawn(outline=outline(nested()))
    assert draw_run(drawn, title="t") == draw_run(drawn, title="t")


def test_hostile_texts_are_only_texts() -> None:
    skeleton = json.dumps({HOSTILE: {"kind": "step", "after": None}}).encode()
    standings = Standings(places={HOSTILE: Standing(Mark.FAILED, error=HOSTILE)})
    drawn = Drawn(outline=outline_of(skeleton, HOSTILE), standings=standings, address=lambda _: f"/{HOSTILE}")
    svg = draw_run(drawn, title=HOSTILE)
    assert "<script" not in svg
    assert {each.tag for each in ET.fromstring(svg).iter()} <= {  # noqa: S314  # our own
        SVG + tag for tag in ("svg", "title", "g", "a", "rect", "path", "text", "circle")
    }
    assert max(map(len, texts(svg))) < 60


def test_nothing_in_a_picture_is_forbidden_by_the_policy_of_pages() -> None:
    svg = draw_run(Drawn(outline=outline(nested()), address=page), title="t")
    assert not re.search(r"\s(style|on\w+)=", svg)
    assert "<style" not in svg


def test_hundreds_of_items_are_a_bar_that_counts_them() -> None:
    whole = outline(Chain("work", [Parallel("sizes", len, over="docs")]))
    marks = {number: Mark.FAILED if number == 7 else Mark.DONE for number in range(1204)}
    svg = draw_run(Drawn(outline=whole, standings=Standings(items={"sizes": marks}), address=page), title="t")
    assert "1,203 done · 1 failed" in texts(svg)
    assert "1 failed" in titles(svg)
    assert len(svg) < 4000


def test_of_a_long_chain_what_is_near_its_standing_is_drawn() -> None:
    standings = Standings(places={"s900": Standing(Mark.RUNNING)})
    svg = draw_run(Drawn(outline=chain(1000), standings=standings), title="t", most=50)
    shown = texts(svg)
    assert {"s900", "s884", "s933", "884 more", "66 more"} <= set(shown)
    assert "s883" not in shown
    assert len([text for text in shown if text.startswith("s")]) == 50


def test_500_places_are_drawn() -> None:
    svg = draw_run(Drawn(outline=chain(500)), title="t")
    assert ways(svg) == (499, 0)
    assert len(svg) < 200_000
    assert {"s0", "s499"} <= set(texts(svg))


def test_of_a_large_workflow_the_innermost_boxes_stay_closed() -> None:
    parts = [Chain(f"part{one}", [step(f"s{one}-{two}", nothing) for two in range(20)]) for one in range(20)]
    svg = draw_run(Drawn(outline=outline(Chain("whole", parts))), title="t", most=100)
    shown = texts(svg)
    assert "s0-0" in shown
    assert "s19-0" not in shown
    assert "20 places" in shown
    closed = Drawn(outline=outline(Chain("whole", parts)), toggle=toggled)
    assert links(draw_run(closed, title="t", most=100))["toggle-part19/"] == "?open=part19/"
    opened = draw_run(replace(closed, opened=frozenset({"part19/"})), title="t", most=100)
    assert {"s19-0", "close"} <= set(texts(opened))
    assert "s18-0" not in texts(opened)


def test_items_of_items_are_counted_together() -> None:
    inner = Parallel("inner", len, over="docs")
    whole = outline(Chain("work", [Parallel("outer", Chain("each", [inner]), over="docs")]))
    items = {
        "outer": {0: Mark.DONE, 1: Mark.RUNNING},
        "outer[0]/inner": {0: Mark.DONE},
        "outer[1]/inner": {0: Mark.FAILED, 1: Mark.AHEAD},
    }
    box = boxes_of(Drawn(outline=whole, standings=Standings(items=items), address=page))
    found = box.inner[0].inner[0].inner[0]
    assert found.tally == {Mark.DONE: 1, Mark.FAILED: 1, Mark.AHEAD: 1}
    assert [cell.href for cell in found.cells] == [None, None, None]


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("short", 200, "short"),
        ("customer_address_validation", 100, "customer…ion"),
        ("two\nlines\t", 200, "two lines "),
        ("x" * 100, 1, "xx…"),
        ("W" * 100, 100, "…"),
    ],
)
def test_texts_are_cut_to_their_room(text: str, room: float, shown: str) -> None:
    cut = fitted(text, room)
    assert cut == shown or (room > 50 and width_of(cut) <= room and "…" in cut)


def test_wide_letters_are_wider_than_narrow_ones() -> None:
    assert width_of("Wm") > width_of("ab") > width_of("il")
    assert width_of("漢字") > width_of("ab")
    assert width_of("e\u0301") == width_of("e")
    assert plain("a\x00b\u202ec") == "a b c"
