"""Workflows as nested boxes."""

from hypothesis import given
from tests.service.drawing._runs import nested, nothing
from tests.workflows._meanings import WORKFLOWS, Meant
from tests.workflows.test_laws import QUICK, pattern_of

from stagepost.service._drawing._outline import Kind, Part, Way, outline_of, parts_in
from stagepost.workflows import Chain, Graph, Parallel, Pattern, key_exists, step


def outline(workflow: Pattern) -> Part:
    return outline_of(workflow.shape.skeleton, workflow.name)


def tree(part: Part) -> object:
    return (part.name, [tree(each) for each in part.parts]) if part.parts else part.name


def part_at(whole: Part, key: str) -> Part:
    return next(each for each in parts_in(whole) if each.key == key)


def test_patterns_are_boxes_in_boxes_in_the_order_in_which_they_are_met() -> None:
    deep = ("deep", ["one", ("checks", [("each item", ["fetch", "approve"])])])
    assert tree(outline(nested())) == (
        "campaign",
        [
            "load",
            "sizes",
            (
                "review",
                [
                    ("draft", ["outline", "prose"]),
                    ("judge", ["judge", "quick", deep, "default"]),
                    ("both", ["legal", ("press", ["write", "send"])]),
                    "end",
                ],
            ),
            "save",
            "addup",
        ],
    )


def test_each_box_says_what_it_stands_for() -> None:
    whole = outline(nested())
    kinds = {part.key: part.kind for part in parts_in(whole)}
    assert kinds["/"] is Kind.CHAIN
    assert kinds["review/"] is Kind.GRAPH
    assert kinds["review/judge/"] is Kind.CONDITIONAL
    assert kinds["review/judge"] is Kind.CHOICE
    assert kinds["review/both"] is Kind.BRANCHES
    assert kinds["review/judge/deep/checks"] is kinds["sizes"] is Kind.EACH
    assert kinds["addup"] is Kind.FOLD
    assert kinds["review/->END"] is Kind.END


def test_ways_lead_between_the_boxes_of_one_box() -> None:
    whole = outline(nested())
    assert part_at(whole, "/").ways == [
        Way("save", "addup"),
        Way("review/", "save"),
        Way("sizes", "review/"),
        Way("load", "sizes"),
    ]
    graph = part_at(whole, "review/")
    assert set(graph.ways) == {
        Way("review/draft/", "review/judge/"),
        Way("review/judge/", "review/draft/", "n is 1"),
        Way("review/judge/", "review/both"),
        Way("review/both", "review/->END", "has checked"),
        Way("review/both", "review/judge/"),
    }
    assert set(part_at(whole, "review/judge/").ways) == {
        Way("review/judge", "review/judge/quick"),
        Way("review/judge", "review/judge/deep/", "deep"),
        Way("review/judge", "review/judge/default"),
    }
    assert part_at(whole, "review/judge/deep/checks[]/").ways == [
        Way("review/judge/deep/checks[]/fetch", "review/judge/deep/checks[]/approve")
    ]


def test_paths_are_those_of_the_places() -> None:
    whole = outline(nested())
    assert part_at(whole, "review/both[1]/send").path == "review/both[1]/send"
    assert part_at(whole, "review/both[0]/legal").path == "review/both[0]/legal"
    assert part_at(whole, "review/judge/").path == part_at(whole, "review/judge").path == "review/judge"


def test_a_graph_alone_begins_with_its_start_and_has_its_end() -> None:
    graph = Graph("loop")
    for name in ("last", "first"):
        graph.add(name, nothing)
    graph.start("first")
    graph.edge("first", "last")
    graph.edge("last", "last", when=key_exists("more"))
    graph.edge("last", "first", when=key_exists("all"))
    graph.finish()
    graph.edge("first", "first")
    graph.add("out", nothing)
    graph.edge("last", "out")
    graph.finish("out")
    whole = outline(graph)
    assert whole.kind is Kind.GRAPH
    assert tree(whole) == ("loop", ["first", "last", "out", "end"])
    assert Way("last", "last", "has more") in whole.ways
    assert Way("last", "first", "has all") in whole.ways


def test_graphs_one_after_another_and_in_one_another_are_led_to() -> None:
    def graph(name: str, node: Pattern | None = None) -> Graph:
        made = Graph(name)
        made.add("node", node or step("node", nothing))
        made.start("node")
        made.finish("node")
        return made

    whole = outline(Chain("work", [graph("outer", graph("inner")), graph("second")]))
    assert whole.ways == [Way("outer/", "second/")]
    outer = part_at(whole, "outer/")
    assert outer.ways == [Way("outer/node/", "outer/->END")]
    assert part_at(whole, "outer/node/").ways == [Way("outer/node/node", "outer/node/->END")]


def test_a_plain_worker_has_no_box_of_its_own() -> None:
    whole = outline(Parallel("sizes", len, over="docs"))
    assert tree(whole) == ("sizes", ["sizes"])
    assert whole.parts[0].kind is Kind.EACH


@QUICK
@given(WORKFLOWS)
def test_every_place_of_any_workflow_has_a_box_and_every_way_two_ends(meant: Meant) -> None:
    pattern = pattern_of(meant)
    whole = outline(pattern)
    boxes = [*parts_in(whole)]
    keys = [part.key for part in boxes]
    assert len(set(keys)) == len(keys)
    assert {path for path in pattern.plan.places if not path.endswith("->")} <= {part.path for part in boxes}
    for part in boxes:
        inside = {each.key for each in part.parts}
        assert all({way.source, way.target} <= inside for way in part.ways)
        entered = {way.target for way in part.ways}
        if part.kind in (Kind.CHAIN, Kind.CONDITIONAL):
            assert inside - entered == {part.parts[0].key}
