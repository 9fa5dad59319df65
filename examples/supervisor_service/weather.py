"""The weather of some cities: the same all day long, made up of their climate and the date. No network is asked."""

from collections.abc import Callable
from datetime import date, timedelta
from math import cos, pi
from typing import Final
from zlib import crc32

import anyio
from pydantic import BaseModel

from stagepost.agents import Tool, tool

_DRY: Final = ("clear sky", "sunny spells", "light clouds", "overcast")
_WET: Final = ("light rain", "showers", "heavy rain")

# City, country, degrees in January, degrees in July, how often it rains (0 to 1).
_CLIMATES: Final = """
Amsterdam NL 4 18 .6|Athens GR 10 29 .2|Auckland NZ 20 11 .5|Bangkok TH 27 29 .5|Barcelona ES 10 25 .2
Beijing CN -3 27 .3|Bergen NO 2 15 .9|Berlin DE 1 20 .4|Bern CH 0 19 .4|Bogota CO 14 14 .6|Boston US -1 23 .4
Brussels BE 4 18 .5|Bucharest RO -1 24 .3|Budapest HU 0 22 .3|Buenos Aires AR 25 11 .3|Cairo EG 14 29 .05
Cape Town ZA 21 13 .3|Chicago US -4 24 .4|Copenhagen DK 2 18 .4|Delhi IN 14 31 .3|Denver US 0 24 .2
Dubai AE 19 36 .05|Dublin IE 5 15 .6|Edinburgh GB 4 15 .6|Frankfurt DE 2 20 .4|Geneva CH 2 21 .4|Hamburg DE 2 18 .5
Helsinki FI -4 18 .4|Hong Kong HK 16 29 .5|Istanbul TR 6 24 .3|Jakarta ID 27 27 .6|Johannesburg ZA 20 11 .3
Kyiv UA -3 21 .4|Lagos NG 27 25 .5|Lima PE 23 17 .1|Lisbon PT 12 23 .3|London GB 6 19 .5|Los Angeles US 14 22 .1
Madrid ES 6 26 .2|Manila PH 26 28 .6|Melbourne AU 20 10 .4|Mexico City MX 14 17 .4|Miami US 20 29 .4
Milan IT 3 24 .3|Montreal CA -9 21 .4|Moscow RU -6 19 .4|Mumbai IN 24 28 .6|Munich DE 0 19 .4|Nairobi KE 19 17 .3
New York US 1 25 .4|Oslo NO -4 17 .4|Paris FR 5 20 .4|Prague CZ 0 19 .4|Reykjavik IS 1 12 .6
Rio de Janeiro BR 27 22 .4|Rome IT 8 25 .3|San Francisco US 11 16 .2|Santiago CL 21 9 .2|Sao Paulo BR 23 17 .5
Seattle US 5 19 .5|Seoul KR -2 25 .4|Shanghai CN 5 29 .4|Singapore SG 27 28 .7|Stockholm SE -2 18 .4
Sydney AU 23 13 .4|Tallinn EE -3 18 .4|Tokyo JP 5 26 .4|Toronto CA -4 22 .4|Vancouver CA 4 18 .6|Venice IT 4 24 .3
Vienna AT 1 21 .4|Warsaw PL -2 19 .4|Washington US 3 26 .4|Zurich CH 1 19 .4
"""


class Outlook(BaseModel):
    """What is expected for a day."""

    condition: str
    temperature_c: float


class Weather(BaseModel):
    """The weather of a city.

    Attributes:
        city: The city.
        country: Its country, as two letters.
        condition: The sky, in words.
        temperature_c: Degrees Celsius.
        humidity_percent: Relative humidity.
        wind_kmh: Kilometres per hour.
        tomorrow: What is expected for tomorrow.
    """

    city: str
    country: str
    condition: str
    temperature_c: float
    humidity_percent: int
    wind_kmh: int
    tomorrow: Outlook


class _Climate(BaseModel):
    city: str
    country: str
    january: float
    july: float
    rain: float


def _climates() -> dict[str, _Climate]:
    rows = [row.rsplit(maxsplit=4) for line in _CLIMATES.split("\n") for row in line.split("|") if row]
    found = [
        _Climate(city=city, country=country, january=float(january), july=float(july), rain=float(rain))
        for city, country, january, july, rain in rows
    ]
    return {climate.city.casefold(): climate for climate in found}


_BY_NAME: Final = _climates()
CITIES: Final = tuple(climate.city for climate in _BY_NAME.values())


def weather_of(city_name: str, country_code: str | None, today: date) -> Weather:
    """The weather of a city on a day.

    Raises:
        LookupError: There is no weather station in this city, or not in this country.
    """
    climate = _BY_NAME.get(city_name.strip().casefold())
    if climate is None:
        raise LookupError(f"there is no weather station in {city_name!r}")
    if country_code and country_code.strip().upper() != climate.country:
        raise LookupError(
            f"there is no weather station in {city_name!r} of {country_code!r}, but one in {climate.country}"
        )
    chance = _chances(climate.city, today)
    now, then = _outlook(climate, today), _outlook(climate, today + timedelta(days=1))
    return Weather(
        city=climate.city,
        country=climate.country,
        condition=now.condition,
        temperature_c=now.temperature_c,
        humidity_percent=35 + round(40 * climate.rain) + chance[2] % 20,
        wind_kmh=4 + chance[3] % 25,
        tomorrow=then,
    )


def weather_tool(*, seconds: float, today: Callable[[], date] = date.today) -> Tool[..., object]:
    """The tool ``get_weather``.

    Args:
        seconds: How long the station takes to answer.
        today: Tells the date.
    """

    @tool(idempotent=True)
    async def get_weather(city_name: str, country_code: str | None = None) -> Weather:
        """Get the weather in {city_name}: now, and what is expected for tomorrow.

        Args:
            city_name: The city, in English.
            country_code: Its country as two letters, if there are several cities of this name.
        """
        await anyio.sleep(seconds)
        return weather_of(city_name, country_code, today())

    return get_weather


def _outlook(climate: _Climate, day: date) -> Outlook:
    chance = _chances(climate.city, day)
    wave = (1 + cos(2 * pi * (day.timetuple().tm_yday - 20) / 365)) / 2  # 1 in January, 0 in July
    degrees = climate.july + (climate.january - climate.july) * wave + chance[0] % 60 / 10 - 3
    is_wet = chance[1] % 100 < 100 * climate.rain
    skies = _WET if is_wet else _DRY
    condition = "snow" if is_wet and degrees < 0 else skies[chance[1] % len(skies)]
    return Outlook(condition=condition, temperature_c=round(degrees, 1))


def _chances(city: str, day: date) -> bytes:
    """Four bytes that nobody can foresee, and that are the same for everybody."""
    return crc32(f"{city} {day}".encode()).to_bytes(4)
