"""Elements of SVG, each text and each attribute escaped, without characters that XML does not know."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from ._text import plain


def element(name: str, *inner: str | Markup | None, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: Its name.
        *inner: What it contains; a plain text is escaped, None is left out.
        **attributes: Its attributes; None leaves one out. Underscores stand for hyphens, one at the end is dropped
            (``class_``), and ``viewBox`` stays as it is.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = Markup("").join(_written(each) for each in inner if each is not None)
    if not content:
        return Markup(f"<{name}{given}/>")  # noqa: S704  # names are constants, values are escaped
    return Markup(f"<{name}{given}>{content}</{name}>")  # noqa: S704  # the same


def group(inner: Iterable[str | Markup | None], **attributes: str | float | None) -> Markup:
    """A group of elements."""
    return element("g", *inner, **attributes)


def at(x: float, y: float) -> str:
    """What moves an element, as its ``transform``."""
    return f"translate({number(x)} {number(y)})"


def number(value: float) -> str:
    """A number as short as it may be."""
    return f"{value:.1f}".removesuffix(".0")


def _written(value: str | Markup | float) -> str | Markup:
    if isinstance(value, Markup):
        return value
    return plain(value) if isinstance(value, str) else number(value)
