"""Checks of answers against what tools have returned."""

import pytest

from stagepost.service.supervisor import Check, ToolEvidence, check_citations, check_prices, check_temperatures

WEATHER = ToolEvidence("weather", "get_weather", '{"city": "Oslo", "temperature": -3.5, "feels_like": -8}')
STOCK = ToolEvidence("stock", "get_stock_price", '{"ticker": "AAPL", "price": 1150.25, "change": 2.5}')
FOUND = ToolEvidence("knowledge", "search", '{"hits": [{"title": "Tides of Bergen"}, {"title": "Moons"}]}')
TEXT = ToolEvidence("weather", "note", "temperature: 3")


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("It is -3.5 °C.", 0),
        ("It is \N{MINUS SIGN}4 °C, and feels like -8°C.", 0),
        ("It is -2.5 degrees Celsius.", 0),
        ("It is -2.4 °C.", 1),
        ("It is 25.7 °F.", 0),
        ("It is 40 °F.", 1),
        ("From -5-3 °C.", 1),
        ("It is cold, 12 km away.", 0),
    ],
    ids=str,
)
def test_temperatures_may_differ_by_a_degree(answer: str, count: int) -> None:
    assert len(check_temperatures(answer, [WEATHER, STOCK, TEXT])) == count


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("AAPL is at $1,150.25.", 0),
        ("AAPL costs 1150.26 USD, up 2.50 dollars.", 0),
        ("AAPL costs 1150.27 USD.", 1),
        ("$99 and €98.", 2),
        ("Three of 4.", 0),
    ],
    ids=str,
)
def test_prices_may_differ_by_a_cent(answer: str, count: int) -> None:
    assert len(check_prices(answer, [STOCK, WEATHER])) == count


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("High at two [Tides of Bergen].", 0),
        ("High at two [2].", 0),
        ("High at two, says Tides of Bergen.", 0),
        ("High at two.", 1),
        ("High at two [7].", 2),
        ("High at two [Moons] and [Almanac].", 1),
        ("High at two [Almanac].", 2),
    ],
    ids=str,
)
def test_answers_from_texts_cite_them(answer: str, count: int) -> None:
    assert len(check_citations(answer, [FOUND, WEATHER])) == count


@pytest.mark.parametrize("check", [check_temperatures, check_prices, check_citations])
def test_without_anything_to_compare_with_nothing_is_found(check: Check) -> None:
    assert list(check("28 °C, $5, [Almanac]", [TEXT])) == []
