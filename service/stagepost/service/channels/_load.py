"""How much may be asked and spent: by everybody, by a tenant, by a user."""

import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from time import time
from typing import Final

from limits import RateLimitItem, RateLimitItemPerDay, parse_many
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import FixedWindowRateLimiter, RateLimiter, SlidingWindowCounterRateLimiter
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ._errors import LoadRefused

_MICRO: Final = 1_000_000  # limits count in whole numbers: money is counted in millionths of a dollar
_SOON: Final = 1.0  # seconds after which somebody else may have ended


class LoadLimits(BaseModel):
    """Limits of one environment, such as production. None means no limit.

    Attributes:
        requests: How often all together may ask, as `limits` writes it: ``"100/second"``; several with ``;``.
        at_once: Requests under way at once.
        tenant_requests: How often a tenant may ask.
        user_requests: How often a user of a tenant may ask.
        tenant_tokens: Tokens of a tenant within a day.
        tenant_dollars: US dollars of a tenant within a day.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = "1.0"
    requests: str | None = "100/second"
    at_once: int | None = Field(default=50, ge=1)
    tenant_requests: str | None = "100/minute"
    user_requests: str | None = "10/minute"
    tenant_tokens: int | None = Field(default=1_000_000, ge=1)
    tenant_dollars: float | None = Field(default=100.0, gt=0, allow_inf_nan=False)

    @field_validator("requests", "tenant_requests", "user_requests")
    @classmethod
    def _is_known(cls, text: str | None) -> str | None:
        try:
            _items(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is no limit: write it as 10/minute, several with a semicolon") from error
        return text


class Load:
    """Counts requests, tokens and money, and refuses what is too much.

    Args:
        limits: How much there may be.
        storage: Where it is counted: one of `limits.aio.storage`, such as Redis, for several processes; None for the
            memory of this one.
        environment: Keeps the counts of several environments apart in one storage.
    """

    def __init__(
        self, limits: LoadLimits | None = None, *, storage: Storage | None = None, environment: str = "production"
    ) -> None:
        self._limits = limits or LoadLimits()
        kept = storage or MemoryStorage()
        self._rates: Final = SlidingWindowCounterRateLimiter(kept)
        self._spent: Final = FixedWindowRateLimiter(kept)
        self._name = environment
        self._open = 0

    @property
    def open(self) -> int:
        """Requests under way."""
        return self._open

    @asynccontextmanager
    async def request(self, *, tenant: str, user: str) -> AsyncIterator[None]:
        """Count a request, which is under way as long as the block is.

        Args:
            tenant: On whose behalf.
            user: Who asks.

        Raises:
            LoadRefused: It is one too many, or the tenant has spent what it may today. Nothing waits.
        """
        limits = self._limits
        if limits.at_once is not None and self._open >= limits.at_once:
            raise LoadRefused("requests at once", f"{limits.at_once}", _SOON)
        self._open += 1
        try:
            await self._check_spent(tenant)
            await self._count("requests of the user", _items(limits.user_requests), "user", tenant, user)
            await self._count("requests of the tenant", _items(limits.tenant_requests), "tenant", tenant)
            await self._count("requests of all", _items(limits.requests), "all")
            yield
        finally:
            self._open -= 1

    async def spend(self, *, tenant: str, tokens: int = 0, dollars: float = 0.0) -> None:
        """Count what a request has cost; what is over the limit counts, too, and the next request is refused.

        Args:
            tenant: On whose behalf.
            tokens: Read and written.
            dollars: US dollars. What is less than nothing, or no number, counts as nothing.
        """
        dollars = dollars if math.isfinite(dollars) else 0.0
        for item, name, amount in self._budgets(tokens, dollars):
            if amount > 0:
                await self._spent.hit(item, self._name, name, tenant, cost=amount)

    async def _check_spent(self, tenant: str) -> None:
        for item, name, _ in self._budgets(0, 0.0):
            window = await self._spent.get_window_stats(item, self._name, name, tenant)
            if window.remaining <= 0:
                raise await self._refusal(self._spent, f"{name} of the tenant", item, self._name, name, tenant)

    async def _count(self, limit: str, items: Iterable[RateLimitItem], *who: str) -> None:
        for item in items:
            if not await self._rates.hit(item, self._name, *who):
                raise await self._refusal(self._rates, limit, item, self._name, *who)

    async def _refusal(self, limiter: RateLimiter, limit: str, item: RateLimitItem, *who: str) -> LoadRefused:
        window = await limiter.get_window_stats(item, *who)
        allowed = f"{self._limits.tenant_dollars:g} $ per 1 day" if limit.startswith("dollars") else str(item)
        return LoadRefused(limit, allowed, window.reset_time - time())

    def _budgets(self, tokens: int, dollars: float) -> Iterable[tuple[RateLimitItem, str, int]]:
        limits = self._limits
        if limits.tenant_tokens is not None:
            yield RateLimitItemPerDay(limits.tenant_tokens), "tokens", tokens
        if limits.tenant_dollars is not None:
            yield RateLimitItemPerDay(round(limits.tenant_dollars * _MICRO)), "dollars", math.ceil(dollars * _MICRO)


def _items(text: str | None) -> list[RateLimitItem]:
    return parse_many(text) if text else []
