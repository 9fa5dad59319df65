"""Bytes beside the state: what steps attach, what types bring, and what a run is started with."""

from datetime import timedelta
from typing import Annotated, Any

import anyio.lowlevel
import pytest
from anyio import fail_after
from pydantic import BaseModel, Field, FieldSerializationInfo, field_serializer, model_validator
from tests.workflows._words import Store

from stagepost.checkpoint import (
    Attachments,
    BlobNotFound,
    BlobTooLarge,
    MemoryStore,
)
from stagepost.checkpoint._blobs import digest_of
from stagepost.workflows import (
    Append,
    Chain,
    Fold,
    Parallel,
    Pattern,
    Runner,
    State,
    StepContext,
    step,
)
from stagepost.workflows._execution._blobs import Blobs

DATA = b"\x89PNG picture"
DIGEST = digest_of(DATA)


class Picture(BaseModel):
    """A type whose bytes are no part of its JSON."""

    digest: str = ""
    data: bytes | None = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _digested(self) -> "Picture":
        if self.data is not None:
            self.digest = digest_of(self.data)
        return self

    @field_serializer("digest")
    def _note(self, digest: str, info: FieldSerializationInfo) -> str:
        if isinstance(info.context, Attachments):
            info.context.note(digest, self.data)
        return digest


class Album(BaseModel):
    title: str
    pictures: list[Picture] = []


class Gallery(BaseModel):
    """A state of one's own."""

    cover: Picture
    pictures: Annotated[list[Picture], Append] = []
    size: int = 0


async def attach(state: State, context: StepContext) -> dict[str, object]:
    digest = context.attach(DATA)
    assert await context.blob(digest) == DATA
    return {"digest": digest}


async def look(state: State, context: StepContext) -> dict[str, object]:
    return {"size": len(await context.blob(state["digest"]))}


ATTACHING = Chain("attaching", [attach, look])


@pytest.fixture(params=["memory", "stored"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def run(how: str, workflow: Pattern, state: object = None, secrets: dict[str, str] | None = None) -> Any:
    if how == "memory":
        return await workflow.run(state, secrets=secrets)  # type: ignore[arg-type]  # whatever a test starts with
    async with MemoryStore() as store, Runner(store, workflows=[workflow], secrets=secrets) as runner:
        return await (await runner.start(workflow, state)).result()  # type: ignore[arg-type]  # likewise


async def test_what_a_step_attaches_a_later_one_gets(how: str, anyio_backend: str) -> None:
    state = await run(how, ATTACHING)
    assert (state["digest"], state["size"]) == (DIGEST, len(DATA))


async def test_attached_bytes_are_stored_with_the_result_of_the_step(store: Store) -> None:
    async with store, Runner(store, workflows=[ATTACHING]) as runner:
        await (await runner.start(ATTACHING)).result()
        assert await store.blob(DIGEST) == DATA


async def test_bytes_of_a_step_that_fails_are_not_stored(store: Store) -> None:
    def fail(state: State, context: StepContext) -> None:
        context.attach(DATA)
        raise ValueError

    failing = Chain("failing", [fail])
    async with store, Runner(store, workflows=[failing]) as runner:
        run = await runner.start(failing)
        with pytest.raises(Exception, match="failing"):
            await run.result()
        with pytest.raises(BlobNotFound):
            await store.blob(DIGEST)


async def test_another_process_finds_bytes_in_the_store(store: Store) -> None:
    async with store:
        async with Runner(store, workflows=[ATTACHING]) as runner:
            await (await runner.start(ATTACHING)).result()
        after = Chain("after", [look])
        async with Runner(store, workflows=[after]) as runner:
            state = await (await runner.start(after, {"digest": DIGEST})).result()
    assert state["size"] == len(DATA)


async def test_bytes_of_a_type_are_stored_with_the_value_that_has_them(store: Store) -> None:
    def make(state: State) -> dict[str, object]:
        return {"album": Album(title="a", pictures=[Picture(data=DATA), Picture(data=b"other")])}

    def check(state: State) -> dict[str, object]:
        assert [picture.data for picture in state["album"].pictures] == [None, None]
        return {}

    workflow = Chain("typed", [make, check], types={"album": Album})
    async with store, Runner(store, workflows=[workflow]) as runner:
        state = await (await runner.start(workflow)).result()
        for picture, data in zip(state["album"].pictures, (DATA, b"other"), strict=True):
            assert await store.blob(picture.digest) == data


async def test_bytes_of_a_state_that_was_merged_are_stored(store: Store) -> None:
    def make(state: State) -> State:
        first = state.set("pictures", [Picture(data=DATA)])
        return first.set("pictures", [Picture(data=b"other")]).set("album", Album(title="a", pictures=[]))

    workflow = Chain("merged", [make], types={"pictures": Annotated[list[Picture], Append], "album": Album})
    async with store, Runner(store, workflows=[workflow]) as runner:
        state = await (await runner.start(workflow, {"pictures": []})).result()
        assert [await store.blob(picture.digest) for picture in state["pictures"]] == [DATA, b"other"]


async def test_bytes_of_a_model_as_the_state_are_stored(store: Store) -> None:
    def add(state: Gallery) -> dict[str, object]:
        return {"pictures": [Picture(data=b"second")]}

    def nothing(state: Gallery) -> Gallery:
        return state

    def count(state: Gallery) -> Gallery:
        return state.model_copy(update={"size": len(state.pictures), "cover": Picture(data=b"third")})

    workflow = Chain("gallery", [add, nothing, count], state=Gallery)
    async with store, Runner(store, workflows=[workflow]) as runner:
        state = await (await runner.start(workflow, Gallery(cover=Picture(data=DATA)))).result()
        assert [await store.blob(digest_of(data)) for data in (DATA, b"second", b"third")]
        assert (state.size, state.cover.digest) == (1, digest_of(b"third"))


async def test_bytes_of_items_and_of_what_workers_make_are_stored(store: Store) -> None:
    async def copy(item: Picture, context: StepContext) -> Picture:
        context.attach(b"attached by " + item.digest.encode())
        return Picture(data=await context.blob(item.digest) + b" copied")

    def pictures(state: State) -> list[Picture]:
        return [Picture(data=DATA), Picture(data=b"other")]

    workflow = Parallel("copies", copy, over=pictures)
    async with store, Runner(store, workflows=[workflow]) as runner:
        state = await (await runner.start(workflow)).result()
        made = [await store.blob(picture.digest) for picture in state["copies"]]
        assert made == [DATA + b" copied", b"other copied"]
        assert await store.blob(digest_of(b"attached by " + DIGEST.encode()))
    assert len((await workflow.run())["copies"]) == 2


async def test_bytes_of_a_fold_are_stored(store: Store) -> None:
    async def add(state: State, item: Picture, context: StepContext) -> dict[str, object]:
        digest = context.attach(await context.blob(item.digest) + b" folded")
        return {"digests": [*state.get("digests", []), digest]}

    def pictures(state: State) -> list[Picture]:
        return [Picture(data=DATA), Picture(data=b"other")]

    workflow = Fold("folding", add, over=pictures)
    async with store, Runner(store, workflows=[workflow]) as runner:
        state = await (await runner.start(workflow)).result()
        assert [await store.blob(digest) for digest in state["digests"]] == [DATA + b" folded", b"other folded"]


async def test_bytes_of_an_item_that_is_a_pattern_are_stored(store: Store) -> None:
    workflow = Parallel("nested", Chain("inner", [attach, look]), over="items", merge=lambda _, made: {"all": made})
    async with store, Runner(store, workflows=[workflow]) as runner:
        await (await runner.start(workflow, {"items": [1, 2]})).result()
        assert await store.blob(DIGEST) == DATA


async def test_an_effect_that_is_done_has_its_bytes_though_its_step_has_not_ended(store: Store) -> None:
    tries = []

    async def shoot(context: StepContext) -> str:
        return context.attach(DATA)

    async def once(state: State, context: StepContext) -> dict[str, object]:
        digest = await context.once("shoot", lambda: shoot(context))
        picture = await context.once("copy", lambda: Picture(data=b"typed"), expect=Picture)
        tries.append(digest)
        if len(tries) == 1:
            raise ValueError("not yet")
        return {"sizes": [len(await context.blob(each)) for each in (digest, picture.digest)]}

    workflow = Chain("effects", [once])
    async with store, Runner(store, workflows=[workflow]) as runner:
        run = await runner.start(workflow)
        with pytest.raises(Exception, match="not yet"):
            await run.result()
        assert await store.blob(DIGEST) == DATA
        state = await (await runner.resume(run.id)).result()
        assert list(state["sizes"]) == [len(DATA), 5]


async def test_a_run_can_be_started_with_what_another_one_has_brought(store: Store) -> None:
    workflow = Chain("typed", [lambda_step()], types={"picture": Picture})
    async with store, Runner(store, workflows=[workflow]) as runner:
        first = await runner.start(workflow, {"picture": Picture(data=DATA)})
        await first.result()
        second = await runner.start(workflow, {"picture": Picture(digest=DIGEST)})
        assert (await second.result())["size"] == len(DATA)
        await store.delete(first.id)
        assert await store.blob(DIGEST) == DATA
        await store.delete(second.id)
        with pytest.raises(BlobNotFound):
            await store.blob(DIGEST)


def lambda_step() -> Any:
    async def size(state: State, context: StepContext) -> dict[str, object]:
        return {"size": len(await context.blob(state["picture"].digest))}

    return size


async def test_a_run_is_not_started_with_bytes_that_are_nowhere(how: str, anyio_backend: str) -> None:
    workflow = Chain("typed", [lambda_step()], types={"picture": Picture})
    with pytest.raises(BlobNotFound, match="give the bytes themselves"):
        await run(how, workflow, {"picture": Picture(digest=DIGEST)})


async def test_runs_in_memory_share_bytes_that_are_given() -> None:
    workflow = Chain("typed", [lambda_step()], types={"picture": Picture})
    blobs: dict[str, bytes] = {}
    await workflow.run({"picture": Picture(data=DATA)}, blobs=blobs)
    assert blobs == {DIGEST: DATA}
    assert (await workflow.run({"picture": Picture(digest=DIGEST)}, blobs=blobs))["size"] == len(DATA)


async def test_children_have_bytes_of_their_own(how: str, anyio_backend: str) -> None:
    child = Chain("child", [lambda_step(), attach], types={"picture": Picture})

    async def ask(state: State, context: StepContext) -> dict[str, object]:
        own = context.attach(b"of the parent")
        below = await context.child(child, "below", {"picture": Picture(data=b"for the child")})
        return {"digest": below["digest"], "own": own, "size": below["size"]}

    class Parent(Chain):
        @property
        def companions(self) -> list[Pattern]:
            return [child]

    state = await run(how, Parent("parent", [ask, look]))
    assert state["size"] == len(DATA)


@pytest.mark.parametrize("kind", ["attached", "typed", "item", "start"])
async def test_bytes_that_are_too_many_are_refused(kind: str, anyio_backend: str) -> None:
    def bring(state: State, context: StepContext) -> dict[str, object]:
        if kind == "attached":
            context.attach(DATA)
        return {"picture": Picture(data=DATA)} if kind == "typed" else {}

    worker = Parallel("items", lambda_worker(), over=lambda _: [Picture(data=DATA)] if kind == "item" else [])
    workflow = Chain("large", [step("bring", bring), worker], types={"picture": Picture})
    start = {"picture": Picture(data=DATA)} if kind == "start" else {}
    async with MemoryStore(max_blob=5) as store, Runner(store, workflows=[workflow]) as runner:
        with pytest.raises((BlobTooLarge, Exception), match="it has 12 bytes, and the store takes 5"):
            await (await runner.start(workflow, start)).result()
        with pytest.raises(BlobNotFound):
            await store.blob(DIGEST)


def lambda_worker() -> Any:
    def nothing(item: Picture) -> int:
        return 1

    return nothing


@pytest.mark.parametrize("kind", ["attached", "typed", "worker"])
async def test_p11_bytes_that_show_a_secret_are_refused(kind: str, how: str, anyio_backend: str) -> None:
    def bring(state: State, context: StepContext) -> dict[str, object]:
        if kind == "attached":
            context.attach(b"key: hunter2hunter2")
        return {"picture": Picture(data=b"key: hunter2hunter2")} if kind == "typed" else {}

    def work(item: int) -> Picture:
        return Picture(data=b"key: hunter2hunter2" if kind == "worker" else b"")

    parts: list[Any] = [step("bring", bring), Parallel("items", work, over=lambda _: [1])]
    workflow = Chain("secret", parts, types={"picture": Picture})
    secrets = {"password": "hunter2hunter2"}
    with pytest.raises(Exception, match="it holds the text of secret 'password'") as caught:
        await run(how, workflow, secrets=secrets)
    assert "hunter2" not in str(caught.value)


async def test_a_process_keeps_a_bounded_part_of_the_bytes_of_a_stored_run(anyio_backend: str) -> None:
    asked: list[str] = []

    class Counting:
        async def blob(self, digest: str) -> bytes:
            asked.append(digest)
            return bytes(int(digest))

    blobs = Blobs(Counting(), largest=10)
    for digest in ("4", "5", "4", "3", "4", "5", "11", "11"):
        assert len(await blobs.get(digest)) == int(digest)
    assert asked == ["4", "5", "3", "5", "11", "11"]


async def while_there(store: Store, digest: str) -> None:
    while await store.blob(digest):
        await anyio.lowlevel.checkpoint()


async def test_retention_deletes_bytes_with_their_runs(store: Store) -> None:
    async with store:
        async with Runner(store, workflows=[ATTACHING]) as runner:
            await (await runner.start(ATTACHING)).result()
        async with Runner(store, workflows=[ATTACHING], keep_for=timedelta(0)):
            with fail_after(30), pytest.raises(BlobNotFound):  # after the run, which nobody finds any more
                await while_there(store, DIGEST)
        assert (await store.find()).items == ()
