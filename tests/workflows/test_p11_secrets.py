"""Values given as secrets never reach a store, an event or a log; their text is masked in errors."""

import dataclasses
import io
import logging
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from anyio import fail_after
from pydantic import BaseModel, SecretStr, TypeAdapter
from tests.workflows._words import PATIENCE, Gate, Recorder, Store, leave_at, running

from stagepost.checkpoint import CannotStore, MemoryStore, SqliteStore
from stagepost.hub import HandlerFailed, Hub, LogObserver, MultiObserver
from stagepost.workflows import (
    Chain,
    ChainError,
    Conditional,
    DefinitionError,
    Graph,
    MaskedError,
    MissingSecret,
    Parallel,
    PatternError,
    Receive,
    RunEvent,
    RunFailed,
    State,
    StepContext,
    Wait,
    step,
)
from stagepost.workflows._values._secrets import Secrets

KEY = "sk-live-Ä\"9'f&7/q2 Zx81\\bTn4 and rather long, as tokens of clouds are"
SECRETS = {"api_key": KEY}


class Refused(Exception):
    pass


def blurt(state: object, context: StepContext) -> None:
    raise Refused(f"key {context.secrets['api_key']} was refused")


def leaks(context: StepContext) -> Mapping[str, object]:
    return {"token": f"Bearer {context.secrets['api_key']}"}


async def test_steps_read_secrets_by_name(store: Store) -> None:
    seen: list[object] = []

    async def look(state: State, context: StepContext) -> None:
        seen.append((context.secrets["api_key"], dict(context.secrets)["pin"], len(context.secrets)))

    work = Chain("work", [look])
    given: dict[str, str | SecretStr] = {"api_key": KEY, "pin": SecretStr("1234")}
    await work.run(secrets=given)
    async with running(store, work, secrets=given) as runner:
        await (await runner.start(work)).result()
    assert seen == [(KEY, "1234", 2)] * 2


async def test_each_process_gives_its_own(store: Store) -> None:
    gate, seen = Gate(), list[str]()
    work = Chain("work", [gate.step, step("look", lambda _, context: seen.append(context.secrets["api_key"]))])
    await leave_at(gate, store, work)
    async with running(store, work, secrets={"api_key": "another one"}) as runner:
        await (await runner.recover()).resumed[0].result()
    assert seen == ["another one"]


async def test_a_secret_that_was_not_given_is_an_error_that_names_those_that_were() -> None:
    work = Chain("work", [step("look", lambda _, context: context.secrets["key"])])
    with pytest.raises(ChainError, match="there is no secret 'key', but api_key: give it to Runner") as caught:
        await work.run(secrets=SECRETS)
    assert isinstance(caught.value.__cause__, MissingSecret)
    with pytest.raises(ChainError, match="there is no secret 'key', but none at all"):
        await work.run()


def texts_of(errors: BaseException | None) -> str:
    found = ""
    while errors is not None:
        found += f"{errors!r} {errors} "
        errors = errors.__cause__
    return found


def graph(node: Any) -> Graph:
    made = Graph("graph")
    made.add("node", node)
    made.start("node")
    made.finish("node")
    return made


WAYS: dict[str, Callable[[], Any]] = {
    "chain": lambda: Chain("work", [blurt]),
    "route": lambda: Conditional("work", blurt, {"a": Chain("a", [print])}),
    "conditional": lambda: Conditional("work", lambda _: "a", {"a": blurt}),
    "graph": lambda: graph(blurt),
    "fold": lambda: Chain.fold("work", lambda state, _, context: blurt(state, context), over=lambda _: [1]),
    "worker": lambda: Parallel("work", blurt, over=lambda _: [1]),
    "pattern as worker": lambda: Parallel("work", Chain("inner", [blurt]), over=lambda _: [1]),
    "branch": lambda: Parallel("work", {"one": blurt}),
    "nested": lambda: Chain("work", [graph(Parallel("fan", Chain("inner", [blurt]), over=lambda _: [1]))]),
}


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
async def test_p11_an_error_shows_stars_wherever_it_happens(make: Callable[[], Any], store: Store) -> None:
    workflow = make()
    with pytest.raises(PatternError, match=r"key \*\*\* was refused") as caught:
        await workflow.run(secrets=SECRETS)
    assert KEY not in texts_of(caught.value)
    async with running(store, workflow, secrets=SECRETS) as runner:
        run = await runner.start(workflow, run_id="r1")
        with pytest.raises(RunFailed, match=r"key \*\*\* was refused") as failed:
            await run.result()
        snapshot = await store.load("r1")
    assert KEY not in texts_of(failed.value)
    assert "***" in str(snapshot.run.error)
    assert KEY not in f"{snapshot}"


async def test_an_error_that_shows_no_secret_stays_what_it_is() -> None:
    def fail(state: State) -> None:
        raise Refused("no")

    with pytest.raises(ChainError) as caught:
        await Chain("work", [fail]).run(secrets=SECRETS)
    assert isinstance(caught.value.__cause__, Refused)


async def test_an_error_whose_cause_would_show_one_is_covered_too() -> None:
    def fail(state: State, context: StepContext) -> None:
        try:
            blurt(state, context)
        except Refused as error:
            raise ValueError("no") from error

    with pytest.raises(ChainError) as caught:
        await Chain("work", [fail]).run(secrets=SECRETS)
    cause = caught.value.__cause__
    assert isinstance(cause, MaskedError)
    assert (cause.kind, str(cause), cause.__cause__) == ("ValueError", "ValueError: no", None)


async def test_a_predicate_that_shows_one_is_masked() -> None:
    def show(state: State) -> bool:
        raise Refused(KEY)

    looping = Graph("graph")
    looping.add("a", step("a", lambda _: None))
    looping.edge("a", "a", when=show)
    looping.add("b", step("b", lambda _: None))
    looping.edge("a", "b")
    looping.start("a")
    looping.finish("b")
    with pytest.raises(PatternError, match=r"raised Refused: \*\*\*") as caught:
        await looping.run(secrets=SECRETS)
    assert KEY not in texts_of(caught.value)


async def test_an_error_without_a_cause_stays_without() -> None:
    stuck = Graph("graph")
    stuck.add("a", step("a", lambda _: None))
    stuck.edge("a", "a", when=lambda _: False)
    stuck.add("b", step("b", lambda _: None))
    stuck.edge("a", "b", when=lambda _: False)
    stuck.start("a")
    stuck.finish("b")
    with pytest.raises(PatternError, match="none of its edges matches") as caught:
        await Chain("work", [stuck]).run(secrets=SECRETS)
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__cause__ is None


async def test_errors_that_are_results_are_masked() -> None:
    state = await Chain("work", [step("a", blurt, catch=Refused, into="problem")]).run(secrets=SECRETS)
    assert state["problem"] == {"error": "Refused", "message": "key *** was refused"}
    fan = Parallel("fan", blurt, over=lambda _: [1], failures="bad", may_all_fail=True)
    assert (await fan.run(secrets=SECRETS))["bad"][0]["error"] == "Refused: key *** was refused"


class Typed(BaseModel):
    token: str = ""


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "value": (lambda: Chain("work", [step("a", lambda _, context: leaks(context))]), "'token', returned by step 'a',"),
    "key": (
        lambda: Chain("work", [step("a", lambda _, context: {context.secrets["api_key"]: 1})]),
        "a key that step 'a' returned",
    ),
    "deep": (
        lambda: Chain("work", [step("a", lambda _, context: {"x": [{"y": context.secrets["api_key"]}]})]),
        "'x', returned by step 'a',",
    ),
    "typed": (
        lambda: Chain("work", [step("a", lambda _, context: leaks(context))], state=Typed),
        "'token', returned by step 'a',",
    ),
    "worker": (
        lambda: Parallel("work", step("w", lambda _, context: leaks(context)), over=lambda _: [1]),
        "the value of work[0]",
    ),
    "fold": (
        lambda: Chain.fold("work", lambda _state, _item, context: leaks(context), over=lambda _: [1]),
        "'token', returned by step 'work',",
    ),
    "items": (lambda: Parallel("work", print, over=lambda _: [KEY]), "work[0]"),
    "merge": (
        lambda: Parallel("work", step("w", lambda _: 1), over=lambda _: [1], merge=lambda _, __: {"all": KEY}),
        "'all', returned by step 'work',",
    ),
}


@pytest.mark.parametrize(("make", "where"), RESULTS.values(), ids=RESULTS)
async def test_p11_what_holds_a_secret_is_refused_where_it_is_made(make: Callable[[], Any], where: str) -> None:
    refusal = f"{where} cannot be stored: it holds the text of secret 'api_key'"
    with fail_after(PATIENCE), pytest.raises(PatternError) as caught:
        await make().run(secrets=SECRETS)
    assert refusal in str(caught.value)
    assert KEY not in texts_of(caught.value)


async def test_p11_what_comes_from_outside_is_refused_too() -> None:
    work = Chain("work", [Wait("approval"), Wait("other", show=lambda _: KEY)])
    with pytest.raises(CannotStore, match="work"):
        await work.run({"a": KEY}, secrets=SECRETS)
    async with running(MemoryStore(), work, secrets=SECRETS) as runner:
        with pytest.raises(CannotStore, match="the input of 'work'"):
            await runner.start(work, {"a": KEY})
        run = await runner.start(work)
        await run.settled()
        with pytest.raises(CannotStore, match="the answer to"):
            await runner.answer(run.waits[0], KEY)
        await runner.answer(run.waits[0], "yes")
        with pytest.raises(RunFailed, match="what other shows cannot be stored"):
            await run.result()


async def test_an_effect_whose_outcome_holds_one_is_in_doubt() -> None:
    async def act(state: State, context: StepContext) -> None:
        await context.once("mail", lambda: context.secrets["api_key"])

    work = Chain("work", [act])
    async with running(MemoryStore(), work, secrets=SECRETS) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        with pytest.raises(CannotStore, match="the value of effect 'mail'"):
            await runner.settle("r1", "mail", value=KEY)
        await runner.settle("r1", "mail", value="sent")
        await run.result()


async def test_short_secrets_are_neither_searched_nor_masked() -> None:
    work = Chain("work", [step("a", lambda _, context: {"pin": context.secrets["pin"]})])
    assert (await work.run(secrets={"pin": "12345"}))["pin"] == "12345"
    with pytest.raises(ChainError, match="'pin', returned by"):
        await work.run(secrets={"pin": "123456"})


async def test_p11_events_of_steps_are_masked() -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Called(RunEvent):
        url: str
        count: int

    def call(state: State, context: StepContext) -> None:
        context.emit(Called, url=f"https://x/?key={quote(context.secrets['api_key'])}", count=1)

    recorder = Recorder()
    await Chain("work", [call]).run(secrets=SECRETS, observer=recorder)
    assert [(event.url, event.count) for event in recorder.of(Called)] == [("https://x/?key=***", 1)]


class Everything(Recorder):
    """Keeps events, and shows all their fields."""

    @property
    def text(self) -> str:
        return "".join(repr(dataclasses.asdict(event)) for event in self.events)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p11_no_byte_of_file_log_or_event_holds_a_secret_after_failing_runs(tmp_path: Path) -> None:
    log, recorder = io.StringIO(), Everything()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    observer = MultiObserver(recorder, LogObserver())
    workflows = [Chain(f"w{n}", [make()]) for n, make in enumerate(WAYS.values())]
    workflows += [Chain(f"v{n}", [make()]) for n, (make, _) in enumerate(RESULTS.values()) if n != 3]
    options = {"secrets": SECRETS, "observer": observer}
    try:
        with fail_after(PATIENCE):
            async with (
                Hub(observer=observer) as hub,
                running(SqliteStore(tmp_path / "runs.db"), *workflows, **options, hub=hub) as runner,
            ):
                for workflow in workflows:
                    with pytest.raises(RunFailed):
                        await (await runner.start(workflow)).result()
                await runner.serve(workflows[0])
                await hub.send("w0", {})  # nobody waits for its failure, so the hub logs it
                await hub.drain()
                found = contents(tmp_path)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert {"runs.db", "runs.db-wal"} <= found.keys()
    assert b"was refused" in found["runs.db-wal"]  # that is where it would be
    assert "was refused" in log.getvalue()
    found |= {"log": log.getvalue().encode(), "events": recorder.text.encode()}
    secrets = Secrets(SECRETS)
    for name, data in found.items():
        assert secrets.mask.find(data.decode(errors="replace")) is None, name
    assert [name for name, data in found.items() if KEY[8:24].encode() in data] == []


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_secrets_are_known_as_json_python_and_urls_write_them() -> None:
    secrets = Secrets(SECRETS)
    for text in (KEY, repr(KEY), quote(KEY, safe=""), TypeAdapter(str).dump_json(KEY).decode()):
        assert secrets.mask(f"<{text}>").strip("<>\"'") == "***"
    assert secrets.mask("nothing to see") == "nothing to see"


def test_a_piece_of_one_is_masked_where_a_library_has_cut_it() -> None:
    long = "".join(chr(97 + n % 26) + str(n) for n in range(40))
    with pytest.raises(ValueError, match="input_value") as caught:
        TypeAdapter(int).validate_python(long)
    assert long[:20] in str(caught.value)
    shown = Secrets({"key": long}).mask(str(caught.value))
    assert long[:12] not in shown
    assert long[-12:] not in shown


def test_secrets_do_not_show_themselves() -> None:
    secrets = Secrets(SECRETS)
    assert repr(secrets) == "Secrets(api_key)"
    with pytest.raises(TypeError, match="secrets are not pickled"):
        pickle.dumps(secrets)


def test_a_secret_is_text() -> None:
    with pytest.raises(DefinitionError, match="secret 'key' is int, not text"):
        Secrets({"key": 7})  # type: ignore[dict-item]  # what a type checker would have said


TOKEN = "sk-live-4711-0815"  # noqa: S105  # nobody's; it could be a name


async def put_key(context: StepContext) -> None:
    await context.once(context.secrets["token"], lambda: None)


async def put_first(context: StepContext) -> None:
    await context.first(context.secrets["token"])


async def put_note(context: StepContext) -> None:
    await context.note(context.secrets["token"], 1)


async def ask_by_key(context: StepContext) -> None:
    await context.wait_for_answer(context.secrets["token"])


async def start_child(context: StepContext) -> None:
    await context.child(CHILD, context.secrets["token"], {})


async def fall_back(context: StepContext) -> None:
    await context.wait_for_answer("question", within=0, otherwise=context.secrets["token"])


CHILD = Chain("child", [step("nothing", lambda _: None)])
IDENTIFIERS: dict[str, tuple[Any, str]] = {
    "once": (put_key, "the key of an effect of act"),
    "first": (put_first, "a key of act"),
    "note": (put_note, "a key of act"),
    "question": (ask_by_key, "the key of a question of act"),
    "child": (start_child, "the key of a child of act"),
    "otherwise": (fall_back, "otherwise of 'question'"),
}


@pytest.mark.parametrize(("act", "where"), IDENTIFIERS.values(), ids=IDENTIFIERS)
async def test_p11_a_key_that_shows_a_secret_is_refused_before_anything_is_written(
    act: Callable[[StepContext], Any], where: str, store: Store
) -> None:
    async def go(state: State, context: StepContext) -> None:
        await act(context)

    work = Chain("work", [step("act", go, answers=str)], companions=[CHILD])
    recorder = Recorder()
    async with running(store, work, secrets={"token": TOKEN}, observer=recorder) as runner:
        with fail_after(PATIENCE), pytest.raises(RunFailed, match=f"{where} cannot be stored") as caught:
            await (await runner.start(work, run_id="r1")).result()
        snapshot = await store.load("r1")
    assert TOKEN not in texts_of(caught.value)
    assert TOKEN not in f"{snapshot} {recorder.events}"
    assert "secret 'token'" in str(snapshot.run.error)


@pytest.mark.parametrize("name", ["run_id", "key", "trace"])
@pytest.mark.parametrize("text", ["{}", "a{}-7", "a {}/7"])
async def test_p11_what_names_a_run_is_refused_if_it_shows_a_secret(name: str, text: str, store: Store) -> None:
    given: dict[str, Any] = {name: text.format(TOKEN)}
    recorder = Recorder()
    async with running(store, CHILD, secrets={"token": TOKEN}, observer=recorder) as runner:
        with pytest.raises(
            CannotStore, match="of a run of 'child' cannot be stored: it holds the text of secret"
        ) as caught:
            await runner.start(CHILD, **given)
        assert TOKEN not in str(caught.value)
        assert not (await store.find()).items
    assert recorder.events == []


async def test_p11_trace_of_a_run_in_memory_is_refused_if_it_shows_a_secret() -> None:
    with pytest.raises(CannotStore, match="trace"):
        await CHILD.run(trace=f"for {TOKEN}", secrets={"token": TOKEN})


async def test_p11_what_a_request_names_its_run_by_is_refused_if_it_shows_a_secret(store: Store) -> None:
    async with Hub() as hub, running(store, CHILD, secrets={"token": TOKEN}, hub=hub) as runner:
        await runner.serve(CHILD)
        with pytest.raises(HandlerFailed, match="cannot be stored") as caught:
            await hub.request("child", {}, headers={"idempotency-key": TOKEN}, timeout=PATIENCE)
        assert TOKEN not in texts_of(caught.value)


async def test_p11_who_answers_and_what_a_signal_is_known_by_are_refused_if_they_show_a_secret(store: Store) -> None:
    work = Chain("work", [Wait("approval"), Receive("news")])
    async with running(store, work, secrets={"token": TOKEN}) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        with pytest.raises(CannotStore, match=r"by= of the answer to r1/approval cannot be stored"):
            await runner.answer("r1/approval", "yes", by=f"key {TOKEN}")
        with pytest.raises(CannotStore, match=r"dedup= of signal 'news' to run 'r1' cannot be stored"):
            await runner.signal("r1", "news", 1, dedup=TOKEN)
        assert [wait.id for wait in await runner.waits()] == ["r1/approval"]


async def test_p11_details_of_events_are_masked_wherever_they_are() -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Told(RunEvent):
        texts: object

    given: object = ["a", ("b", TOKEN), {TOKEN: [TOKEN], "n": 7}]
    recorder = Recorder()
    tell = step("tell", lambda _, context: context.emit(Told, texts=given))
    await Chain("work", [tell]).run(secrets={"token": TOKEN}, observer=recorder)
    (told,) = recorder.of(Told)
    assert told.texts == ["a", ("b", "***"), {"***": ["***"], "n": 7}]


class Keyed(Chain):
    """A workflow that knows a key."""

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        return (("the key of something", TOKEN),)


async def test_what_a_workflow_hides_is_masked_and_refused_though_nobody_has_given_it(store: Store) -> None:
    def fail(state: State) -> None:
        raise Refused(f"no {TOKEN}")

    for work in (Keyed("work", [fail]), Chain("work", [Keyed("inner", [fail])])):
        with pytest.raises(ChainError, match=r"Refused: no \*\*\*"):
            await work.run()
    work = Keyed("work", [step("tell", lambda _: {"a": TOKEN})])
    async with running(store, work) as runner:
        with pytest.raises(RunFailed, match="it holds the text of the key of something"):
            await (await runner.start(work)).result()
        with pytest.raises(CannotStore, match="the key of a run"):
            await runner.start(work, key=TOKEN)


async def test_what_a_served_workflow_or_a_companion_hides_is_known(store: Store) -> None:
    hiding = Keyed("hiding", [step("nothing", lambda _: None)])

    async def start_hiding(state: State, context: StepContext) -> None:
        await context.child(hiding, "one", {"a": TOKEN})

    lead = Chain("lead", [start_hiding], companions=[hiding])
    with pytest.raises(ChainError, match="the key of something"):
        await lead.run()
    async with Hub() as hub, running(store, CHILD, hub=hub) as runner:
        await runner.start(CHILD, {"a": TOKEN})
        await runner.serve(lead)
        with pytest.raises(CannotStore, match="the key of something"):
            await runner.start(CHILD, {"a": TOKEN})


async def test_map_takes_secrets() -> None:
    fan = Parallel("fan", step("w", lambda _, context: len(context.secrets)), over="n")
    assert await fan.map([1], secrets=SECRETS) == [1]
