"""Registering, unregistering and subscribing agents."""

import math
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, Protocol, get_args

from ._arguments import check_choice, check_flag, check_patterns
from ._directory import Directory, Phase
from ._endpoint import Overflow
from ._engine import Engine
from ._handlers import HandlerReader
from ._keyed import KeyedRegistration
from ._keying import IDLE, INSTANCES, keying
from ._layers import name_of
from ._limits import Duration, count, seconds
from ._names import check_group, check_name
from ._per_key import PerKey, instance_method
from ._registration import Options, Registration
from ._stopping import dismiss
from ._supervision import Restart, Supervision, check_supervision
from ._time_slice import TimeSlice
from ._topics import check_pattern
from .errors import AgentNotFound, AgentStopped, InvalidArgument, InvalidHandler

_OPTIONS_KEPT: Final = 256


class Identified(Protocol):
    """An object with the id under which it is to be registered."""

    @property
    def id(self) -> str:
        """1 to 100 of the characters ``A-Z a-z 0-9 _ -``."""


class Membership:
    """The part of a hub that manages its agents."""

    _directory: Directory
    _engine: Engine | None
    _grace: float
    _mailbox: float
    _time_slice: TimeSlice

    def __init__(self) -> None:
        self._reader = HandlerReader()
        self._options: dict[Options, Options] = {}

    @property
    def agents(self) -> tuple[str, ...]:
        """The ids of the registered agents, in the order of registration."""
        return tuple(self._directory.agents)

    def register(
        self,
        agent: str | Identified,
        handler: object | None = None,
        *,
        concurrency: int | None = 1,
        topics: str | Iterable[str] = (),
        group: str | None = None,
        mailbox: int | Literal["default"] | None = "default",
        overflow: Overflow = "wait",
        supervision: Supervision = "resume",
        detach: bool = False,
        per: Callable[[Any], Hashable] | None = None,
        instances: int | None = INSTANCES,
        idle: Duration | None = IDLE,
    ) -> None:
        """Add an agent, before or after the hub is entered.

        A handler is a function whose first parameter is annotated with the payload's class, a union of classes, or
        ``Message[...]`` of one for the whole message; if it has a parameter named ``context``, it gets a `Context`.
        Its result is the reply to a request. An agent with several handlers is an object with methods marked by
        `handles`. The class of the payload selects the handler; the most specific one wins. A handler that is not async
        runs inline and must not block.

        A class with marked methods is a factory: its instance is made when the first message arrives. An object or
        instance may have methods ``on_start`` and ``on_stop``, async or not, with or without a parameter ``hub``: they
        run before its first message and after its last.

        Args:
            agent: The id, or an object or class with an ``id`` and marked methods.
            handler: The function, callable, object or class with marked methods; needed when `agent` is an id.
            topics: One or several topics to subscribe to; see `subscribe`.
            group: The group in which it subscribes to them: one member of the group gets each publication.
            concurrency: How many messages it handles at once; None for any number. With 1, messages of one sender are
                handled in the order sent.
            mailbox: How many messages may wait; None for any number, and by default what the hub says: 100.
            overflow: What a full mailbox does: let senders ``"wait"`` for room up to their timeout, ``"reject"`` the
                message at once, or ``"drop_oldest"``, which drops the oldest of the least urgent messages for it.
            supervision: What happens when a handler fails: ``"resume"`` continues with the next message, ``"stop"``
                removes the agent from the hub, ``"escalate"`` ends the hub with the error, and `Restart` makes a new
                instance, for which a class is needed. The requester gets `HandlerFailed` in any case.
            detach: Let handlers continue when the requester has given up, instead of cancelling them.
            per: A function from a payload to a key: the agent has an instance for each key, made with the first
                message for it, each with a mailbox and handlers of its own. Senders address the agent. A class may take
                the ``key`` in its constructor. Supervision applies to the instance.
            instances: With ``per=``, how many instances there may be at once; None for any number. For a new key the
                one that was idle longest ends; if none is idle, the sender gets `InstancesFull`.
            idle: With ``per=``, after how many seconds without work an instance ends, with its ``on_stop``; None for
                never. The next message for its key makes a new one.

        Raises:
            InvalidName: The id or group has other characters than letters, digits, ``_`` and ``-``, or over 100.
            InvalidHandler: A handler cannot be used as it is; the error says how to change it.
            InvalidTopic: A topic does not follow the grammar.
            InvalidArgument: Another argument has the wrong type or value.
            DuplicateAgent: The id is taken.
            HubStopped: The hub drains or has stopped.
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._check_here("register")
        agent_id, implementation = check_name("agent id", _id_of(agent)), _implementation(agent, handler)
        patterns = check_patterns(topics)
        if check_group(group) is not None and not patterns:
            raise InvalidArgument("group", group, "name the `topics` whose publications its members share, too")
        _check_restart(agent_id, implementation, supervision)
        options = Options(
            concurrency=count("concurrency", concurrency),
            mailbox=self._mailbox if mailbox == "default" else count("mailbox", mailbox),
            overflow=check_choice("overflow", overflow, get_args(Overflow)),
            supervision=check_supervision(supervision),
            detach=check_flag("detach", detach),
        )
        options = self._shared_options(options)
        limit, resting = count("instances", instances), seconds(idle, "idle")
        if per is None:
            handlers, blueprint = self._reader.read(implementation)
            self._add(Registration(agent_id, handlers, options, blueprint), patterns, group)
            return
        told_apart = keying(per, limit, resting)
        handlers, takes_key = self._reader.read_keyed(implementation, instance_method)
        source = PerKey(implementation, takes_key=takes_key)
        self._add(KeyedRegistration(agent_id, handlers, options, source, told_apart), patterns, group)

    def _add(self, registration: Registration, patterns: Iterable[str], group: str | None) -> None:
        self._directory.add(registration)
        for pattern in patterns:
            self._directory.subscribe(registration.id, registration, pattern, group)

    async def unregister(self, agent: str, *, drain: bool = True) -> None:
        """Remove an agent. When this returns, none of its handlers runs any more, and its id is free.

        If a handler or a hook calls this, or a task that one of them started, it waits neither for that one nor for
        those that wait for its reply.

        Args:
            agent: Its id.
            drain: First handle what is in its mailbox, within the hub's grace period. Otherwise, and after that period,
                handlers are cancelled, messages become dead letters, and requesters get `AgentStopped`.

        Raises:
            InvalidArgument: `drain` is no bool.
            AgentNotFound: There is none with this id.
            AgentStopped: It is being unregistered already.
            WrongThread: The hub was entered in another thread or event loop.
        """
        async with self._time_slice:
            self._check_here("unregister")
            await dismiss(self._directory, self._engine, agent, drain=check_flag("drain", drain), grace=self._grace)

    def subscribe(self, agent: str, topic: str, *, group: str | None = None) -> None:
        """Subscribe an agent to a topic, from now on; subscribing twice has no effect.

        Of all subscribers to one pattern that name the same group, one gets each publication: one that has room and
        makes it wait least, in turns. If none has room, the overflow policy of one of them applies. The sender is never
        chosen, nor who gets the publication through another subscription. To subscribe in another group, or in none,
        ends the subscription in this one.

        Args:
            agent: Its id.
            topic: Words separated by dots. ``*`` stands for any one word, a final ``>`` for one or more:
                ``orders.*.paid``, ``orders.>``.
            group: The group, 1 to 100 of the characters ``A-Z a-z 0-9 _ -``.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
            InvalidName: The group's name has characters that are not allowed.
            AgentNotFound: There is none with this id.
            AgentStopped: It is being unregistered.
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._check_here("subscribe")
        self._directory.subscribe(agent, self._directory.member(agent), check_pattern(topic), check_group(group))

    def unsubscribe(self, agent: str, topic: str) -> None:
        """End a subscription; nothing happens if there is none.

        Args:
            agent: The agent's id.
            topic: The pattern that it subscribed to.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
            AgentNotFound: There is none with this id.
            AgentStopped: It is being unregistered.
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._check_here("unsubscribe")
        self._directory.unsubscribe(agent, self._directory.member(agent), check_pattern(topic))

    def mark_relay(self, agent: str) -> None:
        """Note that an agent belongs to a bridge; not for callers of a hub."""
        registration = self._directory.member(agent)
        registration.options = self._shared_options(replace(registration.options, relays=True))

    def retire(self, agent: str) -> None:
        """Remove an agent without waiting: first it handles what it has, however long; not for callers of a hub."""
        engine, registration = self._engine, self._directory.agents.get(agent)
        if registration is None:
            return
        if engine is None or registration.receiver is None:
            self._directory.take_out(agent)
            self._directory.remove(agent)
        elif self._directory.phase is Phase.RUNNING:
            leave = partial(self._leave, engine, registration)
            engine.spawn(partial(engine.undisturbed, leave), f"stagepost end of {agent}")

    async def _leave(self, engine: Engine, registration: Registration) -> None:
        """Remove an agent, unless somebody else has been faster."""
        agent = registration.id
        if self._directory.agents.get(agent) is registration:
            with suppress(AgentNotFound, AgentStopped):
                await dismiss(self._directory, engine, agent, drain=True, grace=math.inf)

    def _check_here(self, call: str) -> None:
        if self._engine is not None:
            self._engine.check_here(call)

    def _shared_options(self, options: Options) -> Options:
        """One value for all agents with equal options: it saves more memory than their registrations take."""
        shared = self._options.get(options)
        if shared is None:
            if len(self._options) >= _OPTIONS_KEPT:
                self._options.clear()
            shared = self._options[options] = options
        return shared


def _id_of(agent: str | Identified) -> object:
    if isinstance(agent, str) or hasattr(agent, "id"):
        return agent if isinstance(agent, str) else agent.id
    raise InvalidHandler(name_of(agent), "has no `id`", 'register it under one: hub.register("its-id", handler)')


def _implementation(agent: object, handler: object | None) -> object:
    if handler is not None:
        return handler
    if isinstance(agent, str):
        raise InvalidHandler(f"of agent {agent!r}", "is missing", "pass a function, or register an object with an `id`")
    return agent


def _check_restart(agent_id: str, implementation: object, supervision: object) -> None:
    if isinstance(supervision, Restart) and not isinstance(implementation, type):
        raise InvalidHandler(
            f"of agent {agent_id!r}", "cannot be created again for Restart", "register its class, not an instance"
        )
