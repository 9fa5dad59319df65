"""What becomes of a page while it is looked at: its parts, as server-sent events."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from time import thread_time
from typing import Final

from stagepost.checkpoint import RunNotFound
from stagepost.workflows import RunLeftOpen, RunnerStopped

from .._http._errors import KNOWN
from .._verbs._file import FileVerbs
from ..errors import NotServing
from ._asking import Ask
from ._pulse import Pulse
from ._rendering import Rendering, digest
from ._shown import Build, Shown

_AGAIN: Final = b"retry: 1000\n\n"  # milliseconds after which a browser comes back


class Following:
    """Follows one page.

    Args:
        rendering: Makes its parts.
        pulse: Says when to look.
        ask: What was asked for.
        build: Makes what is shown.
    """

    def __init__(self, rendering: Rendering, pulse: Pulse, ask: Ask, build: Build) -> None:
        self._rendering = rendering
        self._pulse = pulse
        self._ask = ask
        self._build = build
        self._run_id = ""

    async def events(self, known: str) -> AsyncGenerator[bytes, None]:
        """What changes, from the state on that the browser knows.

        Args:
            known: `digest` of its parts as it has them.
        """
        yield _AGAIN
        before: Mapping[str, str] = {}
        try:
            parts = await self._parts()
            async with aclosing(self._news()) as news:
                async for _ in news:
                    if before:
                        await self._pulse.turn()
                        parts = await self._parts()
                    if digest(parts) != known:
                        known = digest(parts)
                        for event in changed(before, parts, known):
                            yield event
                    before = parts
        except RunNotFound:
            yield _event("gone", "", "")
        except (RunnerStopped, NotServing):
            return  # the service ends, and the browser comes back to the next one
        except KNOWN:
            return

    async def _parts(self) -> Mapping[str, str]:
        begun = thread_time()
        try:
            shown = await self._build(self._ask)
            if not isinstance(shown, Shown):
                return {}
            self._run_id = shown.run_id
            return self._rendering.parts(self._ask, shown)
        finally:
            self._pulse.took(begun)

    async def _news(self) -> AsyncGenerator[None, None]:
        """Whenever something may have changed: at once, too."""
        if self._run_id and not isinstance(self._ask.sight, FileVerbs):
            try:
                async with aclosing(self._ask.bell(self._run_id)) as bell:
                    async for _ in bell:
                        yield
            except RunLeftOpen:  # nobody here goes on with it; somebody may say what is to become of it
                pass
        seen = -1
        while True:
            seen = await self._pulse.changed(seen, self._version)
            yield

    async def _version(self) -> int | None:
        return await self._ask.sight.version(self._ask.caller)


def changed(before: Mapping[str, str], parts: Mapping[str, str], state: str) -> list[bytes]:
    """Events for the parts that have changed; the last one has the id by which the browser comes back."""
    found = [(name, text) for name, text in parts.items() if before.get(name) != text]
    events = [_event("part", json.dumps({"id": name, "html": text}), "") for name, text in found]
    return [*events, _event("state", state, state)]


def _event(kind: str, data: str, name: str) -> bytes:
    told = f"id: {name}\n" if name else ""
    return f"{told}event: {kind}\ndata: {data}\n\n".encode()
