"""Numbers: arithmetic, rounding, comparisons of numbers."""

import math
from collections.abc import Callable
from typing import Any, Final

from .._fault import Fault
from .._machine import Machine
from .._values._names import wrong_types
from .._values._types import Builtin
from ._sequence import family

_LARGE: Final = 2**62
_NUMBERS: Final = (int, float)


def number(name: str, *values: Any) -> None:
    """Refuse what is no number."""
    for value in values:
        if type(value) is not int and type(value) is not float:
            raise wrong_types(name, *values)


def checked(m: Machine, value: Any) -> Any:
    """A result; large integers are counted."""
    return m.integer(value) if type(value) is int and not -_LARGE < value < _LARGE else value


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def add(m: Machine, *values: Any) -> Any:
    number("+", *values)
    total: Any = 0
    for value in values:
        total = checked(m, _mixed(total, value, lambda a, b: a + b))
    return total


def _mixed(one: Any, other: Any, act: Callable[[Any, Any], Any]) -> Any:
    if type(one) is type(other):
        return act(one, other)
    return act(_as_float(one), _as_float(other))


def subtract(m: Machine, first: Any, *values: Any) -> Any:
    number("-", first, *values)
    if not values:
        return -first
    for value in values:
        first = checked(m, _mixed(first, value, lambda a, b: a - b))
    return first


def multiply(m: Machine, *values: Any) -> Any:
    number("*", *values)
    total: Any = 1
    for value in values:
        total = checked(m, _mixed(total, value, lambda a, b: a * b))
    return total


def divide(_: Machine, first: Any, *values: Any) -> float:
    number("/", first, *values)
    given = values or (first,)
    result = 1.0 if not values else _as_float(first)
    for value in given:
        result = _divided(result, _as_float(value))
    return result


def _divided(one: float, other: float) -> float:
    if other:
        return one / other
    if one == 0 or math.isnan(one) or math.isnan(other):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def _whole(name: str, one: Any, other: Any) -> None:
    number(name, one, other)
    if other == 0:
        raise Fault("arithmetic_error", f"{name}: division by zero", "test with zero? before")
    for value in (one, other):
        if type(value) is float and not math.isfinite(value):
            raise Fault("arithmetic_error", f"{name}: infinite numbers have no quotient")


def quot(m: Machine, one: Any, other: Any) -> Any:
    _whole("quot", one, other)
    if type(one) is int and type(other) is int:
        return checked(m, one // other if (one < 0) == (other < 0) else -(-one // other))
    return _finite(_as_float(one) / _as_float(other), math.trunc, float)


def _finite(value: float, act: Callable[[float], Any], back: Callable[[Any], Any] = int) -> Any:
    return back(act(value)) if math.isfinite(value) else value


def rem(_: Machine, one: Any, other: Any) -> Any:
    _whole("rem", one, other)
    if type(one) is int and type(other) is int:
        return abs(one) % abs(other) * (-1 if one < 0 else 1)
    return math.fmod(_as_float(one), _as_float(other))


def mod(_: Machine, one: Any, other: Any) -> Any:
    _whole("mod", one, other)
    return one % other if type(one) is type(other) else _as_float(one) % _as_float(other)


def inc(m: Machine, value: Any) -> Any:
    number("inc", value)
    return checked(m, value + 1)


def dec(m: Machine, value: Any) -> Any:
    number("dec", value)
    return checked(m, value - 1)


def absolute(_: Machine, value: Any) -> Any:
    number("abs", value)
    return abs(value)


def _extreme(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(_: Machine, *values: Any) -> Any:
        number(name, *values)
        return math.nan if any(value != value for value in values) else act(values)  # noqa: PLR0124 - NaN is not itself

    return extreme


def _rounding(name: str, act: Callable[[Any], int]) -> Callable[..., Any]:
    def rounding(m: Machine, value: Any) -> Any:
        number(name, value)
        if type(value) is float and not math.isfinite(value):
            raise Fault("arithmetic_error", f"{name}: cannot convert {_word(value)} to integer")
        return checked(m, act(value))

    return rounding


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _half_up(value: float) -> int:
    if isinstance(value, int):
        return value
    below = math.floor(value)
    part = value - below
    return below + (part > 0.5 or (part == 0.5 and value > 0))  # noqa: PLR2004 - halves go away from zero


def to_float(_: Machine, value: Any) -> float:
    number("float", value)
    return _as_float(value)


def sqrt(_: Machine, value: Any) -> float:
    number("sqrt", value)
    value = _as_float(value)
    return math.sqrt(value) if value >= 0 else math.nan


def power(m: Machine, base: Any, exponent: Any) -> Any:
    number("pow", base, exponent)
    if type(base) is int and type(exponent) is int and exponent >= 0:
        if abs(base) > 1 and base.bit_length() * exponent > 2 * m.limits.integer_digits * 4:
            return m.integer(1 << (m.limits.integer_digits * 4))
        return checked(m, base**exponent)
    try:
        result = _as_float(base) ** _as_float(exponent)
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf if base > 0 else -math.inf
    return result if type(result) is float else math.nan


def compare(_: Machine, one: Any, other: Any) -> Any:
    if (type(one) in _NUMBERS and type(other) in _NUMBERS) or type(one) is str is type(other):
        return (one > other) - (one < other)
    raise wrong_types("compare", one, other)


def _ordering(name: str, act: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def ordering(_: Machine, one: Any, other: Any) -> bool:
        number(name, one, other)
        return act(one, other)

    return ordering


def _sign(name: str, act: Callable[[Any], bool]) -> Callable[..., bool]:
    def sign(_: Machine, value: Any) -> bool:
        number(name, value)
        return act(value)

    return sign


def _parity(name: str, rest: int) -> Callable[..., bool]:
    def parity(_: Machine, value: Any) -> bool:
        if type(value) is not int:
            raise wrong_types(name, value, hint=f"{name} takes integers")
        return value % 2 == rest

    return parity


B = Builtin
NUMBERS: Final = family(
    "Number",
    B("+", 0, None, add, "the sum; 0 of none"),
    B("-", 1, None, subtract, "the difference; of one number, its negative"),
    B("*", 0, None, multiply, "the product; 1 of none"),
    B("/", 1, None, divide, "the quotient, always a float; by zero, infinite or NaN"),
    B("quot", 2, 2, quot, "the whole quotient, towards zero"),
    B("rem", 2, 2, rem, "the rest, with the sign of the first"),
    B("mod", 2, 2, mod, "the rest, with the sign of the second"),
    B("inc", 1, 1, inc, "one more"),
    B("dec", 1, 1, dec, "one less"),
    B("abs", 1, 1, absolute, "without its sign"),
    B("max", 1, None, _extreme("max", max), "the greatest number"),
    B("min", 1, None, _extreme("min", min), "the least number"),
    B("floor", 1, 1, _rounding("floor", math.floor), "the next integer below"),
    B("ceil", 1, 1, _rounding("ceil", math.ceil), "the next integer above"),
    B("round", 1, 1, _rounding("round", _half_up), "the nearest integer, halves away from zero"),
    B("trunc", 1, 1, _rounding("trunc", math.trunc), "the integer towards zero"),
    B("int", 1, 1, _rounding("int", math.trunc), "the integer towards zero"),
    B("float", 1, 1, to_float, "as a float", "", ("double",)),
    B("sqrt", 1, 1, sqrt, "the square root; NaN of a negative number"),
    B("pow", 2, 2, power, "a power"),
    B("compare", 2, 2, compare, "-1, 0 or 1, of two numbers or two texts"),
    B("<", 2, 2, _ordering("<", lambda one, other: one < other), "less, of two numbers"),
    B(">", 2, 2, _ordering(">", lambda one, other: one > other), "greater"),
    B("<=", 2, 2, _ordering("<=", lambda one, other: one <= other), "less or equal"),
    B(">=", 2, 2, _ordering(">=", lambda one, other: one >= other), "greater or equal"),
    B("zero?", 1, 1, _sign("zero?", lambda value: value == 0), "whether it is 0"),
    B("pos?", 1, 1, _sign("pos?", lambda value: value > 0), "whether it is above 0"),
    B("neg?", 1, 1, _sign("neg?", lambda value: value < 0), "whether it is below 0"),
    B("even?", 1, 1, _parity("even?", 0), "of integers"),
    B("odd?", 1, 1, _parity("odd?", 1), "of integers"),
)
