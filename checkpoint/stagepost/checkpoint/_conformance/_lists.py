"""Lists that several runs refer to: who appends, what is read, and what stays when runs are deleted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from typing import Final

from .._blobs import digest_of
from .._outside import Continued, Ref, StoredValue
from .._records import Closing, Commit, Keep, Lease, Migrated, RunStatus
from .._store import CheckpointStore
from ..errors import BlobNotFound, ListTooShort, RunNotFound
from ._words import Check, a_frame, claimed, end, equal, lease_of, new_run, refuses

_LATE: Final = datetime(3000, 1, 1, tzinfo=UTC)


async def said(
    store: CheckpointStore,
    run_id: str,
    added: str,
    *,
    after: tuple[str, int] | None = None,
    ends: RunStatus | None = RunStatus.COMPLETED,
    keep: Keep = Keep.RESULT,
) -> Lease:
    """A run that begins a list, or goes on with another run's, by one element for each character; then it ends."""
    before = 0 if after is None else after[1]
    rows = [StoredValue("", 1, before + place, b'"%c"' % ord(text)) for place, text in enumerate(added)]
    length = before + len(added)
    root = a_frame(1)._replace(refs={"list": Ref(1, length)} if length else {})
    continued = {} if after is None else {"list": Continued(*after)}
    lease, _ = await store.create(replace(new_run(run_id), root=root, values=rows, continued=continued, keep=keep))
    if ends is not None:
        await store.commit(Commit(lease=lease_of(lease), closing=Closing(ends)))
    return lease_of(lease)


async def append(store: CheckpointStore, lease: Lease, added: str) -> None:
    """Commit one more element for each character."""
    root = (await store.load(lease.run_id)).root
    ref = root.refs["list"]
    length = ref.length or 0
    rows = [
        StoredValue("", ref.number, length + place, b'"%c"' % ord(text), ref.maker) for place, text in enumerate(added)
    ]
    frame = a_frame(root.seq + 1)._replace(refs={"list": ref._replace(length=length + len(added))})
    await store.commit(Commit(lease=lease, frame=frame, values=rows))


async def text_of(store: CheckpointStore, run_id: str) -> str:
    """The elements of a run's list, read as a whole."""
    data = (await store.load(run_id)).root.state.get("list", b"[]")
    return data.decode().translate({ord(sign): None for sign in '[",]'})


async def read(store: CheckpointStore, run_id: str, after: int = 0, limit: int = 2) -> str:
    """The same read page by page."""
    found, place = list[bytes](), str(after)
    while True:
        page = await store.elements(run_id, "", "list", after=place, limit=limit)
        found += page.items
        if page.next is None:
            return b"".join(found).replace(b'"', b"").decode()
        place = page.next


async def check_a_run_goes_on_with_the_list_of_another(store: CheckpointStore) -> None:
    """It has all elements up to the length, and neither sees what the other adds then."""
    await said(store, "one", "ab")
    two = await said(store, "two", "c", after=("one", 2), ends=None)
    await append(store, two, "de")
    equal([await text_of(store, run_id) for run_id in ("one", "two")], ["ab", "abcde"])
    equal([await read(store, run_id) for run_id in ("one", "two")], ["ab", "abcde"])


async def check_branches_of_one_list_do_not_meet(store: CheckpointStore) -> None:
    """At its end, before it, and after a branch of it; each goes on by itself."""
    await said(store, "one", "abc")
    for name, length in (("two", 3), ("three", 3), ("four", 1), ("five", 0)):
        await said(store, name, name[0], after=("one", length))
    await said(store, "six", "6", after=("three", 4))
    await said(store, "seven", "7", after=("three", 2))
    names = ("one", "two", "three", "four", "five", "six", "seven")
    equal(
        [await text_of(store, name) for name in names],
        ["abc", "abct", "abct", "af", "f", "abct6", "ab7"],
    )
    equal([await read(store, name) for name in names], [await text_of(store, name) for name in names])


async def check_a_run_that_has_not_ended_for_good_keeps_the_end_of_its_list(store: CheckpointStore) -> None:
    """Who goes on with it appends elsewhere, since it may append itself, also after it was opened again."""
    for name, status in (("open", None), ("failed", RunStatus.FAILED)):
        lease = await said(store, name, "ab", ends=status)
        await said(store, f"{name}-more", "x", after=(name, 2))
        if status is not None:
            lease = await claimed(store, name, reopen=True)
        await append(store, lease, "c")
        equal([await text_of(store, run_id) for run_id in (name, f"{name}-more")], ["abc", "abx"])


async def check_elements_are_read_from_an_index_on(store: CheckpointStore) -> None:
    """At most so many; none of what is no list; of an unknown run nothing."""
    await said(store, "one", "abc")
    await said(store, "two", "de", after=("one", 3))
    await said(store, "three", "fg", after=("two", 4))
    equal([await read(store, "three", after=after) for after in range(7)], [*("abcdfg"[at:] for at in range(7))])
    page = await store.elements("two", "", "list", after=1, limit=3)
    equal((list(page.items), page.next), ([b'"b"', b'"c"', b'"d"'], "4"))
    equal((await store.elements("two", "", "list", after=2, limit=3)).next, None)
    equal(list((await store.elements("two", "", "other")).items), [])
    with refuses(RunNotFound):
        await store.elements("unknown", "", "list")


async def check_the_head_of_a_run_is_read_without_its_lists(store: CheckpointStore) -> None:
    """It says how long they are, and is otherwise what `load` gives; the keys of runs are never used again."""
    await said(store, "one", "ab")
    lease = await said(store, "two", "c", after=("one", 2), ends=None)
    rows = [StoredValue("", 5, None, b"5")]
    refs = {**(await store.load("two")).root.refs, "large": Ref(5)}
    await store.commit(Commit(lease=lease, frame=a_frame(2)._replace(refs=refs), values=rows))
    head, whole = await store.head("two"), await store.load("two")
    equal(head.root, whole.root._replace(state={"large": b"5"}))
    equal(head._replace(frames={}), whole._replace(frames={}))
    equal(head.root.refs["list"].length, 3)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    await store.delete("two")
    with refuses(RunNotFound):
        await store.head("two")
    await said(store, "two", "c", after=("one", 2))
    equal((await store.head("two")).row > head.row, True)


async def check_a_head_is_read_with_a_page_of_a_list(store: CheckpointStore) -> None:
    """Both are what `head` and `elements` give; of what is no list nothing, of an unknown run nothing at all."""
    await said(store, "one", "abc")
    await said(store, "two", "de", after=("one", 3))
    for after, limit in ((0, 100), (1, 3), (2, 3), (5, 1), (9, 100)):
        head, page = await store.head_with("two", "", "list", after=after, limit=limit)
        equal(head, await store.head("two"))
        equal(page, await store.elements("two", "", "list", after=after, limit=limit))
    head, page = await store.head_with("two", "", "other")
    equal((head, list(page.items), page.next), (await store.head("two"), [], None))
    with refuses(RunNotFound):
        await store.head_with("unknown", "", "list")


async def check_a_list_cannot_begin_with_what_is_not_there(store: CheckpointStore) -> None:
    """Nothing is stored then; a run that is there is found all the same."""
    await said(store, "one", "ab")
    for after, error in ((("one", 3), ListTooShort), (("one", -1), ListTooShort), (("unknown", 1), RunNotFound)):
        with refuses(error, after):
            await said(store, "two", "", after=after)
    with refuses(RunNotFound):
        await store.info("two")
    await said(store, "two", "c", after=("one", 2))
    await store.delete("one")
    run = replace(new_run("two"), continued={"list": Continued("one", 2)})
    lease, info = await store.create(run)
    equal((lease, info.run_id), (None, "two"))


async def check_what_is_referred_to_stays(store: CheckpointStore) -> None:
    """In whatever order runs are deleted, of which a few are tried."""
    runs = {"one": "abc", "two": "abcd", "three": "abcde", "four": "abx", "five": "abcdy"}
    for order in [*permutations(runs)][::17]:
        await said(store, "one", "abc")
        await said(store, "two", "d", after=("one", 3))
        await said(store, "three", "e", after=("two", 4))
        await said(store, "four", "x", after=("two", 2))
        await said(store, "five", "y", after=("three", 4))
        left = dict(runs)
        for name in order:
            await store.delete(name)
            del left[name]
            for other, text in left.items():
                equal(await text_of(store, other), text)


async def check_pruned_runs_leave_what_others_refer_to(store: CheckpointStore) -> None:
    """Ten turns of which the first nine are gone."""
    text = ""
    for number in range(10):
        await said(store, f"turn-{number}", "ab", after=(f"turn-{number - 1}", len(text)) if number else None)
        text += "ab"
    lease = await said(store, "last", "c", after=("turn-9", len(text)), ends=None)
    while await store.prune(_LATE, limit=3):
        equal(await text_of(store, "last"), f"{text}c")
    with refuses(RunNotFound):
        await store.info("turn-9")
    await append(store, lease, "d")
    equal(await text_of(store, "last"), f"{text}cd")


async def check_a_list_is_gone_on_with_where_a_deleted_run_has_left_it(store: CheckpointStore) -> None:
    """What that one has added is gone."""
    await said(store, "one", "ab")
    await said(store, "two", "cd", after=("one", 2))
    await store.delete("two")
    await said(store, "three", "e", after=("one", 2))
    equal([await text_of(store, name) for name in ("one", "three")], ["ab", "abe"])
    with refuses(ListTooShort):
        await said(store, "four", "", after=("one", 3))


async def check_a_run_that_keeps_nothing_leaves_the_list_that_it_went_on_with(store: CheckpointStore) -> None:
    """It is deleted at its end."""
    await said(store, "one", "ab")
    lease = await said(store, "two", "c", after=("one", 2), ends=None, keep=Keep.NONE)
    await append(store, lease, "d")
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    await said(store, "three", "e", after=("one", 2))
    equal([await text_of(store, name) for name in ("one", "three")], ["ab", "abe"])


async def check_bytes_stay_with_the_elements_that_refer_to_them(store: CheckpointStore) -> None:
    """When the run that has brought them is deleted, and no longer than these."""
    data = b"picture"
    digest = digest_of(data)
    row = StoredValue("", 1, 0, b'"a"', blobs=(digest,))
    root = a_frame(1)._replace(refs={"list": Ref(1, 1)})
    lease, _ = await store.create(replace(new_run("one"), root=root, values=[row], blobs={digest: data}))
    more = digest_of(b"more")
    frame = a_frame(2)._replace(refs={"list": Ref(1, 2)})
    row = StoredValue("", 1, 1, b'"b"', blobs=(more, digest_of(b"never stored")))
    commit = Commit(lease=lease_of(lease), frame=frame, values=[row], blobs={more: b"more"})
    await store.commit(commit._replace(closing=Closing(RunStatus.COMPLETED)))
    await said(store, "two", "c", after=("one", 1))
    await store.delete("one")
    equal(await store.blob(digest), data)
    with refuses(BlobNotFound):
        await store.blob(more)
    await store.delete("two")
    with refuses(BlobNotFound):
        await store.blob(digest)


async def check_a_migrated_run_has_a_list_of_its_own(store: CheckpointStore) -> None:
    """With the bytes that its elements referred to; nobody else's changes."""
    digest = digest_of(b"picture")
    root = a_frame(1)._replace(refs={"list": Ref(1, 1)})
    row = StoredValue("", 1, 0, b'"a"', blobs=(digest,))
    await store.create(replace(new_run("one"), root=root, values=[row], blobs={digest: b"picture"}))
    await end(store, "one", RunStatus.COMPLETED)
    lease = await said(store, "two", "b", after=("one", 1), ends=None)
    frame = a_frame(2)._replace(refs={"list": Ref(2, 2)})
    rows = [StoredValue("", 2, 0, b'"c"'), StoredValue("", 2, 1, b'"d"')]
    await store.migrate(lease, Migrated(2, [frame], rows))
    equal([await text_of(store, name) for name in ("one", "two")], ["a", "cd"])
    await store.delete("one")
    await append(store, lease, "e")
    equal((await text_of(store, "two"), await store.blob(digest)), ("cde", b"picture"))


async def check_numbers_of_values_and_lists_are_told(store: CheckpointStore) -> None:
    """The highest that a run has used, so that it counts on; those of lists that others have begun are not its own."""
    equal(await _numbers(store, await said(store, "none", "", ends=None)), 0)
    lease = await said(store, "one", "ab", ends=None)
    equal(await _numbers(store, lease), 1)
    frame = a_frame(2)._replace(refs={"list": Ref(1, 2), "large": Ref(7)})
    await store.commit(Commit(lease=lease, frame=frame, values=[StoredValue("", 7, None, b"1")]))
    equal(await _numbers(store, lease), 7)
    await store.commit(Commit(lease=lease, frame=a_frame(3), dropped=[Ref(7), Ref(1, 2)]))
    equal((await _numbers(store, lease), dict((await store.load("one")).root.state)), (0, {}))


async def _numbers(store: CheckpointStore, lease: Lease) -> int:
    return (await store.load(lease.run_id)).numbers


async def check_the_history_of_a_list_is_kept(store: CheckpointStore) -> None:
    """Of one that another run has begun, too, and of values that were dropped since."""
    await said(store, "one", "ab")
    lease = await said(store, "two", "c", after=("one", 2), ends=None, keep=Keep.ALL)
    await append(store, lease, "d")
    refs = {**(await store.load("two")).root.refs, "large": Ref(5)}
    rows = [StoredValue("", 5, None, b"5")]
    await store.commit(Commit(lease=lease, frame=a_frame(3)._replace(refs=refs), values=rows))
    await store.commit(Commit(lease=lease, frame=a_frame(4), dropped=[*refs.values()]))
    await store.delete("one")
    states = [dict(version.frame.state) for version in (await store.history("two")).items]
    lists = [b'["a","b","c"]', b'["a","b","c","d"]']
    equal(states, [{"list": lists[0]}, {"list": lists[1]}, {"list": lists[1], "large": b"5"}, {}])
    equal([version.epoch for version in (await store.history("two")).items], [1] * 4)
    equal(await _versions(store, "two", after=1, limit=2), [2, 3])


async def check_the_history_of_a_migrated_run_is_kept(store: CheckpointStore) -> None:
    """Its former frames refer to values and lists that the newer version of its workflow no longer has."""
    lease = await said(store, "run", "ab", ends=None, keep=Keep.ALL)
    frame = a_frame(2)._replace(refs={"list": Ref(2, 1)})
    await store.migrate(lease, Migrated(2, [frame], [StoredValue("", 2, 0, b'"c"')]))
    await append(store, lease, "d")
    states = [dict(version.frame.state) for version in (await store.history("run")).items]
    equal((states[0], states[-1]), ({"list": b'["a","b"]'}, {"list": b'["c","d"]'}))


async def _versions(store: CheckpointStore, run_id: str, *, after: int, limit: int) -> Sequence[int]:
    return [version.number for version in (await store.history(run_id, after=after, limit=limit)).items]


CHECKS: Final[tuple[Check, ...]] = (
    check_a_run_goes_on_with_the_list_of_another,
    check_branches_of_one_list_do_not_meet,
    check_a_run_that_has_not_ended_for_good_keeps_the_end_of_its_list,
    check_elements_are_read_from_an_index_on,
    check_the_head_of_a_run_is_read_without_its_lists,
    check_a_head_is_read_with_a_page_of_a_list,
    check_a_list_cannot_begin_with_what_is_not_there,
    check_what_is_referred_to_stays,
    check_pruned_runs_leave_what_others_refer_to,
    check_a_list_is_gone_on_with_where_a_deleted_run_has_left_it,
    check_a_run_that_keeps_nothing_leaves_the_list_that_it_went_on_with,
    check_bytes_stay_with_the_elements_that_refer_to_them,
    check_a_migrated_run_has_a_list_of_its_own,
    check_numbers_of_values_and_lists_are_told,
    check_the_history_of_a_list_is_kept,
    check_the_history_of_a_migrated_run_is_kept,
)
