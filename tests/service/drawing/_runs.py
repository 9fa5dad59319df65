"""Workflows of all patterns, nested, and runs of them that stand somewhere."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from stagepost.checkpoint import MemoryStore, RunStatus, Snapshot
from stagepost.workflows import (
    END,
    Chain,
    Conditional,
    Graph,
    HistoryEntry,
    Parallel,
    Pattern,
    Runner,
    State,
    Wait,
    key_equals,
    key_exists,
    step,
)

SVG = "{http://www.w3.org/2000/svg}"


def nothing(state: State) -> Mapping[str, object]:
    return {}


def count(state: State) -> Mapping[str, object]:
    return {"n": state.get("n", 0) + 1}


def pick(state: State) -> str:
    return "deep" if state.get("n") else "quick"


def docs(state: State) -> Mapping[str, object]:
    return {"docs": [0, 1, 2, 3]}


def measure(item: int) -> int:
    if item == 1:
        raise ValueError("no such <document>")
    return item


def nested() -> Pattern:
    """Chain, graph, conditional, fan-out with a pattern in it, branches, fold."""
    check = Chain("check", [step("fetch", nothing), Wait("approve", expect=bool)])
    deep = Chain("slow", [step("one", count), Parallel("checks", check, over="docs", into="checked")])
    graph = Graph("review")
    graph.add("draft", Chain("write", [step("outline", nothing), step("prose", nothing)]))
    graph.add("judge", Conditional("kind", pick, {"quick": step("fast", count), "deep": deep}, default=nothing))
    press = Chain("press", [step("write", nothing), step("send", nothing)])
    graph.add("both", Parallel("both", {"legal": nothing, "press": press}))
    graph.start("draft")
    graph.edge("draft", "judge")
    graph.edge("judge", "draft", when=key_equals("n", 1))
    graph.edge("judge", "both")
    graph.edge("both", END, when=key_exists("checked"))
    graph.edge("both", "judge")
    sizes = Parallel("sizes", measure, over="docs", failures="failed")
    fold = Chain.fold("addup", lambda state, item: {}, over="docs")  # noqa: ARG005  # a step's signature
    return Chain("campaign", [step("load", docs), sizes, graph, step("save", nothing), fold])


async def parked(workflow: Pattern, waits: int) -> tuple[Snapshot, Sequence[HistoryEntry]]:
    """A run of it, once it waits for so many answers, and its history."""
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        run = await runner.start(workflow, {}, keep="all")
        with runner.listen(run.id) as listening:
            while (await runner.runs.info(run.id)).status is not RunStatus.WAITING:
                await listening.next()
            assert len(await runner.waits(run.id)) == waits
        snapshot = await store.load(run.id)
        history = await runner.runs.history(run.id, limit=1000)
        await runner.cancel(run.id)
        return snapshot, [*history.items, *history.under_way]


def titles(svg: str) -> Sequence[str]:
    """What a picture says to those who do not see it."""
    return [found.text or "" for found in ET.fromstring(svg).iter(f"{SVG}title")]  # noqa: S314  # our own


def links(svg: str) -> Mapping[str, str]:
    """Where the links of a picture lead, by their ids."""
    found = ET.fromstring(svg).iter(f"{SVG}a")  # noqa: S314  # our own
    return {each.attrib["id"]: each.attrib["href"] for each in found}


def texts(svg: str) -> Sequence[str]:
    """What a picture says to those who see it."""
    found = ET.fromstring(svg).iter(f"{SVG}text")  # noqa: S314  # our own
    return ["".join([each.text or "", *(inner.tail or "" for inner in each)]) for each in found]


def ways(svg: str) -> tuple[int, int]:
    """How many arrows a picture has, and how many of these are taken."""
    found = [each for each in ET.fromstring(svg).iter(f"{SVG}path") if "d-tip" in each.attrib["class"]]  # noqa: S314
    taken = [each for each in found if "is-taken" in each.attrib["class"]]
    return sum(each.attrib["d"].count("M") for each in found), sum(each.attrib["d"].count("M") for each in taken)
