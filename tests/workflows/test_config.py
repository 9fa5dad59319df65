"""Runners from configuration."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from tests.workflows._words import NOTHING, PATIENCE, Recorder

import stagepost.workflows
from stagepost.checkpoint import Keep, MemoryStore, StoreConfig, StoreRegistry
from stagepost.hub import InvalidConfig, Registry
from stagepost.workflows import (
    END,
    Chain,
    DefinitionError,
    Graph,
    GraphConfig,
    GraphError,
    Parallel,
    ParallelConfig,
    Runner,
    RunnerConfig,
    step,
)


async def test_a_runner_and_its_store_are_made_from_one_file(tmp_path: Path) -> None:
    recorder, file = Recorder(), tmp_path / "app.toml"
    file.write_text('[store]\nkind = "memory"\n[runner]\nobservers = ["mine"]\ngrace = 0\nkeep_for = "P1D"\n')
    config = RunnerConfig.load(file, table="runner")
    assert config == RunnerConfig(observers=("mine",), grace=0, keep_for=timedelta(days=1))
    work = Chain(
        "work", [NOTHING, step("key", lambda _, context: {"n": len(context.secrets["key"]), "d": context.deps})]
    )
    store = StoreRegistry().store(StoreConfig.load(file, table="store"))
    registry = Registry({"mine": lambda: recorder})
    given: dict[str, Any] = {"workflows": [work], "deps": 7, "secrets": {"key": "abc"}}
    with fail_after(PATIENCE):
        async with store, Runner.from_config(config, store, registry=registry, **given) as runner:
            result = await (await runner.start(work)).result()
    assert dict(result) == {"n": 3, "d": 7}
    assert {"RunStarted", "RunEnded"} <= set(recorder.names)


async def test_the_defaults_are_those_of_code() -> None:
    made, written = Runner.from_config(RunnerConfig(), MemoryStore()), Runner(MemoryStore())
    for name in ("_grace", "_max_running", "_max_attempts", "_keep_for", "_keep_keys"):
        assert getattr(made, name) == getattr(written, name), name
    assert made._keeping.of("work") == written._keeping.of("work") == Keep.RESULT


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("toml", 'max_running = 7\nkeep_for = 60\n[keep]\nwork = "all"\n'),
        ("json", '{"max_running": 7, "keep_for": 60, "keep": {"work": "all"}}'),
    ],
    ids=["toml", "json"],
)
def test_configuration_is_read_from_files(tmp_path: Path, suffix: str, text: str) -> None:
    file = tmp_path / f"app.{suffix}"
    file.write_text(text)
    config = RunnerConfig.load(file)
    assert config == RunnerConfig(max_running=7, keep_for=timedelta(minutes=1), keep={"work": Keep.ALL})
    assert Runner.from_config(config, MemoryStore())._keeping.of("work") is Keep.ALL


def test_an_explicit_zero_or_none_survives_merging() -> None:
    base = RunnerConfig(grace=5, max_running=7, keep_for=timedelta(1))
    merged = base.merge(RunnerConfig(grace=0, max_running=None, keep_for=None, max_attempts=5))
    assert (merged.grace, merged.max_running, merged.keep_for, merged.max_attempts) == (0, None, None, 5)
    assert base.merge({}) == base


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"max_running": 0}, "max_running: Input should be greater"),
        ({"max_attempts": 0}, "max_attempts: Input should be greater"),
        ({"keep": "some"}, "keep"),
        ({"keep_for": -1}, "keep_for: Input should be greater"),
        ({"keep_keys": -1}, "keep_keys: Input should be greater"),
        ({"grace": "long"}, "grace: Input should be a valid number"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_an_error_with_its_place(values: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        RunnerConfig().merge(values)


def test_an_observer_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(InvalidConfig, match="no observer is called 'odd'"):
        Runner.from_config(RunnerConfig(observers=("odd",)), MemoryStore())


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = stagepost.workflows.Nothing


class TestPatterns:
    """Settings of patterns."""

    @pytest.mark.parametrize(
        ("suffix", "text"),
        [
            ("toml", "[research]\nmax_steps = 3\n[pages]\nworkers = 2\n[links]\nworker_cap = 1\n"),
            (
                "json",
                '{"research": {"max_steps": 3}, "pages": {"workers": 2, "worker_cap": 16}, "links": {"worker_cap": 1}}',
            ),
        ],
        ids=["toml", "json"],
    )
    async def test_patterns_take_their_settings_from_configuration(
        self, suffix: str, text: str, tmp_path: Path
    ) -> None:
        file = tmp_path / f"app.{suffix}"
        file.write_text(text)
        graph = Graph("research", config=GraphConfig.load(file, table="research"))
        graph.add("think", NOTHING)
        graph.start("think")
        graph.edge("think", END, when=lambda _: False)
        graph.edge("think", "think")
        with fail_after(PATIENCE), pytest.raises(GraphError, match="max_steps=3"):
            await graph.run()
        pages = Parallel("pages", abs, over="n", config=ParallelConfig.load(file, table="pages"))
        links = Parallel("links", abs, over="n", config=ParallelConfig.load(file, table="links"))
        assert (pages.width(9), links.width(9)) == (2, 1)
        assert await links.map([-1, 2]) == [1, 2]

    def test_the_defaults_are_those_of_code(self) -> None:
        written, made = Graph("g"), Graph("g", config=GraphConfig())
        assert written.max_steps == made.max_steps == 1000
        assert Graph("g", max_steps=None).max_steps is Graph("g", config=GraphConfig(max_steps=None)).max_steps is None
        one, other = Parallel("p", abs, over="n"), Parallel("p", abs, over="n", config=ParallelConfig())
        assert one.width(1000) == other.width(1000) <= 16
        assert Parallel("p", abs, over="n", worker_cap=1).width(9) == 1
        assert Parallel("p", abs, over="n", workers=30, worker_cap=1).width(99) == 30
        assert Parallel("p", {"a": NOTHING, "b": NOTHING}, worker_cap=1).width(2) == 2

    def test_merging_keeps_what_is_explicit(self) -> None:
        assert GraphConfig(max_steps=5).merge(GraphConfig(max_steps=None)).max_steps is None
        assert GraphConfig(max_steps=5).merge({}).max_steps == 5
        assert ParallelConfig(workers=5, worker_cap=4).merge({"workers": None}) == ParallelConfig(worker_cap=4)

    def test_settings_are_given_once_and_can_work(self) -> None:
        with pytest.raises(DefinitionError, match="give one of them"):
            Graph("g", max_steps=5, config=GraphConfig())
        with pytest.raises(DefinitionError, match="give one of them"):
            Parallel("p", abs, over="n", config=ParallelConfig(), workers=5)
        with pytest.raises(DefinitionError, match="give one of them"):
            Parallel("p", abs, over="n", config=ParallelConfig(), worker_cap=5)
        with pytest.raises(DefinitionError, match="worker_cap=0"):
            Parallel("p", abs, over="n", worker_cap=0)
        with pytest.raises(InvalidConfig):
            GraphConfig().merge({"max_steps": 0})
        with pytest.raises(InvalidConfig):
            ParallelConfig().merge({"worker_cap": 0})
