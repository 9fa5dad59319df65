"""The prices of some shares: made up, moving a little every minute. No exchange is asked."""

from collections.abc import Callable
from datetime import UTC, datetime
from math import sin
from typing import Final
from zlib import crc32

import anyio
from pydantic import BaseModel

from stagepost.agents import Tool, tool

# Ticker, currency, a price to start with, the company.
_SHARES: Final = """
AAPL USD 231.4 Apple|ADBE USD 498.2 Adobe|AIR EUR 148.9 Airbus|AMD USD 157.3 AMD|AMZN USD 201.7 Amazon
ASML EUR 689.5 ASML|BA USD 176.4 Boeing|BMW EUR 84.3 BMW|CSCO USD 58.1 Cisco|DIS USD 103.6 Disney
GOOGL USD 187.2 Google|IBM USD 226.8 IBM|INTC USD 23.9 Intel|JPM USD 214.5 JPMorgan|KO USD 63.7 Coca-Cola
MCD USD 297.1 McDonald's|META USD 571.3 Meta|MSFT USD 428.6 Microsoft|NESN CHF 86.4 Nestle|NFLX USD 742.9 Netflix
NKE USD 79.2 Nike|NVDA USD 139.8 Nvidia|ORCL USD 172.6 Oracle|PFE USD 28.3 Pfizer|SAP EUR 214.9 SAP
SHEL GBP 25.6 Shell|SIE EUR 186.7 Siemens|SONY USD 19.4 Sony|TM USD 176.1 Toyota|TSLA USD 244.3 Tesla
V USD 289.5 Visa|VOW3 EUR 91.8 Volkswagen|WMT USD 81.2 Walmart
"""


class StockPrice(BaseModel):
    """The price of a share.

    Attributes:
        ticker: The short name of the share.
        company: The company.
        price: Of one share.
        currency: Of the price, as three letters.
        change_percent: Since yesterday.
        as_of: When this was the price.
    """

    ticker: str
    company: str
    price: float
    currency: str
    change_percent: float
    as_of: datetime


def _shares() -> dict[str, tuple[str, float, str]]:
    rows = [row.split(maxsplit=3) for line in _SHARES.split("\n") for row in line.split("|") if row]
    return {ticker: (currency, float(price), company) for ticker, currency, price, company in rows}


_BY_TICKER: Final = _shares()
COMPANIES: Final = {ticker: company for ticker, (_, _, company) in _BY_TICKER.items()}


def price_of(ticker: str, now: datetime) -> StockPrice:
    """The price of a share at a time.

    Raises:
        LookupError: No share has this ticker.
    """
    ticker = ticker.strip().upper()
    if ticker not in _BY_TICKER:
        raise LookupError(f"no share with the ticker {ticker!r} is listed here")
    currency, start, company = _BY_TICKER[ticker]
    phase = crc32(ticker.encode()) % 1000
    minutes = now.timestamp() // 60
    change = 1.8 * sin(now.toordinal() + phase) + 0.4 * sin(minutes / 7 + phase)
    return StockPrice(
        ticker=ticker,
        company=company,
        price=round(start * (1 + change / 100), 2),
        currency=currency,
        change_percent=round(change, 2),
        as_of=now.replace(second=0, microsecond=0),
    )


def stock_tool(*, seconds: float, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Tool[..., object]:
    """The tool ``get_stock_price``.

    Args:
        seconds: How long the exchange takes to answer.
        now: Tells the time.
    """

    @tool(idempotent=True)
    async def get_stock_price(ticker: str) -> StockPrice:
        """Get the price of the share {ticker}.

        Args:
            ticker: The short name of the share, such as AAPL.
        """
        await anyio.sleep(seconds)
        return price_of(ticker, now())

    return get_stock_price
