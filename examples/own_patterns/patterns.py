"""Three patterns that the library does not have, made with public names only."""

from collections.abc import Mapping, Sequence
from typing import Any

from stagepost.workflows import CannotGoOn, PatternError, Predicate, step
from stagepost.workflows.patterns import Arrow, Builder, Done, Node, NodeLike, Pattern, Target, Updates, View, describe


class Race(Pattern):
    """Branches that run at once, of which the first that ends wins; the others are cancelled.

    What the winner has written becomes part of the state, and its name the value of the key named like the race.
    """

    kind = "race"

    def __init__(self, name: str, branches: Mapping[str, NodeLike]) -> None:
        super().__init__(name)
        self._branches = {key: self.part(branch, key) for key, branch in branches.items()}

    @property
    def children(self) -> Mapping[str, Node]:
        """The branches."""
        return self._branches

    def compile(self, builder: Builder) -> str:
        """All at once, until one has ended well."""
        return builder.branches(self._join, enough=1)

    def _join(self, target: Target, done: Mapping[str, Done]) -> Updates:
        winner = next(iter(done))  # should several have ended, it is the one that was given first
        return {**target.take(done[winner]), **target.update({self.name: winner})}


class RepeatError(PatternError):
    """What is repeated has failed, or was repeated too often; `state` is what the rounds before have made."""

    def __init__(self, name: str, cause: BaseException, *, state: Any) -> None:
        super().__init__(f"repeat {name!r} failed: {describe(cause)}", name=name, state=state)


class Repeat(Pattern):
    """A step or a pattern again and again, until something is so; at least once."""

    kind = "repeat"

    def __init__(self, name: str, body: NodeLike, *, until: Predicate, most: int = 100) -> None:
        super().__init__(name)
        self._body = self.part(body)
        self._until = until
        self._most = most

    @property
    def children(self) -> Mapping[str, Node]:
        """What is repeated."""
        return {"body": self._body}

    def compile(self, builder: Builder) -> str:
        """One node that leads to itself, or out."""
        return builder.loop(self._next, {"": [Arrow("body")], "body": [Arrow(None, "done"), Arrow("body", "again")]})

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> RepeatError:  # noqa: ARG002  # the pattern's signature
        """An error of its own, for whoever wants to catch it; without this it is a `PatternError`."""
        return RepeatError(self.name, cause, state=state)

    def _next(self, child: str, state: View, entered: int) -> str | None:
        if child and self._until(state()):
            return None
        if entered == self._most:
            raise CannotGoOn(f"it is not done after {self._most} rounds: give more with most=")
        return "body"


class Switch(Pattern):
    """One of several cases: the first whose predicate says yes, or else the one named ``otherwise``."""

    kind = "switch"

    def __init__(self, name: str, cases: Mapping[str, tuple[Predicate, NodeLike]], otherwise: NodeLike) -> None:
        super().__init__(name)
        self._predicates = {key: predicate for key, (predicate, _) in cases.items()}
        self._cases = {key: self.part(case, key) for key, (_, case) in cases.items()}
        self._cases["otherwise"] = self.part(otherwise)

    @property
    def children(self) -> Mapping[str, Node]:
        """The cases."""
        return self._cases

    def compile(self, builder: Builder) -> str:
        """A choice; every case leads on to what comes after the switch."""
        ways = {key: builder.child(key, builder.after) for key in self._cases}
        return builder.choice(step(self.name, self._which, inline=True), ways)

    def _which(self, state: Any) -> str:
        return next((key for key, predicate in self._predicates.items() if predicate(state)), "otherwise")
