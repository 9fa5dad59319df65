"""The pages of an office in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from tests.service.inspector import _office as office

from stagepost.service import RequestLimits, create_app
from stagepost.workflows import Runner


@asynccontextmanager
async def pages(
    runner: Runner | None = None, *, filled: bool | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the pages of a runner; by default of an office that is filled."""
    made = runner or office.runner()
    app = create_app(made, limits=RequestLimits.none(), **options)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        if filled if filled is not None else runner is None:
            await office.fill(made)
        yield http
