"""Who is on a hub, and who may be reached when."""

from enum import Enum
from typing import Final

from ._desk import Desk
from ._emitter import Emitter
from ._engine import Engine
from ._events import AgentRegistered, AgentUnregistered
from ._handlers import Handlers
from .errors import AgentNotFound, AgentStopped, DuplicateAgent, HubStopped


class Phase(Enum):
    """The life of a hub: NEW until it is entered, RUNNING, DRAINING while only handlers may send, and then CLOSED.

    RUNNING may go to CLOSED directly, and no phase comes back.
    """

    NEW = 1
    RUNNING = 2
    DRAINING = 3
    CLOSED = 4


class Registration:
    """An agent as it was registered. The rest comes with its first message.

    Attributes:
        desk: Where its messages go, once there was one.
    """

    __slots__ = ("concurrency", "desk", "detach", "handlers", "id", "mailbox")

    def __init__(self, agent: str, handlers: Handlers, *, concurrency: float, mailbox: float, detach: bool) -> None:
        self.id = agent
        self.handlers = handlers
        self.concurrency = concurrency
        self.mailbox = mailbox
        self.detach = detach
        self.desk: Desk | None = None

    def open_desk(self, engine: Engine) -> Desk:
        """Begin to take messages."""
        desk = self.desk = Desk(self.id, engine, concurrency=self.concurrency, mailbox=self.mailbox, detach=self.detach)
        return desk


class Directory:
    """The registrations of a hub.

    Attributes:
        phase: Where the hub is in its life.
        agents: Who is registered.
        reachable: Those whom code outside of any handler may send to: all or none, by phase.
    """

    __slots__ = ("_emitter", "_hub", "_leaving", "agents", "phase", "reachable")

    def __init__(self, hub: str, emitter: Emitter) -> None:
        self._hub: Final = hub
        self._emitter: Final = emitter
        self._leaving: dict[str, Registration] = {}
        self.phase = Phase.NEW
        self.agents: dict[str, Registration] = {}
        self.reachable: dict[str, Registration] = {}

    def enter(self, phase: Phase) -> None:
        """Go on to a phase."""
        self.phase = phase
        self.reachable = self.agents if phase is Phase.RUNNING else {}

    def add(self, registration: Registration) -> None:
        """Register an agent.

        Raises:
            DuplicateAgent: The id is taken.
            HubStopped: It is too late.
        """
        agent = registration.id
        if self.phase in (Phase.DRAINING, Phase.CLOSED):
            raise HubStopped(agent, self._hub)
        if agent in self.agents or agent in self._leaving:
            raise DuplicateAgent(agent, self._hub)
        self.agents[agent] = registration
        if self._emitter.enabled:
            self._emitter.emit(AgentRegistered(hub=self._hub, agent=agent))

    def take_out(self, agent: str) -> Registration:
        """Let nobody reach an agent any more; its id stays taken until `remove`.

        Raises:
            AgentNotFound: There is none with this id.
            AgentStopped: It is leaving already.
        """
        registration = self.agents.pop(agent, None)
        if registration is None:
            raise self._absence(agent)
        self._leaving[agent] = registration
        return registration

    def remove(self, agent: str) -> None:
        """Free the id of an agent that has left."""
        if self._leaving.pop(agent, None) is not None and self._emitter.enabled:
            self._emitter.emit(AgentUnregistered(hub=self._hub, agent=agent))

    def find(self, agent: str, *, inside: bool) -> Registration:
        """Look an agent up that is not `reachable` for everybody.

        Args:
            agent: Its id.
            inside: Whether one of the hub's handlers asks, who may send while the hub drains.

        Raises:
            DeliveryError: It cannot be reached; its class says why.
        """
        if self.phase is Phase.CLOSED or (self.phase is Phase.DRAINING and not inside):
            raise HubStopped(agent, self._hub)
        registration = self.agents.get(agent)
        if registration is None:
            raise self._absence(agent)
        return registration

    def desks(self) -> list[Desk]:
        """The desks of all agents, also of those that are leaving."""
        registrations = (*self.agents.values(), *self._leaving.values())
        return [registration.desk for registration in registrations if registration.desk is not None]

    def _absence(self, agent: str) -> AgentNotFound | AgentStopped:
        return AgentStopped(agent) if agent in self._leaving else AgentNotFound(agent, self._hub, self.agents)
