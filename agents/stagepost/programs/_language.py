"""Languages of programs."""

from collections.abc import Mapping
from typing import Any, Protocol

from ._limits import Limits
from ._outcome import Outcome
from ._running._hosts import ProgramTool
from ._running._run import run
from ._running._world import Surroundings
from ._values._show import show


class Language(Protocol):
    """A language in which models write programs; what runs them knows no more of it than this."""

    @property
    def name(self) -> str:
        """As people call it."""

    @property
    def fences(self) -> tuple[str, ...]:
        """The words after the three backquotes of a block of code."""

    async def run(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],
        tools: Mapping[str, ProgramTool],
        limits: Limits,
        around: Surroundings,
    ) -> Outcome:
        """Run a program; whatever goes wrong in it is in the outcome."""

    def show(self, value: Any) -> str:
        """Print a value as programs write it."""


class PtcLisp:
    """PTC-Lisp, a safe and deterministic subset of Clojure."""

    name = "PTC-Lisp"
    fences = ("clojure", "lisp")

    async def run(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],
        tools: Mapping[str, ProgramTool],
        limits: Limits,
        around: Surroundings,
    ) -> Outcome:
        """Run a program."""
        return await run(source, data=data, memory=memory, tools=tools, limits=limits, around=around)

    def show(self, value: Any) -> str:
        """Print a value in the syntax of the language."""
        return show(value)
