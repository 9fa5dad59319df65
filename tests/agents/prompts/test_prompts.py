from datetime import timedelta, timezone

import anyio
import pytest
from anyio import fail_after
from tests.agents.prompts._registries import Clock, Registry

from stagepost.agents import (
    Agent,
    FilledPrompt,
    FunctionModel,
    InvalidPrompt,
    ModelRequest,
    PromptContext,
    PromptFailed,
    Prompts,
    PromptsUnavailable,
    Recorder,
    ScriptedModel,
    Tasks,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed, Runner

LOCAL = {"w": "local {{version}}"}


async def used(prompts: Prompts, name: str = "w") -> FilledPrompt:
    """What a turn of an agent would use now."""
    model = ScriptedModel(["done"])
    await Agent("agent", prompts.use(name), model=model).run("?")
    prompt = model.requests[0].prompt
    assert prompt is not None
    assert model.requests[0].messages[0].text == prompt.text
    return prompt


async def test_the_registry_gives_the_text_and_its_version() -> None:
    registry = Registry({"w": "registered {{version}} {{model_name}}"}, version=7)
    found = await used(Prompts(registry, LOCAL, label="staging"))
    assert found == FilledPrompt("registered 7 ScriptedModel", "w", "7", "registry")
    assert registry.asked == ["w@staging"]


@pytest.mark.parametrize(
    "registry",
    [None, Registry(), Registry(error=OSError("no route")), Registry({"w": "new {{unknown}}"})],
    ids=["none", "name-unknown", "unreachable", "unknown-variable"],
)
async def test_the_local_text_is_used_where_the_registry_has_none(registry: Registry | None) -> None:
    assert await used(Prompts(registry, LOCAL)) == FilledPrompt("local local", "w", "local", "fallback")


async def test_a_slow_registry_costs_a_turn_no_more_than_the_time_limit() -> None:
    registry = Registry({"w": "late"}, first=anyio.sleep_forever)
    with fail_after(10):
        assert (await used(Prompts(registry, LOCAL, timeout=0.01))).source == "fallback"
        async with Prompts(registry, LOCAL, timeout=0.01) as prompts:
            assert (await used(prompts)).source == "fallback"


async def test_a_text_is_asked_for_again_when_it_is_too_old() -> None:
    clock, registry = Clock(), Registry({"w": "one"})
    prompts = Prompts(registry, LOCAL, ttl=60, clock=clock)
    assert (await used(prompts)).text == "one"
    registry.texts["w"], registry.version = "two", 2
    clock.now += 59
    assert (await used(prompts)).text == "one"
    clock.now += 1
    assert (await used(prompts)).text == "two"
    assert len(registry.asked) == 2


async def test_the_last_text_stays_while_the_registry_is_away_and_goes_when_it_is_deleted() -> None:
    clock, registry = Clock(), Registry({"w": "one"})
    prompts = Prompts(registry, LOCAL, ttl=60, clock=clock)
    assert (await used(prompts)).text == "one"
    registry.error = OSError("no route")
    clock.now += 60
    assert (await used(prompts)).text == "one"
    clock.now += 9  # a registry that has failed is not asked by each turn
    assert (await used(prompts)).text == "one"
    assert len(registry.asked) == 2
    registry.error = None
    del registry.texts["w"]
    clock.now += 1
    assert (await used(prompts)).source == "fallback"


async def test_an_old_text_is_used_while_the_new_one_is_fetched_in_the_background() -> None:
    clock, registry, let = Clock(), Registry({"w": "one"}), anyio.Event()
    async with Prompts(registry, LOCAL, ttl=60, clock=clock) as prompts:
        assert (await used(prompts)).text == "one"
        registry.first, registry.texts["w"] = let.wait, "two"
        clock.now += 60
        for _ in range(3):
            assert (await used(prompts)).text == "one"
        let.set()
        with fail_after(10):
            while (await used(prompts)).text == "one":
                await anyio.lowlevel.checkpoint()
        assert len(registry.asked) == 3  # by the start, at first use, and once when it was too old


async def test_turns_that_begin_at_once_ask_the_registry_once() -> None:
    let = anyio.Event()
    registry = Registry({"w": "one"}, first=let.wait)
    found: list[str] = []

    async def ask(prompts: Prompts) -> None:
        found.append((await used(prompts)).text)

    with fail_after(10):
        prompts = Prompts(registry, LOCAL, timeout=5)
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask, prompts)
            await anyio.wait_all_tasks_blocked()
            let.set()
    assert found == ["one"] * 5
    assert registry.asked == ["w@production"]


async def test_a_cancelled_turn_leaves_the_next_one_able_to_fetch() -> None:
    clock, registry = Clock(), Registry({"w": "one"}, first=anyio.sleep_forever)
    prompts = Prompts(registry, LOCAL, timeout=60, clock=clock)
    with anyio.move_on_after(0.01):
        await used(prompts)
    registry.first = anyio.lowlevel.checkpoint
    clock.now += 10
    assert (await used(prompts)).text == "one"


async def test_a_start_creates_what_is_missing_and_changes_nothing_else() -> None:
    registry = Registry({"w": "edited"})
    async with Prompts(registry, {**LOCAL, "v": "local v"}) as prompts:
        assert registry.texts == {"w": "edited", "v": "local v"}
        assert await prompts.sync() == ()
    async with Prompts(Registry(), LOCAL, create_missing=False) as prompts:
        assert await prompts.sync() == ("w",)
    async with Prompts(None, LOCAL) as prompts:
        assert await prompts.sync() == ()


async def test_a_start_without_the_registry_is_logged_and_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    async with Prompts(Registry(error=OSError("no route")), LOCAL):
        pass
    (said,) = caplog.messages
    assert said.startswith("prompts_not_synced")
    assert "no route" in said


async def test_a_version_that_cannot_be_used_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    prompts = Prompts(Registry({"w": "{{unknown}} {{version}}"}, version=4), LOCAL)
    await used(prompts)
    await used(prompts)
    (said,) = caplog.messages
    assert said.startswith("prompt_not_usable")
    assert "version=4 unknown=['unknown']" in said


async def test_health_is_asked_of_the_registry_whatever_is_kept() -> None:
    registry = Registry({"w": "one"})
    prompts = Prompts(registry, LOCAL, timeout=0.01)
    await used(prompts)
    await prompts.check()
    await Prompts(Registry(), LOCAL).check()
    await Prompts(None, {}).check()
    registry.error = OSError("no route")
    with pytest.raises(PromptsUnavailable, match="no route"):
        await prompts.check()
    registry.error, registry.first = None, anyio.sleep_forever
    with pytest.raises(PromptsUnavailable, match=r"0\.01 s"):
        await prompts.check()


async def test_variables_are_filled_for_each_turn() -> None:
    clock = Clock()
    clock.now = 1_795_478_400 - 60  # 2026-11-23T23:59Z
    prompts = Prompts(
        None,
        {"w": "{{current_date}} {{model_name}} {{version}} {{who}} {{run}}"},
        variables={"who": "nobody", "version": "1.2", "run": lambda context: context.agent},
        clock=clock,
        zone=timezone(timedelta(hours=2)),
    )
    assert (await used(prompts)).text == "2026-11-24 ScriptedModel 1.2 nobody agent"
    model = ScriptedModel(["done"])
    await Agent("other", prompts.use("w", variables={"who": "you"}), model=model).run("?")
    assert model.requests[0].messages[0].text == "2026-11-24 ScriptedModel 1.2 you other"


async def test_a_variable_that_fails_fails_the_run_and_says_whose_prompt_it_is() -> None:
    def tenant(context: PromptContext) -> str:
        raise LookupError("no such tenant")

    prompts = Prompts(None, {"w": "{{tenant}}"}, variables={"tenant": tenant})
    with pytest.raises(PromptFailed, match=r"'agent'.*no such tenant"):
        await used(prompts)


def test_a_use_that_cannot_be_filled_is_refused_when_it_is_built() -> None:
    prompts = Prompts(None, {"w": "{{city}} {{lnaguage}}"}, variables={"city": "Oslo"})
    with pytest.raises(InvalidPrompt, match=r"names lnaguage: .*current_date, model_name, version, city"):
        prompts.use("w")
    with pytest.raises(InvalidPrompt, match=r"'v'.*fallback= \(known: w\)"):
        prompts.use("v")
    prompts.use("w", variables={"lnaguage": "Norwegian"})


async def test_the_trace_of_a_run_says_where_its_prompt_is_from() -> None:
    registry = Registry({"w": "one"}, version=3)
    prompts = Prompts(registry, LOCAL, ttl=0)
    for expected in (
        {"prompt_name": "w", "prompt_version": "3", "prompt_source": "registry"},
        {"prompt_name": "w", "prompt_version": "local", "prompt_source": "fallback"},
    ):
        recorder = Recorder()
        await Agent("agent", prompts.use("w"), model=ScriptedModel(["done"])).run("?", tracing=recorder)
        (asked,) = recorder.last.find("inference-agent")
        assert {key: value for key, value in asked.metadata.items() if key.startswith("prompt")} == expected
        registry.texts.clear()


async def test_a_resumed_run_uses_the_text_of_its_time() -> None:
    registry, store, seen = Registry({"w": "one"}), MemoryStore(), list[str]()

    def answer(request: ModelRequest) -> str:
        seen.append(request.messages[0].text)
        if len(seen) == 1:
            raise OSError("no model")
        return "done"

    async with store:
        for _ in range(2):
            agent = Agent("agent", Prompts(registry, LOCAL).use("w"), model=FunctionModel(answer))
            async with Runner(store, workflows=[agent]) as runner:
                if seen:
                    await (await runner.resume("r")).result()
                else:
                    await Tasks(runner).start(agent, "?", task_id="r")
                    with pytest.raises(RunFailed):
                        await (await runner.get("r")).result()
            registry.texts["w"] = "two"
    assert seen == ["one", "two"]


async def test_a_fetch_that_leaving_has_cut_off_is_made_again() -> None:
    clock, registry = Clock(), Registry({"w": "one"})
    prompts = Prompts(registry, LOCAL, clock=clock)
    async with prompts:
        await used(prompts)
        clock.now += 60
        await used(prompts)  # begins a fetch, which does not get to run
    registry.texts["w"] = "two"
    assert (await used(prompts)).text in ("one", "two")
    clock.now += 60
    assert (await used(prompts)).text == "two"
