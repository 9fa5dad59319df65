"""Pages out of templates: each value escaped, each address below the prefix under which the application is mounted."""

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Final

from jinja2 import Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from .._serving import asked
from ._assets import Assets

_OWN: Final = MappingProxyType({"stagepost": Path(__file__).parent / "stagepost"})


_TURNING: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # what follows, to the left
_UNSEEN: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_TURNING, *range(0xD800, 0xE000)), 0xFFFD),
}


def _visible(value: object) -> object:
    """A text with signs in the place of control characters, and of those that turn the direction of what follows."""
    return value.translate(_UNSEEN) if isinstance(value, str) and not isinstance(value, Markup) else value


class Pages:
    """Makes pages.

    Args:
        folders: By name, what has templates (``*.html``) and a subfolder ``assets``. A template is named
            ``name/index.html``, a file ``name/index.css``. The name ``stagepost`` is taken: its ``base.html`` is what
            all pages extend.
        own: Folders of the library, whose names are taken, too.

    Raises:
        ValueError: A folder has a name that is taken, or is none.
    """

    def __init__(
        self, folders: Mapping[str, Path] = MappingProxyType({}), own: Mapping[str, Path] = MappingProxyType({})
    ) -> None:
        taken = {**_OWN, **own}
        for name, folder in folders.items():
            if name in taken or not folder.is_dir():
                raise ValueError(
                    f"pages[{name!r}]={folder}: give a folder that is there, and another name than {' or '.join(taken)}"
                )
        every = {**taken, **folders}
        self._assets = Assets(every)
        self._templates = Environment(
            loader=PrefixLoader({name: FileSystemLoader(folder) for name, folder in every.items()}),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_visible,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def routes(self) -> list[Route]:
        """What the files are sent by."""
        return [Route("/assets/{name:path}", self._assets.send)]

    def render(
        self, request: HTTPConnection, template: str, *, status: int = HTTPStatus.OK, **values: object
    ) -> HTMLResponse:
        """A page.

        Args:
            request: What it answers.
            template: The template's name.
            status: The status of the answer.
            **values: What the template shows. Beside them it has ``asset(name)``, ``url(path)`` and ``caller``.

        Raises:
            jinja2.TemplateError: There is no such template, or it uses what it was not given.
        """
        return HTMLResponse(self.text(request, template, **values), status)

    def text(self, request: HTTPConnection, template: str, **values: object) -> str:
        """What a template makes, which may be a part of a page; the arguments are those of `render`."""
        root = root_of(request)
        return self._templates.get_template(template).render(
            asset=lambda name: f"{root}/assets/{self._assets.address(name)}",
            url=lambda path: f"{root}{path}",
            caller=asked(request).caller,
            has_login=asked(request).has_login,
            **values,
        )


def root_of(request: HTTPConnection) -> str:
    """The prefix of all addresses of the application; empty if it is not mounted below another one's."""
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")


def page(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: object) -> HTMLResponse:
    """A page, as the answer of a route. See `create_app`'s ``pages=``.

    In the template ``asset("chat/chat.css")`` is the address of a file, ``url("/chat")`` that of a route, and
    ``caller`` is the `Caller` who asks, or None.

    Args:
        request: What it answers.
        template: The template's name, with that of its folder: ``chat/index.html``.
        status: The status of the answer.
        **values: What the template shows.

    Raises:
        RuntimeError: The application was made without ``pages=``.
        jinja2.TemplateError: There is no such template, or it uses what it was not given.
    """
    pages = asked(request).pages
    if not isinstance(pages, Pages):
        raise RuntimeError("the application has no pages: give create_app(pages=…)")  # noqa: TRY004  # no argument's type
    return pages.render(request, template, status=status, **values)
