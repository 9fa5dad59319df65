"""``doctor``: what this installation and the store's file are like, and what to do about it."""

import os
import platform
import sys
from collections.abc import Iterable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from rich.text import Text

from stagepost._installing import how_to_install
from stagepost.checkpoint import SqliteLibrary, StoreFile

from .._wire._store import DoctorCheck, DoctorReport
from ._access import chosen
from ._exits import Exit
from ._layout import Column, lines
from ._options import FILE_VARIABLE
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, WAITS, plain

Status = Literal["ok", "note", "warning", "problem"]

_PYTHON: Final = (3, 11)
_CORE: Final = ("anyio", "pydantic", "structlog", "aiosqlite")
_EXTRAS: Final = {  # what each extra brings, by what is imported of it
    "llm": "litellm",
    "mcp": "mcp",
    "schema": "jsonschema",
    "retry": "tenacity",
    "otel": "opentelemetry.sdk",
    "langfuse": "langfuse",
    "webhooks": "httpx2",
    "progress": "rich",
    "schedules": "cronsim",
    "encryption": "cryptography",
    "programs": "re2",
    "assistant": "cachetools",
    "serve": "uvicorn",
}
_KEYS: Final = (  # where litellm looks for the keys of providers
    "ANTHROPIC_API_KEY",
    "AZURE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)
_MEGABYTE: Final = 1_000_000
_LARGE_WAL: Final = 200 * _MEGABYTE
_LITTLE: Final = 1_000 * _MEGABYTE
_VERY_LITTLE: Final = 100 * _MEGABYTE
_MARKS: Final = {"ok": ("ok", GOOD), "note": ("-", DIM), "warning": ("!", WAITS), "problem": ("x", BAD)}


async def examined(file: Path | None, screen: Screen) -> Exit:
    """Look at everything."""
    checks = [*installation(), *sqlite(SqliteLibrary.here()), *store(file, StoreFile.at(chosen(file)))]
    found = DoctorReport(checks=checks, ok=all(check.status != "problem" for check in checks))
    screen.show(found, partial(_lines, found))
    return Exit.OK if found.ok else Exit.FOUND


def installation() -> Iterable[DoctorCheck]:
    """Python, packages, extras, and which keys of providers there are; never what they are."""
    is_enough = sys.version_info >= _PYTHON
    yield _check(
        "Python",
        "ok" if is_enough else "problem",
        f"{platform.python_version()}, {sys.executable}",
        "use 3.11 or newer",
    )
    yield _check("stagepost", "ok", _version("stagepost"))
    yield _check("needs", "ok", ", ".join(f"{name} {_version(name)}" for name in _CORE))
    for extra, module in _EXTRAS.items():
        is_there = _is_there(module)
        package = module.partition(".")[0]
        found = f"{package} {_version(_distribution(package))}" if is_there else "not installed"
        yield _check(f"extra {extra}", "ok" if is_there else "note", found, f"if you need it: {how_to_install(extra)}")
    there = [name for name in _KEYS if os.environ.get(name)]
    yield _check(
        "provider keys",
        "ok" if there else "note",
        f"set: {', '.join(there)}" if there else "none of the usual variables is set",
        f"set the one of your provider, such as {_KEYS[-2]}",
    )


def sqlite(library: SqliteLibrary) -> Iterable[DoctorCheck]:
    """The SQLite of this Python."""
    yield _check(
        "SQLite",
        "ok" if library.is_enough else "problem",
        library.version,
        f"a store needs {library.needed}: use a Python that was built with a newer one",
    )
    yield _check(
        "SQLite FTS5",
        "ok" if library.has_fts5 else "problem",
        "there" if library.has_fts5 else "missing",
        "texts of errors cannot be searched: use a Python whose SQLite has FTS5",
    )


def store(given: Path | None, found: StoreFile) -> Iterable[DoctorCheck]:
    """The file: what it is, who owns it, how large it is."""
    if not found.exists:
        status: Status = "problem" if given is not None else "note"
        what = "is a folder" if found.path.is_dir() else "does not exist"
        yield _check("file", status, f"{found.path} {what}", f"give a store's file with --file or {FILE_VARIABLE}")
        return
    if found.problem is not None:
        yield _check("file", "problem", str(found.path), found.problem)
        return
    if not found.is_store:
        yield _check("file", "problem", f"{found.path} is no store", "give the file of a store")
        return
    yield _check("file", "ok", f"{found.path}, {_size(found.size)}")
    yield _schema(found)
    yield _check("owner", "ok" if found.owner else "note", found.owner or "nobody: no runs are worked on")
    if found.writer is not None:
        yield _check("written by", "note", found.writer)
    yield _check(
        "WAL",
        "warning" if found.wal_size > _LARGE_WAL else "ok",
        _size(found.wal_size),
        "a process that reads for long, or one that was stopped, keeps it from being copied into the file: end it",
    )
    yield _disk(found)


def _schema(found: StoreFile) -> DoctorCheck:
    what = f"version {found.schema}, this stagepost knows {found.known_schema}"
    version = found.schema or 0
    if version > found.known_schema:
        return _check("schema", "problem", what, "upgrade stagepost")
    if version < found.oldest_schema:
        advice = "it is too old to be brought over: finish its runs with the stagepost that made it"
        return _check("schema", "problem", what, advice)
    if version < found.known_schema:
        return _check("schema", "warning", what, "the next process that owns the file brings it over")
    return _check("schema", "ok", what)


def _disk(found: StoreFile) -> DoctorCheck:
    free = found.free or 0
    status: Status = "problem" if free < _VERY_LITTLE else "warning" if free < _LITTLE else "ok"
    return _check("disk", status, f"{_size(free)} free", "free some space: without it nothing is saved")


def _check(name: str, status: Status, found: str, advice: str | None = None) -> DoctorCheck:
    return DoctorCheck(name=name, status=status, found=found, advice=None if status == "ok" else advice)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it
        return False


def _distribution(package: str) -> str:
    return "opentelemetry-sdk" if package == "opentelemetry" else package


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed as a package)"


def _size(count: int) -> str:
    for unit, size in (("GB", 1_000_000_000), ("MB", _MEGABYTE), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _lines(found: DoctorReport, screen: Screen) -> Iterable[Text]:
    marks = [_MARKS[check.status] for check in found.checks]
    columns = [
        Column("", [Text(mark, style) for mark, style in marks]),
        Column("", [plain(check.name) for check in found.checks]),
        Column("", [plain(check.found, DIM if check.status == "note" else "") for check in found.checks], least=20),
    ]
    for line, check in zip(lines(columns, screen.width)[1:], found.checks, strict=True):
        yield line
        if check.advice is not None:
            yield Text("    ").append_text(plain(check.advice, _MARKS[check.status][1]))
    problems = [check.name for check in found.checks if check.status == "problem"]
    yield Text()
    yield Text(f"look at: {', '.join(problems)}", BAD) if problems else Text("no problems", GOOD)
