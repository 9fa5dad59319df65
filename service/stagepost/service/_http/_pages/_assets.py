"""Files that pages need: read once, and kept by browsers for as long as their content stays."""

import gzip
from collections.abc import Mapping
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from stagepost._dataclasses import dataclass

_FOREVER: Final = "public, max-age=31536000, immutable"
_ASK: Final = "no-cache"  # keep it, and ask whether it is still the same
_TEXTS: Final = ("text/", "application/json", "image/svg")
_WORTH: Final = 0.9  # of its length that a file may have when it is packed


@dataclass(frozen=True, slots=True)
class Asset:
    """A file.

    Attributes:
        content: Its bytes.
        kind: Its media type.
        digest: The beginning of the digest of its bytes.
        packed: The same by gzip; None if that is hardly smaller.
    """

    content: bytes
    kind: str
    digest: str
    packed: bytes | None

    @classmethod
    def read(cls, path: Path) -> "Asset":
        """That of a path."""
        content = path.read_bytes()
        kind = "text/javascript" if path.suffix == ".js" else guess_type(path.name)[0] or "application/octet-stream"
        if kind.startswith(_TEXTS):
            kind = f"{kind}; charset=utf-8"
        packed = gzip.compress(content, mtime=0) if kind.startswith(_TEXTS) else content
        is_smaller = len(packed) < _WORTH * len(content)
        return cls(content, kind, sha256(content).hexdigest()[:16], packed if is_smaller else None)


class Assets:
    """The files of all folders of pages.

    Args:
        folders: By name; their subfolder ``assets`` has the files.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._all = {
            f"{name}/{path.relative_to(folder / 'assets').as_posix()}": Asset.read(path)
            for name, folder in folders.items()
            for path in sorted((folder / "assets").rglob("*"))
            if path.is_file()
        }

    def address(self, name: str) -> str:
        """The path of a file below ``/assets/``, which changes with its content.

        Raises:
            LookupError: There is no such file.
        """
        if name not in self._all:
            raise LookupError(f"there is no file {name!r} of pages: there are {', '.join(self._all)}")
        return f"{quote(name)}?v={self._all[name].digest}"

    async def send(self, request: Request) -> Response:
        """Answer with a file."""
        asset = self._all.get(request.path_params["name"])
        if asset is None:
            raise HTTPException(404)
        is_packed = asset.packed is not None and "gzip" in request.headers.get("accept-encoding", "")
        etag = f'"{asset.digest}-gzip"' if is_packed else f'"{asset.digest}"'
        is_named = request.query_params.get("v") == asset.digest
        headers = {"ETag": etag, "Cache-Control": _FOREVER if is_named else _ASK, "Vary": "Accept-Encoding"}
        if etag in (each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")):
            return Response(status_code=304, headers=headers)
        if is_packed:
            headers["Content-Encoding"] = "gzip"
        return Response(asset.packed if is_packed else asset.content, media_type=asset.kind, headers=headers)
