"""Runs programs."""

import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .._limits import Limits
from .._machine import Machine
from .._outcome import Outcome
from ._hosts import DirectHost, ProgramTool
from ._program import perform
from ._world import Surroundings, World

if TYPE_CHECKING:
    from ._started import StartedProgram
    from ._strands import Strands


async def run(
    source: str,
    *,
    data: Mapping[str, Any] | None = None,
    memory: Mapping[str, Any] | None = None,
    tools: Mapping[str, ProgramTool] | None = None,
    limits: Limits | None = None,
    around: Surroundings | None = None,
) -> Outcome:
    """Run a program on the running event loop; each millisecond, it lets other tasks run.

    Args:
        source: The program, in PTC-Lisp.
        data: Its inputs, which it reads as ``data/name``: values as JSON has them, sets, dates and date-times.
        memory: What programs before it have kept with ``def``, the ``memory`` of an outcome.
        tools: Functions that it may call, by name; they get named arguments and may be coroutine functions.
        limits: What it may use.
        around: What else it can see.

    Returns:
        Its value, or the error that ended it; a program cannot raise.

    Raises:
        InvalidValue: An input is no value of programs.
        PackageMissing: A package of ``stagepost[programs]`` is missing.
    """
    from ._loop_host import drive  # noqa: PLC0415 - scripts need no event loop
    from ._strands import Strands  # noqa: PLC0415 - nor greenlets

    tools = tools or {}
    strands = Strands()
    machine = _machine(strands, data, limits, around)
    outcome: Outcome = await drive(strands, partial(perform, machine, source, memory or {}, tools), tools)
    return outcome


def run_sync(
    source: str,
    *,
    data: Mapping[str, Any] | None = None,
    memory: Mapping[str, Any] | None = None,
    tools: Mapping[str, ProgramTool] | None = None,
    limits: Limits | None = None,
    around: Surroundings | None = None,
) -> Outcome:
    """Run a program in a script; with tools, an event loop is started for it. See `run`."""
    if tools:
        import anyio  # noqa: PLC0415 - scripts without tools need no event loop

        asked = partial(run, source, data=data, memory=memory, tools=tools, limits=limits, around=around)
        return anyio.run(asked)
    host = DirectHost()
    return perform(_machine(host, data, limits, around), source, memory or {}, ())


def start(
    source: str,
    *,
    data: Mapping[str, Any],
    memory: Mapping[str, Any],
    tools: Collection[str],
    limits: Limits,
    around: Surroundings,
) -> "StartedProgram":
    """A program that works only when it is told to, and asks for calls of tools instead of making them.

    Args:
        source: The program.
        data: As for `run`.
        memory: As for `run`.
        tools: Names of the tools that it may call.
        limits: As for `run`.
        around: As for `run`.

    Raises:
        PackageMissing: A package of ``stagepost[programs]`` is missing.
    """
    from ._started import StartedProgram  # noqa: PLC0415 - programs without greenlets need it not
    from ._strands import Strands  # noqa: PLC0415

    strands = Strands()
    machine = _machine(strands, data, limits, around)
    return StartedProgram(strands, partial(perform, machine, source, memory, tools))


def _machine(
    host: "DirectHost | Strands", data: Mapping[str, Any] | None, limits: Limits | None, around: Surroundings | None
) -> Machine:
    machine = Machine(limits or Limits(), host, World(data or {}, around or Surroundings()), time.perf_counter)
    host.machine = machine
    return machine
