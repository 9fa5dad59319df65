"""The flowcharts, read back as nodes and lines between them."""

import re
from collections.abc import Mapping

from tests.workflows._words import Counted

from stagepost.workflows import Chain, Conditional, Graph, Parallel, Pattern, State, key_equals, step

_NODE = re.compile(r'^ +(?:subgraph )?(\w+)[\[{]"(.*)"[\]}]$')
_LINE = re.compile(r'^ +(\w+) -->(?:\|"(.*)"\|)? (\w+)$')


def drawn(workflow: Pattern) -> tuple[list[str], set[tuple[str, str, str]]]:
    """Texts of all nodes and (from, label, to) of all lines; nothing else may be in the diagram but `end`."""
    head, *rest = workflow.mermaid().splitlines()
    assert head == "flowchart TD"
    nodes: Mapping[str, str] = {m[1]: m[2] for m in map(_NODE.match, rest) if m}
    lines = [m for m in map(_LINE.match, rest) if m]
    assert len(nodes) + len(lines) + sum(line.strip() == "end" for line in rest) == len(rest)
    return sorted(nodes.values()), {(nodes[m[1]], m[2] or "", nodes[m[3]]) for m in lines}


def urgency(state: State) -> str:
    return "high"


A, B, C = (step(name, lambda _: None, inline=True) for name in "abc")


def test_a_chain_is_a_line() -> None:
    assert drawn(Chain("c", [A, Chain("d", [B]), C])) == (["a", "b", "c"], {("a", "", "b"), ("b", "", "c")})


def test_a_conditional_is_a_diamond_whose_ways_meet_again() -> None:
    choice = Conditional("choice", urgency, {"high": A}, default=B)
    assert drawn(Chain("c", [choice, C])) == (
        ["a", "b", "c", "choice"],
        {("choice", "high", "a"), ("choice", "default", "b"), ("a", "", "c"), ("b", "", "c")},
    )


def test_a_fan_out_is_a_frame_round_its_worker() -> None:
    assert drawn(Chain("c", [Parallel("p", A, over="n"), B])) == (["a", "b", "each of p"], {("each of p", "", "b")})
    nodes, lines = drawn(Parallel("p", Chain("w", [A, B]), over="n"))
    assert (nodes, lines) == (["a", "b", "each of p"], {("a", "", "b")})


def test_a_graph_is_drawn_with_its_conditions() -> None:
    graph = Graph("g")
    graph.add("a", A)
    graph.add("b", B)
    graph.add("c", Conditional("choice", urgency, {"high": C}))
    graph.edge("a", "b", when=key_equals("x", 'a "quoted" text'))
    graph.edge("a", "c", when=lambda _: True)
    graph.edge("b", "a")
    graph.start("a")
    graph.finish("c")
    assert drawn(Chain("chain", [graph, step("after", lambda _: None)])) == (
        ["a", "after", "b", "c", "choice"],
        {
            ("a", """x is 'a 'quoted' text'""", "b"),
            ("a", "when", "choice"),
            ("b", "", "a"),
            ("choice", "high", "c"),
            ("c", "", "after"),
        },
    )


def test_a_graph_at_the_end_leads_nowhere() -> None:
    graph = Graph("g")
    graph.add("a", Counted().adds("a"))
    graph.start("a")
    graph.finish("a")
    assert drawn(graph) == (["a"], set())
