"""How the API of workflows looks to a type checker. Checked by mypy, never run."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, assert_type

from pydantic import BaseModel

from stagepost.checkpoint import (
    CorruptRun,
    Counts,
    Keep,
    Limits,
    MemoryStore,
    Page,
    RunInfo,
    RunStatus,
    SqliteStore,
    Statement,
)
from stagepost.hub import Event, Hub
from stagepost.workflows import (
    Ask,
    Chain,
    ChainError,
    CheckReport,
    Conditional,
    ConditionalError,
    Continued,
    Fold,
    FoldError,
    Graph,
    GraphError,
    Inbox,
    ItemAccounts,
    ItemFailure,
    Parallel,
    ParallelError,
    Pattern,
    PendingWait,
    RecoveryReport,
    Retry,
    Run,
    RunEnded,
    RunEvent,
    RunFailed,
    RunFinding,
    RunLimit,
    Runner,
    RunnerStatistics,
    RunView,
    Schedule,
    State,
    Step,
    StepContext,
    WorkflowError,
    all_of,
    any_of,
    check_runs,
    key_equals,
    key_exists,
    not_,
    step,
)
from stagepost.workflows.otel import RunMetrics
from stagepost.workflows.patterns import (
    Arrow,
    Builder,
    Done,
    Join,
    Next,
    Node,
    NodeLike,
    Target,
    Updates,
    View,
    describe,
)


class Document(BaseModel):
    name: str


class Summary(BaseModel):
    text: str


class Ack(BaseModel):
    ok: bool


class Draft(BaseModel):
    topic: str
    text: str = ""
    ok: bool = False


# steps: async or sync, with a context or without, returning nothing, updates or a state


async def load(state: State) -> dict[str, object]:
    assert_type(state["folder"], Any)
    return {"documents": [{"name": "a"}]}


def tidy(state: State) -> State:
    return state.set("tidy", value=True).merge({"n": 1})


async def publish(state: State, context: StepContext) -> None:
    await context.note("seen", {"pages": 3})
    assert_type(context.noted("seen"), Any)
    assert_type(context.was_cancelled, bool)
    assert_type(context.run_id, str)
    assert_type(context.idempotency_key, str)
    assert_type(context.hub, Hub | None)


async def summarize(document: Document, context: StepContext) -> Summary:
    return Summary(text=document.name)


def urgency(state: State) -> Literal["urgent", "normal"]:
    return "urgent"


def page(state: State) -> Document:
    return Document(name=state["name"])


named = step("tidy-again", tidy)
inline = step(tidy, inline=True)
patient = Retry(attempts=None, first=1, most=30.0, jitter=0, on=(ConnectionError, TimeoutError))
selective = Retry(on=lambda error: "again" in str(error))
assert_type(step(load, retry=patient, timeout=1, catch=OSError, into="problem"), Step)
assert_type(named, Step)
assert_type(inline, Step)
assert_type(Ask("oncall", page, expect=Ack, timeout=60, retry=selective), Step)


def tell(state: State, item: Document, context: StepContext) -> dict[str, str]:
    return {"last": item.name}


assert_type(Chain.fold("tell", tell, over="documents", retry=patient, timeout=1), Fold)

digest = Chain(
    "digest",
    [
        load,
        tidy,
        named,
        step("count", lambda state: {"n": len(state["documents"])}, inline=True),
        Parallel("summaries", summarize, over="documents", failures="unreadable", workers=8),
        Parallel("lengths", step("length", len), over=lambda state: state["documents"], into="n"),
        Conditional("triage", urgency, {"urgent": Ask("oncall", page, expect=Ack), "normal": tidy}, default=publish),
        publish,
    ],
    types={"page": Ack},
    version=2,
)


# a typed state in a graph


async def write(draft: Draft) -> Draft:
    return draft.model_copy(update={"text": draft.topic})


def check(draft: Draft) -> Mapping[str, object]:
    return {"ok": len(draft.text) > 10}


review = Graph("review", max_steps=1000, state=Draft)
review.add("draft", write)
review.add("check", check)
review.add("done", digest)
review.edge("draft", "check")
review.edge("check", "done", when=key_equals("ok", value=True))
review.edge("check", "done", when=key_exists("text"))
review.edge("check", "draft", when=all_of(not_(key_exists("a")), any_of(key_equals("b", 1), lambda draft: draft.ok)))
review.edge("check", "draft", when=lambda draft: not draft.ok)
review.start("draft")
review.finish("done")
assert_type(review.mermaid(), str)


class Agent:
    """Something that can be served."""

    def as_workflow(self) -> Pattern:
        return digest


class Watcher:
    """An observer."""

    def on_event(self, event: Event, /) -> None:
        if isinstance(event, RunEvent):
            assert_type(event.run_id, str)
        if isinstance(event, RunEnded):
            assert_type(event.status, str)


async def in_memory() -> None:
    await digest.run({"folder": "inbox"})
    await review.run(Draft(topic="tides"), deps="pool", observer=Watcher())
    async with Hub("main") as hub:
        await digest.run(hub=hub)


async def in_the_background() -> None:
    async with (
        SqliteStore("runs.db") as store,
        Hub("main") as hub,
        Runner(store, hub=hub, workflows=[digest, review], deps=object(), observer=Watcher(), grace=1) as runner,
    ):
        checked = await runner.check()
        assert_type(checked, CheckReport)
        assert_type(checked.findings, Sequence[RunFinding])
        async with SqliteStore.reader("runs.db") as reader:
            assert_type(await check_runs(reader, workflows=[digest], migrations={"digest": {1: dict}}), CheckReport)
        report = await runner.recover()
        assert_type(report, RecoveryReport)
        assert_type(report.resumed, Sequence[Run])
        assert_type(report.left_open, Mapping[str, WorkflowError | CorruptRun])
        run = await runner.start(digest, {"folder": "inbox"}, run_id="digest-42")
        again = await runner.start(review, Draft(topic="tides"), key="once")
        assert_type(run, Run)
        assert_type(again.status, RunStatus)
        assert_type(await runner.get("digest-42"), Run)
        assert_type(await runner.resume("digest-42"), Run)
        assert_type(await runner.fork("digest-42", at=3, changes={"folder": "sent"}, effects="again"), Run)
        assert_type(await runner.retry_items("digest-42", path="notes", labels={"try": "2"}), Run)
        await runner.serve(digest)
        await runner.serve(Agent())
        try:
            await run.result()
        except RunFailed as failed:
            explain(failed.__cause__)
    async with MemoryStore() as memory, Runner(memory):
        pass


async def by_schedule(store: SqliteStore) -> None:
    limits = [RunLimit(workflow="digest", at_once=5), RunLimit(label="customer", value="a", per_minute=60)]
    async with Runner(store, workflows=[digest], limits=limits) as runner:
        made = await runner.schedule(digest, "0 7 * * *", key="morning", timezone="Europe/Berlin", missed="once")
        assert_type(made, Schedule)
        await runner.schedule(review, 60, key="often", state=Draft(topic="tides"), overlap="skip", jitter=5)
        assert_type(made.next_due, datetime | None)
        assert_type(await runner.schedules.list(), Page[Schedule])
        assert_type(await runner.schedules.pause("morning"), Schedule)
        assert_type(await runner.schedules.next_times("morning", 3), Sequence[datetime])
        assert_type((await runner.runs.get("run")).in_line, str | None)


def explain(error: BaseException | None) -> None:
    match error:
        case ChainError():
            assert_type(error.step, str)
            assert_type(error.index, int)
        case FoldError():
            assert_type(error.index, int | None)
        case ConditionalError():
            assert_type(error.route, str | None)
        case GraphError():
            assert_type(error.node, str)
            assert_type(error.path, tuple[str, ...])
        case ParallelError():
            assert_type(error.failures, tuple[ItemFailure, ...])
            assert_type(error.accounts, ItemAccounts)


# what a type checker refuses

Chain("wrong", [7])  # type: ignore[list-item]  # no step
Chain("wrong", [load], state=dict)  # type: ignore[arg-type]  # no model
Parallel("wrong", summarize, over=7)  # type: ignore[arg-type]  # neither a key nor a function
step("wrong")  # type: ignore[call-overload]  # no function


class Twice(Pattern):
    """One child, twice; a pattern made with the kit."""

    kind = "twice"

    def __init__(self, name: str, child: NodeLike) -> None:
        super().__init__(name)
        self._child = self.part(child)

    @property
    def children(self) -> Mapping[str, Node]:
        return {"child": self._child}

    def compile(self, builder: Builder) -> str:
        assert_type(builder.after, str | None)
        return builder.loop(self._next, {"": [Arrow("child")], "child": [Arrow("child", "once"), Arrow(None)]})

    def _next(self, child: str, state: View, entered: int) -> str | None:  # noqa: ARG002  # the kit's signature
        return "child" if entered < 2 else None


def _join(target: Target, done: Mapping[str, Done]) -> Updates:
    assert_type(describe(ValueError()), str)
    return target.take(done["child"]) | target.update({"n": 1})


def _parts_of_the_kit(context: StepContext, following: Next, join: Join) -> None:
    assert_type(context.clock(), float)
    assert_type(context.mask("text"), str)
    assert_type(context.limits, Limits)
    assert_type(following("a", dict, 1), str | None)
    joins: list[Join] = [join, _join]
    assert_type(len(joins), int)


def write_order(state: State, context: StepContext) -> None:
    context.write("INSERT INTO app_orders VALUES (?, ?)", context.run_id, 7)


async def continued(store: SqliteStore, runner: Runner) -> None:
    given = {"messages": Continued("turn-1", 2, then=["and now?"])}
    assert_type(await runner.start(Chain("turn", [write_order]), given, labels={"customer": "7"}), Run)
    assert_type(await store.elements("turn-1", "", "messages", after=1, limit=10), Page[bytes])
    assert_type((await store.head("turn-1")).row, int)
    assert_type(await runner.runs.list(labels={"customer": "7"}, newest_first=True), Page[RunInfo])
    page = await runner.runs.list(text="no answer", status=["failed"], before="1.1")  # type: ignore[list-item]  # a text
    assert_type((page.next, page.previous), tuple[str | None, str | None])
    assert_type(await runner.runs.count(by="status", workflow="turn"), Counts)
    await runner.runs.count(by="label")  # type: ignore[arg-type]  # nothing that runs are counted by
    await runner.runs.list(tenant="a")  # type: ignore[call-arg]  # no filter
    assert_type(await runner.runs.get("turn-1"), RunView)
    assert_type(await runner.runs.info("turn-1"), RunInfo)
    assert_type(runner.keep_of("turn"), Keep)
    await store.execute(Statement("DELETE FROM app_orders WHERE run = ?", ("turn-1",)))
    rows = await store.query("SELECT * FROM app_orders WHERE run = ?", "turn-1")
    assert_type(rows, Sequence[tuple[str | int | float | bytes | None, ...]])


async def measured(store: SqliteStore) -> None:
    metrics = RunMetrics()
    async with Runner(store, observer=metrics) as runner, metrics.watching(runner, every=timedelta(seconds=30)):
        assert_type(runner.statistics(), RunnerStatistics)
        assert_type(runner.statistics().in_line, int)


async def beside_a_runner() -> None:
    async with SqliteStore.inbox("runs.db") as store:
        inbox = Inbox(store, workflows=[digest], secrets={"key": "value"})
        assert_type(await inbox.waits("digest-42"), Sequence[PendingWait])
        await inbox.answer("digest-42/approval", {"ok": True}, by="Ada")
        assert_type(await inbox.signal("digest-42", "paid", 1), bool)
        await inbox.settle("digest-42", "transfer", retry=True)
        await inbox.cancel("digest-42")
