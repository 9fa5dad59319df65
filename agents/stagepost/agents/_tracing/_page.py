"""A trace as a timeline: one HTML page without scripts, which allows itself nothing but its own style sheet. Pure."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from typing import Final, NamedTuple

from pydantic import JsonValue
from pydantic_core import to_json

from ._page_style import STYLE
from ._span import Span
from ._text import duration

_WIDTH: Final = 1000.0  # of a timeline, in units of its own
_LEAST: Final = 2.0  # of a bar
_TICKS: Final = 5
_LONGEST: Final = 20_000  # characters of a value
_DEEPEST: Final = 12  # levels that are indented
_KINDS: Final = (("generation", "model"), ("tool", "tool"), ("agent", "agent"), ("span", "run, turn or step"))


class _Scale(NamedTuple):
    """Where times are on the timeline.

    Attributes:
        start: When it begins.
        seconds: How long it is.
    """

    start: float
    seconds: float

    def bar(self, begin: float, end: float) -> str:
        """Where something stands, as attributes of a rectangle."""
        left = min(max((begin - self.start) / self.seconds * _WIDTH, 0.0), _WIDTH - _LEAST)
        width = min(max((end - begin) / self.seconds * _WIDTH, _LEAST), _WIDTH - left)
        return f'x="{left:.2f}" width="{width:.2f}"'


def page(title: str, spans: Sequence[tuple[int, Span]]) -> str:
    """The page of a trace.

    Args:
        title: Its name.
        spans: Its spans with their depths, each before those below it.
    """
    listed = [span for _, span in spans]
    start = min((span.started_at for span in listed), default=0.0)
    end = max((span.ended_at or span.started_at for span in listed), default=start)
    scale = _Scale(start, max(end - start, 0.001))
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join((*_head(title, listed, scale), *_rows(spans, scale), "</main>", *map(_facts, listed)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _head(title: str, spans: Sequence[Span], scale: _Scale) -> Iterator[str]:
    root = spans[0] if spans else None
    begun = datetime.fromtimestamp(scale.start, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    waited = sum(end - begin for begin, end in (root.waits if root else ()))
    tokens = sum(int(span.usage.get("total_tokens", 0)) for span in spans)
    cost = sum(float(span.usage.get("cost", 0.0)) for span in spans)
    told = [
        ("Status", (root.status or "not ended") if root else "empty"),
        ("Began", begun),
        ("Took", duration(scale.seconds)),
        ("Worked", duration(max(scale.seconds - waited, 0.0))),
        ("Waited", duration(waited)),
        ("Spans", f"{len(spans):,}"),
        ("Errors", f"{sum(span.status == 'error' for span in spans):,}"),
        ("Tokens", f"{tokens:,}"),
        *([("Cost", f"${cost:.4f}")] if cost else ()),
    ]
    yield f"<header><h1>{escape(title)}</h1><dl>"
    yield from (f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in told)
    yield '</dl><p class="legend">'
    yield from (f'<span class="key {kind}">{word}</span>' for kind, word in _KINDS)
    yield '<span class="key wait">waiting</span><span class="key error">failed</span>'
    yield '<span class="key interrupted">interrupted</span></p></header><main>' + _ruler(scale)


def _ruler(scale: _Scale) -> str:
    ticks = "".join(
        f'<text x="{index * 100 / _TICKS:.0f}%" y="14">{duration(scale.seconds * index / _TICKS)}</text>'
        for index in range(_TICKS)
    )
    hatch = (
        '<svg class="defs" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="6" class="line"/>'
        "</pattern></defs></svg>"
    )
    return f'{hatch}<div class="row ruler" aria-hidden="true"><span></span><svg>{ticks}</svg><span></span></div>'


def _rows(spans: Sequence[tuple[int, Span]], scale: _Scale) -> Iterator[str]:
    """The rows, each with those below it inside of it, so that they fold away with it."""
    for index, (depth, span) in enumerate(spans):
        below = spans[index + 1][0] if index + 1 < len(spans) else 0
        if below > depth:
            yield f"<details open><summary>{_row(depth, span, scale)}</summary>"
        else:
            yield _row(depth, span, scale)
            yield "</details>" * (depth - below)


def _row(depth: int, span: Span, scale: _Scale) -> str:
    end = scale.start + scale.seconds if span.ended_at is None else span.ended_at
    state = span.status or "open"
    bars = [f'<rect class="{span.type.value} {state}" y="5" height="12" {scale.bar(span.started_at, end)}/>']
    bars += [f'<rect class="wait" y="5" height="12" {scale.bar(*wait)}/>' for wait in span.waits]
    told = "" if state == "ok" else f' <em class="{state}">{"not ended" if state == "open" else state}</em>'
    return (
        f'<div class="row d{min(depth, _DEEPEST)}"><span class="name"><a href="#s{span.span_id}">'
        f"{escape(span.name)}</a>{told}</span>"
        f'<svg viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(f"{span.name}: {state}, {duration(span.seconds)}")}">{"".join(bars)}</svg>'
        f'<span class="took">{duration(span.seconds)}</span></div>'
    )


def _facts(span: Span) -> str:
    """What is known of a span: shown once its name is followed."""
    begun = datetime.fromtimestamp(span.started_at, UTC).isoformat(timespec="milliseconds")
    known: dict[str, JsonValue] = {
        "type": span.type.value,
        "status": span.status or "not ended",
        "error": span.error,
        "began": begun,
        "took": duration(span.seconds),
        "model": span.model,
        "span": span.span_id,
        "trace": span.trace_id,
        **{key.replace("_", " "): value for key, value in span.usage.items()},
        **span.metadata,
    }
    lines = "".join(f"<dt>{escape(str(key))}</dt><dd>{_value(value)}</dd>" for key, value in known.items() if value)
    content = "".join(
        f"<h3>{name}</h3><pre>{_value(value)}</pre>"
        for name, value in (("Input", span.input), ("Output", span.output))
        if value is not None
    )
    events = "".join(
        f"<li><b>{escape(event.name)}</b> {_after(span, event.at)} {_plain(event.attributes)}</li>"
        for event in span.events
    )
    told = f"<h3>Events</h3><ul>{events}</ul>" if events else ""
    return (
        f'<section class="facts" id="s{span.span_id}" tabindex="-1" aria-label="{escape(span.name)}">'
        f'<a class="close" href="#" aria-label="Close">close</a><h2>{escape(span.name)}</h2><dl>{lines}</dl>'
        f"{content}{told}</section>"
    )


def _after(span: Span, at: float) -> str:
    return f"after {duration(max(at - span.started_at, 0.0))}"


def _plain(attributes: Mapping[str, JsonValue]) -> str:
    return f"<code>{_value(dict(attributes))}</code>" if attributes else ""


def _value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else to_json(value, indent=2).decode()
    return escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text) - _LONGEST:,} more characters)")
