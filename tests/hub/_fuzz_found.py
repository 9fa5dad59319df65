"""Programs worth running each time: the shortest ones for the kinds of failure that the fuzzer knows."""

from tests.hub._fuzz_program import Call, Deed, Kind, Listen, Program, Task

from stagepost.hub import Restart, Supervision

_WAITING = (Call(task=Task("wait")), Call(), Deed("pause", timeout=0.003))
_TINY = (Kind(mailbox=1), Kind(), Kind())


def _handler(how: str, *, kind: Kind | None = None) -> Program:
    """A handler does something, asked and told, and the next message finds its agent as it was."""
    crew = (kind or Kind(), Kind(), Kind())
    task = Task(how, target="b")
    return Program(crew, (Call("request", task=task), Call(task=task), Deed(timeout=0.02), Call("request")))


def _hook(*, on_start: str = "ok", on_stop: str = "ok", kind: str = "dismiss", restarts: bool = False) -> Program:
    supervision: Supervision = Restart(max=2, backoff=0.005) if restarts else "resume"
    hooked = Kind("hooks", supervision=supervision, on_start=on_start, on_stop=on_stop)
    plan = (Call("request", task=Task("raise")), Deed(timeout=0.02), Deed(kind), Deed("enrol"))
    return Program((hooked, Kind(), Kind()), plan)


def _blocked(verb: str, give_up: int, deed: str, *, natively: bool = False) -> Program:
    """A sender waits for room, its recipient leaves, and the sender gives up, all at once."""
    call = Call(verb, give_up=give_up, natively=natively)  # type: ignore[arg-type]  # one of them
    return Program(_TINY, (*_WAITING, call, Deed(deed, beside=True), Deed(timeout=0.1)))


FOUND: dict[str, Program] = {
    "a handler exits": _handler("exit"),
    "a handler raises GeneratorExit": _handler("generator_exit"),
    "a handler raises a made up cancellation": _handler("fake_cancel"),
    "a handler raises what cannot be printed": _handler("mute_error"),
    "a handler raises a mixed group": _handler("base_group"),
    "a handler cancels itself": _handler("cancel_self"),
    "a handler cancels itself and waits": _handler("cancel_self_wait"),
    "a handler awaits what was cancelled": _handler("await_cancelled"),
    "a handler awaits what was cancelled and escalates": _handler("await_cancelled", kind=Kind(supervision="escalate")),
    "a handler leaves a scope open": _handler("leak_scope"),
    "a handler leaves a deadline open": _handler("leak_deadline"),
    "a handler leaves a task group open": _handler("leak_group"),
    "a handler leaves a timeout open": _handler("leak_timeout"),
    "a handler forwards twice": _handler("forward_twice"),
    "a handler forwards when it has answered": Program(
        plan=(Call("request", task=Task("forward", target="b", where="stray")), Deed(timeout=0.02))
    ),
    "a handler is bitter when its hub ends": Program(
        (Kind("class", supervision=Restart(max=2, backoff=0.005)), Kind(), Kind()),
        (Call("request", task=Task("bitter")),),
        ending="at once",
        grace=0.0,
    ),
    "a handler's task drains the hub": Program(
        plan=(Call(target="b", task=Task("wait")), Call(task=Task("drain", where="stray")), Deed(timeout=0.1))
    ),
    "a handler's task dismisses another agent": Program(
        plan=(Call(target="b"), Call(task=Task("dismiss", target="b", where="child")), Deed(timeout=0.1))
    ),
    "a handler abandons its own agent": Program(plan=(Call(), Call(task=Task("abandon")), Call(), Deed(timeout=0.1))),
    "two handlers drain": Program(
        plan=(Call(task=Task("drain")), Call(target="b", task=Task("drain")), Deed(timeout=1))
    ),
    "a thread calls a cold hub": Program(plan=(Deed("thread"), Call())),
    "a thread calls a warm hub": Program(plan=(Call(), Deed(timeout=0.02), Deed("thread"), Call())),
    "a handler's thread calls": _handler("thread"),
    "on_start exits": _hook(on_start="exit"),
    "on_start cancels itself": _hook(on_start="cancel_self"),
    "on_start awaits what was cancelled": _hook(on_start="await_cancelled"),
    "on_start leaves a scope open": _hook(on_start="leak_scope"),
    "on_start hangs and its agent is dismissed": _hook(on_start="wait"),
    "on_start hangs and its agent is abandoned": _hook(on_start="wait", kind="abandon"),
    "on_start dismisses its agent": _hook(on_start="dismiss"),
    "on_stop exits": _hook(on_stop="exit"),
    "on_stop cancels itself": _hook(on_stop="cancel_self"),
    "on_stop awaits what was cancelled": _hook(on_stop="await_cancelled"),
    "on_stop awaits what was cancelled at a restart": _hook(on_stop="await_cancelled", restarts=True),
    "on_stop leaves a scope open": _hook(on_stop="leak_scope"),
    "on_stop hangs": _hook(on_stop="wait", kind="abandon"),
    "on_stop hangs at a restart and the hub ends": Program(
        (Kind("hooks", supervision=Restart(max=2, backoff=0.005), on_stop="wait"), Kind(), Kind()),
        (Call("request", task=Task("raise")), Deed(timeout=0.02)),
        ending="error",
    ),
    "a listener polls": Program(plan=(Listen(polls=(0.0,)),)),
    "a listener polls for a while": Program(plan=(Listen(polls=(0.002, 0.01)), Deed(timeout=0.05), Call("publish"))),
    **{
        f"a blocked {verb} gives up by {'cancel' if natively else 'scope'} after {turns} turns at {deed}": _blocked(
            verb, turns, deed, natively=natively
        )
        for verb in ("send", "request", "publish")
        for turns in (0, 1)
        for deed in ("dismiss", "abandon")
        for natively in (False, True)
    },
    "a thread calls when the last task has ended": Program(
        crew=(Kind(mailbox=1), Kind(mailbox=1), Kind(mailbox=1)),
        plan=(Call(), Call(by_thread=True)),
        ending="error",
    ),
    "a group of small mailboxes is full": Program(
        crew=(
            Kind(mailbox=1, group="g"),
            Kind(mailbox=1, group="g"),
            Kind(mailbox=1, group="h", overflow="drop_oldest"),
        ),
        plan=(*(Call("publish", task=Task("wait"), timeout=0.05),) * 6, Call("request_many"), Deed(timeout=0.1)),
    ),
    "a member of a full group leaves": Program(
        crew=(Kind(mailbox=1, group="g"), Kind(mailbox=1, group="g"), Kind()),
        plan=(*(Call("publish", task=Task("wait"), timeout=None),) * 6, Deed("abandon"), Deed("dismiss", "b")),
    ),
    "a listener shares with agents": Program(
        crew=(Kind(group="g"), Kind(group="g"), Kind()),
        plan=(Listen(group="g"), Deed("join", "c"), Call("publish"), Call("publish", target="b"), Deed(timeout=0.02)),
    ),
    "a bridge carries": Program(
        plan=(Call("publish"), Call(target="d"), Call("request", target="d"), Deed(timeout=0.02)), bridged=True
    ),
    "requests cross a bridge twice": Program(
        plan=(Call("request", target="d", task=Task("ask", next=Task("ask", target="d"))), Deed(timeout=0.02)),
        bridged=True,
    ),
    "a request goes in a circle over a bridge": Program(
        plan=(Call("request", task=Task("ask", target="d", timeout=None, next=Task("ask"))), Deed(timeout=0.02)),
        bridged=True,
    ),
    "the other hub drains while requests wait there": Program(
        plan=(
            *(Call("request", target="d", task=Task("wait"), timeout=None),) * 3,
            Call("publish"),
            Deed("far_drain", timeout=0.02),
            Call(target="d"),
        ),
        bridged=True,
    ),
    "a requester over a bridge gives up": Program(
        plan=(Call("request", target="d", task=Task("wait"), give_up=3), Deed(timeout=0.02)), bridged=True
    ),
    "a hub with a bridge ends at once": Program(
        plan=(Call("request", target="d", task=Task("wait"), timeout=None), Call("publish"), Call(target="d")),
        bridged=True,
        ending="error",
    ),
    "a layer refuses": Program(
        plan=(Call(task=Task("yield")), Call("publish", task=Task("ask", target="b", next=Task("yield")))),
        sending="refuse",
    ),
    "an instance for a key starts for the last publication": Program(
        crew=(Kind(), Kind(), Kind("hooks", on_start="stubborn", keyed=True, group="g")),
        plan=(Listen(), Listen(topic="jobs.a", group="g")),
    ),
}
