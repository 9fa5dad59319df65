"""Random programs: who is on the hub, what clients and the owner do, and what handlers and hooks do.

Words in the environment variable ``FUZZ_WITHOUT`` (such as ``thread,leak_scope``) are left out: it helps to look past a
failure that is known.
"""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias

from hypothesis import strategies as st

from stagepost.hub import Overflow, Priority, Restart, Supervision

AGENTS = ("a", "b", "c")
FAR = "d"
"""An agent of another hub, if there is a bridge to it; otherwise nobody."""
GROUPS: Final[tuple["Group", ...]] = ("g", "h")
WITHOUT = frozenset(filter(None, os.environ.get("FUZZ_WITHOUT", "").split(",")))

ENDS = ("return", "return", "return", "yield", "sleep", "wait")
RAISES = ("raise", "exit", "generator_exit", "fake_cancel", "mute_error", "group", "base_group", "hub_error")
RESISTS = ("swallow", "linger", "bitter", "stubborn")
CANCELS = ("cancel_self", "cancel_self_wait", "await_cancelled", "failing_group")
LEAKS = ("leak_scope", "leak_deadline", "leak_group", "leak_timeout")
CALLS = (
    "tell",
    "ask",
    "tell_hub",
    "ask_hub",
    "publish",
    "broadcast",
    "ask_many",
    "read",
    "read",
    "read_hub",
    "forward",
    "forward_same",
    "forward_twice",
)
RULES = ("dismiss", "watch", "abandon", "drain", "enrol", "subscribe", "join", "listen", "thread")
PLANS = ("later", "every", "spawn", "spawn_raise", "spawn_dismiss", "spawn_drain")
HOWS = (*ENDS, *RAISES, *RESISTS, *CANCELS, *LEAKS, *CALLS, *CALLS, *RULES, *PLANS)
FORMS = (
    "function",
    "function",
    "plain",
    "message",
    "sync",
    "object",
    "class",
    "class",
    "hooks",
    "hooks",
    "factory",
    "stream",
    "stream",
    "stream_class",
    "stream_sync",
)
HOOKS = ("ok", "ok", "ok", "raise", "exit", "sleep", "wait", "stubborn", "await_cancelled", "cancel_self", "ask",
         "leak_scope", "dismiss")  # fmt: skip
VERBS: tuple["Verb", ...] = ("send", "request", "publish", "broadcast", "request_many", "stream")

Verb: TypeAlias = Literal["send", "request", "publish", "broadcast", "request_many", "stream"]
Where: TypeAlias = Literal["inline", "child", "stray"]
Group: TypeAlias = Literal["g", "h"] | None
Sending: TypeAlias = Literal["no", "stamp", "refuse"]


class Brief:
    """A value whose text leaves out what has its default, so that failing programs are short."""

    def __repr__(self) -> str:
        changed = (f for f in fields(self) if getattr(self, f.name) != f.default)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{f.name}={_shown(getattr(self, f.name))}' for f in changed)})"


def _shown(value: object) -> str:
    """A value as code."""
    return f"Priority.{value.name}" if isinstance(value, Priority) else repr(value)


@dataclass(frozen=True, repr=False)
class Task(Brief):
    """What a handler does: inline, in a task group of its own, or in a task that outlives it; and what it passes on."""

    how: str = "return"
    target: str = "a"
    where: Where = "inline"
    timeout: float | None = 0.02
    next: "Task | None" = None


@dataclass(frozen=True, repr=False)
class Kind(Brief):
    """How an agent is registered; if `keyed`, with two instances at most, which soon are idle."""

    form: str = "function"
    mailbox: int = 3
    concurrency: int = 1
    detach: bool = False
    overflow: Overflow = "wait"
    supervision: Supervision = "resume"
    on_start: str = "ok"
    on_stop: str = "ok"
    group: Group = None
    keyed: bool = False


@dataclass(frozen=True, repr=False)
class Call(Brief):
    """A client calls; `give_up` cancels it after so many turns, by a scope or as asyncio does.

    With `by_thread` it calls through a portal. Of many, it needs `enough` replies, and of a stream so many parts.
    """

    verb: Verb = "send"
    target: str = "a"
    task: Task = Task()
    sender: Literal["x", "y"] | None = "x"
    timeout: float | None = 1.0
    priority: Priority = Priority.NORMAL
    ttl: float | None = None
    enough: int | None = None
    give_up: int | None = None
    natively: bool = False
    by_thread: bool = False

    @property
    def topic(self) -> str:
        """What it publishes to."""
        return "jobs.a" if self.target == "a" else "jobs.b"


@dataclass(frozen=True, repr=False)
class Deed(Brief):
    """What the owner does: by itself, or in a task that it does not wait for."""

    kind: str = "pause"
    agent: str = "a"
    timeout: float = 0.0
    beside: bool = False


@dataclass(frozen=True, repr=False)
class Listen(Brief):
    """Somebody listens: polls for a while, then reads on, and leaves at some time or stays to the end."""

    topic: str = "jobs.>"
    limit: int = 3
    overflow: Literal["reject", "drop_oldest"] = "reject"
    polls: tuple[float, ...] = ()
    stays: bool = True
    group: Group = None


@dataclass(frozen=True, repr=False)
class Program(Brief):
    """All of it, and how the hub is left."""

    crew: tuple[Kind, ...] = (Kind(), Kind(), Kind())
    plan: tuple[Call | Deed | Listen, ...] = ()
    ending: Literal["roll call", "at once", "error", "cancelled"] = "roll call"
    grace: float = 0.05
    resting: int | None = None
    checked: bool = False
    middleware: bool = False
    sending: Sending = "no"
    bridged: bool = False
    unseen: bool = False

    @property
    def keeps_groups(self) -> bool:
        """Whether agents subscribe as their kind says and in no other way."""
        deeds = {step.kind for step in self.plan if isinstance(step, Deed)}
        return {"subscribe", "join"}.isdisjoint(deeds | self.words)

    def crowded(self, agents: Iterable[str]) -> str | None:
        """A group of which more than one agent is among these."""
        groups = Counter(self.kind_of(agent).group for agent in agents if agent in AGENTS)
        return next((group for group in GROUPS if groups[group] > 1), None)

    @property
    def words(self) -> frozenset[str]:
        """All that handlers and hooks may do in it."""
        words = {word for kind in self.crew for word in (*_hooks(kind), str(kind.supervision))}
        for step in self.plan:
            task = step.task if isinstance(step, Call) else None
            while task is not None:
                words.add(task.how)
                task = task.next
        return frozenset(words)

    def kind_of(self, agent: str) -> Kind:
        """How an agent is registered."""
        return self.crew[AGENTS.index(agent)] if agent in AGENTS else Kind()


def _hooks(kind: Kind) -> tuple[str, ...]:
    return (f"on_start {kind.on_start}", f"on_stop {kind.on_stop}") if kind.form == "hooks" else ()


def _some(*words: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([word for word in words if word not in WITHOUT] or list(words[:1]))


_LONG: Final = 100.0  # for ever, but for two agents that wait for each other without knowing
_agents = st.sampled_from(AGENTS)
_targets = st.sampled_from((*AGENTS, *AGENTS, FAR))
_groups: st.SearchStrategy[Group] = st.sampled_from([None, None, "g", "g", "h"] if "group" not in WITHOUT else [None])


def _tasks(next_: st.SearchStrategy[Task | None], *hows: str) -> st.SearchStrategy[Task]:
    return st.builds(
        Task,
        how=_some(*hows),
        target=_targets,
        where=_some("inline", "inline", "child", "stray"),
        timeout=st.sampled_from([0.02, 0.0, 0.3, _LONG]),
        next=next_,
    )


_SUPERVISIONS: tuple[Supervision, ...] = (
    *("resume", "resume", "resume", "resume", "stop", "stop"),
    *(Restart(max=2, backoff=0.005), Restart(max=2, backoff=0.005), Restart(max=9, backoff=0), "escalate"),
)
_leaf = _tasks(st.none(), *HOWS)
_tree = _tasks(st.none() | _tasks(st.none() | _leaf, *HOWS), *HOWS)
_kinds = st.builds(
    Kind,
    form=_some(*FORMS),
    mailbox=st.integers(1, 3),
    concurrency=st.integers(1, 3),
    detach=st.booleans(),
    overflow=_some("wait", "wait", "reject", "drop_oldest"),
    supervision=_some(*_SUPERVISIONS),
    on_start=_some(*HOOKS),
    on_stop=_some(*HOOKS),
    group=_groups,
    keyed=st.sampled_from([False, False, "keyed" not in WITHOUT]),
)
_calls = st.builds(
    Call,
    verb=_some("send", "send", "request", "request", "publish", "broadcast", "request_many", "stream", "stream"),
    target=_targets,
    task=_tree,
    sender=st.sampled_from(["x", "x", "y", None]),
    timeout=st.sampled_from([1.0, 0.0, 0.004, 0.05, None]),
    priority=st.sampled_from([Priority.NORMAL, Priority.NORMAL, Priority.LOW, Priority.CRITICAL]),
    ttl=st.sampled_from([None, None, 0.004, 1.0]),
    enough=st.sampled_from([None, 1, 2]),
    give_up=st.none() | st.integers(0, 6),
    natively=st.booleans(),
    by_thread=st.sampled_from([False, False, False, "portal" not in WITHOUT]),
)
_deeds = st.builds(
    Deed,
    kind=_some(
        *("pause", "pause", "turn", "dismiss", "abandon", "enrol", "enrol", "subscribe", "unsubscribe"),
        *("cancel", "cancel", "thread", "idle", "later", "every", "stop_timers", "describe"),
        *("watch", "watch", "join", "far_drain"),
    ),
    agent=_agents,
    timeout=st.sampled_from([0.0, 0.003, 0.02, 0.1]),
    beside=st.booleans(),
)
_last_deeds = st.builds(Deed, kind=_some("pause", "drain"), timeout=st.sampled_from([0.0, 0.02]), beside=st.booleans())
_listens = st.builds(
    Listen,
    topic=st.sampled_from(["jobs.>", "jobs.a"]),
    limit=st.integers(1, 3),
    overflow=_some("reject", "drop_oldest"),
    polls=st.lists(st.sampled_from([0.0, 0.002, 0.01]), max_size=0 if "polls" in WITHOUT else 3).map(tuple),
    stays=st.booleans(),
    group=_groups,
)


def programs(size: int = 25) -> st.SearchStrategy[Program]:
    """Programs of up to so many steps."""
    steps = st.one_of(_calls, _calls, _calls, _deeds, _deeds, _listens)
    plans = st.builds(
        lambda plan, last: (*plan, *last), st.lists(steps, max_size=size), st.lists(_last_deeds, max_size=1)
    )
    return st.builds(
        Program,
        crew=st.tuples(_kinds, _kinds, _kinds),
        plan=plans,
        ending=_some("roll call", "roll call", "roll call", "at once", "error", "cancelled"),
        grace=st.sampled_from([0.05, 0.0, 1.0]),
        resting=st.sampled_from([None, 1, 2]),
        checked=st.booleans(),
        middleware=st.booleans(),
        sending=_some("no", "no", "stamp", "refuse"),
        bridged=st.booleans() if "bridge" not in WITHOUT else st.just(value=False),
        unseen=st.booleans(),
    )
