"""The limits of a program."""

from typing import Final

from stagepost._dataclasses import dataclass

_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use; reading, checking, evaluating and parallel branches stand under them together.

    A program that exceeds a limit ends with an error that names the limit. None means no limit.

    Attributes:
        seconds: Time that it works, without the time that it waits for tools.
        memory: Bytes that its values occupy at one time, as estimated, without its inputs.
        steps: Function calls, iterations, and elements that built-in functions touch.
        loops: Iterations of ``loop`` and ``recur``, all loops together.
        depth: How deep evaluation nests: forms in forms, and functions that call themselves.
        calls: Tool calls.
        sent: Characters of the arguments of one call, as text.
        source: Characters of the program.
        nesting: How deep forms nest in the text.
        names: Different symbols and keywords.
        digits: Digits of an integer in the text.
        integer_digits: Digits of an integer that is computed.
        printed: Characters that one ``println`` prints; the rest is cut.
        pattern: Bytes of a regular expression.
        matched: Characters of a text that regular expressions look at.
        branches: Parallel branches at a time, the same on all machines.
        stored: Bytes of all that ``def`` keeps, as text.
    """

    seconds: float | None = 1.0
    memory: int | None = 10 * _MEGABYTE
    steps: int | None = 10_000_000
    loops: int | None = 1_000
    depth: int = 700
    calls: int | None = None
    sent: int = 100_000
    source: int = 100_000
    nesting: int = 64
    names: int = 10_000
    digits: int = 100
    integer_digits: int = 1_000
    printed: int = 2_000
    pattern: int = 256
    matched: int = 32_768
    branches: int = 8
    stored: int | None = 1_048_576
