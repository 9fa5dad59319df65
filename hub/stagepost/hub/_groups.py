"""Groups of subscribers, of which one gets each publication."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from ._handlers import Handlers
from ._topics import Topics


class Room(IntEnum):
    """What a member can do with one more message, the best first."""

    FREE = 0
    FULL = 1
    UNFIT = 2
    CLOSING = 3


class Standing(NamedTuple):
    """How well a member can take one more message; the smallest is the best.

    Attributes:
        room: What it can do with it.
        waiting: For how many other messages it would wait.
    """

    room: Room
    waiting: float


_UNFIT: Final = Standing(Room.UNFIT, 0)
BEST: Final = Standing(Room.FREE, 0)
_COMPARED: Final = 128  # members, which takes a fraction of a millisecond


class Member(Protocol):
    """A member of a group, as its group sees it."""

    @property
    def handlers(self) -> Handlers:
        """What it handles."""

    def standing(self) -> Standing:
        """How well it can take one more message."""


MemberT = TypeVar("MemberT", bound=Member)


class Group(Generic[MemberT]):
    """The subscribers to one pattern that share its publications.

    Attributes:
        topic: The pattern.
        name: The group's name.
        members: Its members; the one that was chosen last is at the end.
    """

    __slots__ = ("members", "name", "topic")

    def __init__(self, topic: str, name: str) -> None:
        self.topic = topic
        self.name = name
        self.members: OrderedDict[MemberT, None] = OrderedDict()

    def choose(self, payload: type[Any], is_out: Callable[[MemberT], bool]) -> MemberT | None:
        """Choose a member for a message: the one that makes it wait least, or else the one chosen longest ago.

        A member without room is chosen only if all are full, and one that cannot handle it only if none can. Of very
        many members, the best of some hundred is good enough, as long as it has room.

        Args:
            payload: The class of the payload.
            is_out: Whether a member is not to be chosen.

        Returns:
            The member; None if there is nobody to choose from.
        """
        chosen, best = None, None
        for number, member in enumerate(self.members):
            if number >= _COMPARED and best is not None and best.room is Room.FREE:
                break
            if is_out(member):
                continue
            standing = member.standing() if member.handlers.look_up(payload) is not None else _UNFIT
            if best is None or standing < best:
                chosen, best = member, standing
            if best == BEST:
                break
        if chosen is not None:
            self.members.move_to_end(chosen)
        return chosen


class Groups(Generic[MemberT]):
    """All groups of a hub. A group begins with its first member and ends with its last."""

    __slots__ = ("_groups", "_topics")

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], Group[MemberT]] = {}
        self._topics: Topics[Group[MemberT]] = Topics()

    def __iter__(self) -> Iterator[Group[MemberT]]:
        return iter(self._groups.values())

    def join(self, topic: str, name: str, member: MemberT) -> None:
        """Add a member.

        Raises:
            InvalidTopic: The pattern is invalid.
        """
        group = self._groups.get((topic, name))
        if group is None:
            group = Group(topic, name)
            self._topics.add(topic, group)
            self._groups[topic, name] = group
        group.members[member] = None

    def leave(self, topic: str, name: str, member: MemberT) -> None:
        """Remove a member, and with the last one its group."""
        group = self._groups[topic, name]
        del group.members[member]
        if not group.members:
            del self._groups[topic, name]
            self._topics.discard(topic, group)

    def match(self, topic: str) -> tuple[Group[MemberT], ...]:
        """The groups whose pattern covers a topic."""
        return self._topics.match(topic)
