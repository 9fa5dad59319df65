"""What becomes of a page while it is looked at: its parts, as server-sent events."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from itertools import zip_longest
from typing import Final

import anyio

from stagepost.checkpoint import RunNotFound
from stagepost.workflows import RunLeftOpen, RunnerStopped

from .._http._errors import KNOWN
from .._verbs._file import FileVerbs
from ..errors import NotServing
from ._asking import Ask
from ._pulse import Pulse
from ._rendering import Rendering, state_of
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
        self._every = 0.0

    async def events(self, known: str) -> AsyncGenerator[bytes, None]:
        """What changes, from the state on that the browser knows.

        Args:
            known: `state_of` its parts as it has them.
        """
        yield _AGAIN
        try:
            seen = await self._pulse.changed(-1, self._version)  # before anything is read, so that nothing is missed
            parts = await self._parts()  # as any page that is opened: it does not count
            for event in changed(known, parts):
                yield event
            known = state_of(parts)
            looks = 0
            async with aclosing(self._news(seen)) as news:
                async for _ in news:
                    await self._pulse.turn()
                    begun = anyio.current_time()
                    parts = await self._parts()
                    looks += 1
                    if looks > 1:  # the first belongs to opening the page
                        self._pulse.took(anyio.current_time() - begun)
                    for event in changed(known, parts):
                        yield event
                    known = state_of(parts)
        except RunNotFound:
            yield _event("gone", "", "")
        except (RunnerStopped, NotServing):
            return  # the service ends, and the browser comes back to the next one
        except KNOWN:
            return

    async def _parts(self) -> Mapping[str, str]:
        shown = await self._build(self._ask)
        if not isinstance(shown, Shown):
            return {}
        self._run_id, self._every = shown.run_id, shown.every
        return self._rendering.parts(self._ask, shown)

    async def _news(self, seen: int) -> AsyncGenerator[None, None]:
        """Whenever something may have changed since the store was at a version."""
        while self._every:
            await anyio.sleep(self._every)
            yield
        if self._run_id and not isinstance(self._ask.sight, FileVerbs):
            try:
                async with aclosing(self._ask.bell(self._run_id)) as bell:
                    async for _ in bell:  # at once, too: something may have come before anybody listened
                        yield
                        if not self._run_id:  # it has ended: what happens now, to delete it, rings no bell
                            break
            except RunLeftOpen:  # nobody here goes on with it; somebody may say what is to become of it
                pass
        while True:
            seen = await self._pulse.changed(seen, self._version)
            yield

    async def _version(self) -> int | None:
        return await self._ask.sight.version(self._ask.caller)


def changed(known: str, parts: Mapping[str, str]) -> list[bytes]:
    """Events for the parts that have changed; after them one with the id by which the browser comes back.

    Args:
        known: `state_of` the parts as the browser has them.
        parts: They as they are.
    """
    state = state_of(parts)
    pairs = zip_longest(parts.items(), state.split("."), known.split(".")[: len(parts)])
    found = [part for part, now, before in pairs if now != before]
    events = [_event("part", json.dumps({"id": name, "html": text}), "") for name, text in found]
    return [*events, _event("state", state, state)] if events else []


def _event(kind: str, data: str, name: str) -> bytes:
    told = f"id: {name}\n" if name else ""
    return f"{told}event: {kind}\ndata: {data}\n\n".encode()
