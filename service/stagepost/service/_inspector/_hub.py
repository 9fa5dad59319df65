"""The hub: how fast it works, who sends to whom, what waits, which agents are stuck, and its dead letters."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException

from stagepost.hub import DeadLetter

from .._verbs._hub_pace import Rate
from .._verbs._hub_seen import MOST_AGENTS, AgentSeen, HubSeen
from ._asking import Ask
from ._hub_drawing import picture
from ._shown import Shown
from ._words import seconds

EVERY: Final = 1.0  # seconds between two looks at a hub that is followed
_LETTERS: Final = 20


async def hub(ask: Ask) -> Shown:
    """The whole hub."""
    text, skip = ask.given("agent"), _number(ask.given("skip"))
    found = await look(ask, text, skip)
    resends = (await ask.verbs.resends(ask.caller)).acts
    letters = found.letters if ask.given("letters") else found.letters[:_LETTERS]
    values = {
        "hub": found,
        "figures": figures(found),
        "agents": [row(ask, each, found.pace.agents.get(each.described.id)) for each in found.agents],
        "letters": [letter_row(ask, each) for each in letters],
        "all_letters": ask.url("hub", letters="all") if len(letters) < len(found.letters) else "",
        "resends": resends[:_LETTERS],
        "picture": picture(ask, found),
        "text": text,
        "skip": skip,
        "before": ask.url("hub", agent=text, skip=max(0, skip - MOST_AGENTS) or "") if skip else "",
        "after": ask.url("hub", agent=text, skip=skip + MOST_AGENTS) if skip + MOST_AGENTS < found.found else "",
    }
    parts = ("figures", "stuck", "picture", "agents", "letters")
    return Shown("hub", f"Hub {found.name}", values, parts=parts, section="hub", every=EVERY)


async def agent(ask: Ask) -> Shown:
    """One agent: what it takes, how long its messages take, what it has planned, and what it does now."""
    name = ask.path("agent")
    found = await look(ask, name)
    one = next((each for each in found.agents if each.described.id == name), None)
    if one is None:
        raise HTTPException(404, f"hub {found.name!r} has no agent {name!r}: it was unregistered, or never there")
    values = {
        "hub": found,
        "agent": one,
        "row": row(ask, one, found.pace.agents.get(name)),
        "options": options(one),
        "senders": sorted({way.sender or "outside any agent" for way in found.pace.ways if way.recipient == name}),
        "recipients": sorted({way.recipient for way in found.pace.ways if way.sender == name}),
        "letters": [letter_row(ask, each) for each in found.letters if each.message.recipient == name],
    }
    return Shown("agent", f"Agent {name}", values, parts=("now", "plans"), section="hub", every=EVERY)


async def look(ask: Ask, text: str = "", skip: int = 0) -> HubSeen:
    """How the hub stands.

    Raises:
        HTTPException: There is none.
    """
    found = None
    if ask.serving is not None:
        found = await ask.verbs.hub(ask.caller, ask.serving.pace, text=text, skip=skip)
    if found is None:
        raise HTTPException(404, "the runner of this service works with no hub: give it one with Runner(hub=…)")
    return found


def figures(found: HubSeen) -> Sequence[tuple[str, str, str]]:
    """What is said of the whole hub: a name, a number, and the class of its meaning."""
    metrics, whole = found.metrics, found.pace.whole
    return [
        ("Handled a second", per_second(whole.handled if whole else None), ""),
        ("Failed a second", per_second(whole.failed if whole else None), "bad" if whole and whole.failed else ""),
        ("Being handled", f"{metrics.in_flight - metrics.depth:,}", ""),
        ("Waiting in mailboxes", f"{metrics.depth:,}", ""),
        ("Senders without room", f"{metrics.blocked:,}", "warn" if metrics.blocked else ""),
        ("Handled in all", f"{metrics.handled:,}", ""),
        ("Failed in all", f"{metrics.failed:,}", ""),
        ("Dead", f"{metrics.dead:,}", ""),
        ("Refused", f"{metrics.refused:,}", ""),
        ("95 of 100 take up to", span(metrics.latency.p95, metrics.latency.count), ""),
    ]


def row(ask: Ask, each: AgentSeen, rate: Rate | None) -> Mapping[str, Any]:
    """What is said of an agent in a line."""
    metrics = each.metrics
    return {
        "id": each.described.id,
        "href": ask.url("hub", "agents", each.described.id),
        "rate": per_second(None if rate is None else rate.handled),
        "is_failing": rate is not None and rate.failed > 0,
        "metrics": metrics,
        "stuck": each.stuck,
        "for": seconds(each.stuck.seconds) if each.stuck else "",
        "waiting": span(metrics.waiting.p95, metrics.waiting.count),
        "handling": span(metrics.handling.p95, metrics.handling.count),
        "times": [
            (
                title,
                span(latency.p50, latency.count),
                span(latency.p95, latency.count),
                span(latency.max, latency.count),
            )
            for title, latency in (("Waiting for its turn", metrics.waiting), ("Being handled", metrics.handling))
        ],
    }


def options(each: AgentSeen) -> Sequence[tuple[str, str]]:
    """How an agent was registered."""
    described = each.described
    return [
        ("Takes", ", ".join(described.payloads) or "nothing"),
        ("Subscribes to", ", ".join(described.topics) or "nothing"),
        ("At once", "any number" if described.concurrency is None else f"{described.concurrency:,}"),
        ("Mailbox", "any number" if described.mailbox is None else f"{described.mailbox:,} messages"),
        ("When it is full", described.overflow.replace("_", " ")),
        ("On a failure", str(described.supervision)),
        ("When the requester gives up", "goes on" if described.detach else "is cancelled"),
    ]


def letter_row(ask: Ask, letter: DeadLetter) -> Mapping[str, Any]:
    """What is said of a dead letter in a line."""
    message = letter.message
    return {
        "id": message.id,
        "href": ask.url("hub", "letters", message.id),
        "reason": letter.reason.value,
        "at": letter.at,
        "payload": type(message.data).__qualname__,
        "sender": message.sender or "no agent",
        "recipient": message.recipient or "no agent",
        "topic": message.topic or "",
        "type": message.type.value,
    }


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004  # digits of a number of agents


def per_second(rate: float | None) -> str:
    """A rate, as short as one wants to read it; before the second look it is not known."""
    if rate is None:
        return "…"
    return f"{rate:,.0f}" if rate >= 10 or rate == 0 else f"{rate:.1f}"  # noqa: PLR2004  # two digits


def span(value: float, count: int) -> str:
    """A time within which messages ended; nothing if there were none."""
    if not count:
        return ""
    return f"{value * 1e6:.0f} µs" if value < 1e-3 else seconds(value)  # noqa: PLR2004  # a millisecond
