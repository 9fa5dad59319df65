import io
import json
import logging
import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Iterator
from logging.handlers import QueueHandler
from typing import Any

import pytest
import structlog
from anyio import fail_after
from structlog.stdlib import ProcessorFormatter
from tests.hub._agents import Ping, fail

from stagepost.hub import HandlerFailed, Hub, get_logger


@pytest.fixture
def own() -> Iterator[logging.Logger]:
    """A logger below ours that hands nothing on."""
    logger = logging.getLogger("stagepost.form")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.propagate = True
    logger.setLevel(logging.NOTSET)
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)
    for filter_ in tuple(logger.filters):
        logger.removeFilter(filter_)


def written(own: logging.Logger, formatter: logging.Formatter | None = None) -> io.StringIO:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    own.addHandler(handler)
    return stream


def fails() -> None:
    local = "hunter2"
    raise ValueError(f"no {len(local)}")


def log_failure(**fields: object) -> None:
    try:
        fails()
    except ValueError as error:
        get_logger("form").error("handler failed", agent="a", **fields, exc_info=error)


def test_a_record_is_one_line_and_the_traceback_follows_it(own: logging.Logger) -> None:
    stream = written(own, logging.Formatter(logging.BASIC_FORMAT))
    log_failure(count=3, why="two words", none=None)
    first, second, *_, last = stream.getvalue().splitlines()
    assert first == "ERROR:stagepost.form:handler failed agent=a count=3 why='two words' none=None"
    assert second == "Traceback (most recent call last):"
    assert last == "ValueError: no 7"
    assert "hunter2" not in stream.getvalue()


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", "''"),
        ("a=b", "'a=b'"),
        ("line\nERROR forged", "'line\\nERROR forged'"),
        ("tab\x1b", "'tab\\x1b'"),
        (logging, repr(logging)),
        (("a", "b"), "('a', 'b')"),
        (Unspeakable(), "<Unspeakable>"),
        ("100%", "100%"),
        ("ü", "ü"),
    ],
    ids=["empty", "equals", "line end", "escape", "object", "tuple", "unspeakable", "percent", "letter"],
)
def test_every_value_stays_on_the_line(own: logging.Logger, value: object, shown: str) -> None:
    stream = written(own)
    get_logger("form").info("it", value=value)
    assert stream.getvalue() == f"it value={shown}\n"


def test_an_event_of_several_lines_is_written_on_one(own: logging.Logger) -> None:
    stream = written(own)
    get_logger("form").info("it\nhappened")
    assert stream.getvalue() == "it\\nhappened\n"


def test_arguments_are_filled_in(own: logging.Logger) -> None:
    stream = written(own)
    get_logger("form").info("%s of %s", "one", "two", rate="5%")
    assert stream.getvalue() == "one of two rate=5%\n"


def test_the_fields_are_there_for_structlog(own: logging.Logger) -> None:
    stream = written(own, ProcessorFormatter(processor=structlog.processors.JSONRenderer()))
    log_failure(count=3)
    record = json.loads(stream.getvalue())
    assert record["event"] == "handler failed"
    assert (record["agent"], record["count"], record["level"]) == ("a", 3, "error")
    assert record["exception"].endswith("ValueError: no 7")
    assert "hunter2" not in stream.getvalue()


def test_a_console_renderer_prints_the_traceback_as_lines(own: logging.Logger) -> None:
    stream = written(own, ProcessorFormatter(processor=structlog.dev.ConsoleRenderer(colors=False)))
    log_failure()
    assert "\nTraceback (most recent call last):\n" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


class JsonFormatter(logging.Formatter):
    """As the common ones do: a dictionary is taken as the fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
        return json.dumps({"logger": record.name, **fields, "exc": bool(record.exc_info)})


def test_the_fields_are_there_for_json(own: logging.Logger) -> None:
    stream = written(own, JsonFormatter())
    log_failure()
    record = json.loads(stream.getvalue())
    assert (record["event"], record["agent"], record["exc"]) == ("handler failed", "a", False)


@pytest.mark.parametrize("how", ["exception", "error", "tuple", "true"])
def test_no_record_holds_an_exception(own: logging.Logger, how: str, caplog: pytest.LogCaptureFixture) -> None:
    own.addHandler(caplog.handler)
    logger = get_logger("form")
    try:
        fails()
    except ValueError as error:
        if how == "exception":
            logger.exception("it")
        else:
            logger.log(logging.ERROR, "it", exc_info={"error": error, "tuple": sys.exc_info()}.get(how, True))
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is None
    assert record.getMessage().startswith("it\nTraceback")
    assert "hunter2" not in repr(vars(record))


def test_a_record_without_an_exception_has_no_traceback(own: logging.Logger) -> None:
    stream = written(own)
    get_logger("form").error("it", exc_info=True)
    assert stream.getvalue() == "it\n"


def test_a_record_names_the_code_that_logs(own: logging.Logger) -> None:
    stream = written(own, logging.Formatter("%(filename)s:%(funcName)s %(message)s"))
    get_logger("form").info("it")
    get_logger("form").bind(a=1).log(logging.WARNING, "it")
    name = test_a_record_names_the_code_that_logs.__name__
    assert stream.getvalue() == f"test_log.py:{name} it\ntest_log.py:{name} it a=1\n"


def test_a_record_goes_through_a_queue_as_text(own: logging.Logger) -> None:
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    own.addHandler(QueueHandler(records))
    log_failure()
    record = pickle.loads(pickle.dumps(records.get_nowait()))  # noqa: S301  # our own
    assert record.getMessage().startswith("handler failed agent=a\nTraceback")


def test_a_record_can_be_pickled(own: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    own.addHandler(caplog.handler)
    log_failure()
    record = pickle.loads(pickle.dumps(caplog.records[0]))  # noqa: S301  # our own
    assert record.msg["agent"] == "a"
    assert record.getMessage() == caplog.messages[0]


def test_the_configuration_of_structlog_changes_nothing(own: logging.Logger) -> None:
    stream = written(own)
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=True,
    )
    try:
        log_failure()
    finally:
        structlog.reset_defaults()
    assert stream.getvalue().startswith("handler failed agent=a\nTraceback")


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


def test_all_text_is_masked(own: logging.Logger) -> None:
    stream = written(own)
    logger = get_logger("form", mask=hide)
    logger.info(
        "hunter2", text="hunter2", several=("hunter2",), other=("a",), number=2.5, exc_info=ValueError("hunter2")
    )
    assert stream.getvalue() == "*** text=*** several=\"('***',)\" other=('a',) number=2.5\nValueError: ***\n"


def test_a_mask_that_fails_hides_all_text(own: logging.Logger) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    stream = written(own)
    get_logger("form", mask=broken).info("hunter2", text="hunter2", exc_info=ValueError("hunter2"))
    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().endswith("\n(hidden: the mask failed)\n")


class Exploding(logging.Handler):
    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.error = error

    def emit(self, _: logging.LogRecord) -> None:
        raise self.error


def explode(record: logging.LogRecord) -> bool:
    raise RuntimeError(record.getMessage())


@pytest.mark.parametrize("error", [ValueError, SystemExit, GeneratorExit])
def test_a_handler_that_raises_harms_nobody(
    own: logging.Logger, error: type[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    own.addHandler(Exploding(error))
    log_failure()
    said = capsys.readouterr().err
    assert said == f"handler failed (logging it failed: {error.__name__} from a handler, filter or formatter)\n"


def test_a_filter_that_raises_harms_nobody(own: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    own.addFilter(explode)
    get_logger("form").info("it")
    assert capsys.readouterr().err == ""
    get_logger("form").warning("it")
    assert "it (logging it failed: RuntimeError" in capsys.readouterr().err


@pytest.mark.parametrize("silence", ["lastResort", "raiseExceptions"])
def test_an_application_may_switch_the_last_resort_off(
    own: logging.Logger, silence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging, silence, None)
    own.addFilter(explode)
    get_logger("form").error("it")
    assert capsys.readouterr().err == ""


def test_a_last_resort_that_raises_harms_nobody(own: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    last = logging.NullHandler()
    last.addFilter(explode)
    monkeypatch.setattr(logging, "lastResort", last)
    own.addFilter(explode)
    log_failure()


def test_an_interrupt_passes(own: logging.Logger) -> None:
    own.addHandler(Exploding(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        get_logger("form").error("it")


SCRIPT = """
import logging, sys, anyio
from stagepost.hub import Hub, HandlerFailed
if len(sys.argv) > 1:
    logging.basicConfig()
async def bad(n: int) -> None:
    raise ValueError("no number")
class Broken:
    def on_event(self, event): raise KeyError("broken")
async def main():
    async with Hub(observer=Broken()) as hub:
        hub.register("bad", bad)
        await hub.send("bad", 1)
        try:
            await hub.request("bad", 2)
        except HandlerFailed:
            pass
anyio.run(main)
assert not logging.getLogger("stagepost").handlers
assert len(logging.getLogger().handlers) == len(sys.argv) - 1
"""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    ("arguments", "prefix"), [((), ""), (("basic",), "ERROR:stagepost.hub:")], ids=["none", "basic"]
)
def test_failures_are_seen_whatever_was_configured(arguments: tuple[str, ...], prefix: str) -> None:
    done = run(*arguments)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (0, "")
    assert lines.count(f"{prefix}handler failed hub=hub agent=bad handler=__main__.bad") == 2
    assert lines.count("ValueError: no number") == 2
    assert lines.count("KeyError: 'broken'") == 1


async def test_a_failed_request_and_a_failed_message_are_logged_once_each(caplog: pytest.LogCaptureFixture) -> None:
    with fail_after(5), caplog.at_level(logging.ERROR, "stagepost"):
        async with Hub() as hub:
            hub.register("fail", fail)
            await hub.send("fail", Ping())
            with pytest.raises(HandlerFailed):
                await hub.request("fail", Ping())
    assert [record.msg["agent"] for record in caplog.records] == ["fail", "fail"]  # type: ignore[index]  # a dict
    assert all(text.endswith("ZeroDivisionError: no") for text in caplog.messages)


async def test_a_hub_masks_what_it_logs(caplog: pytest.LogCaptureFixture) -> None:
    async def leak(text: str) -> None:
        raise ValueError(f"hunter2 and {text}")

    class Broken:
        def on_event(self, _: Any, /) -> None:
            raise ValueError("hunter2")

    with fail_after(5), caplog.at_level(logging.WARNING, "stagepost"):
        hub = Hub("hunter2", observer=Broken())
        with hub.masking(hide), hub.masking(lambda text: text.replace("sesame", "+++")):
            async with hub:
                hub.register("leak", leak)
                await hub.send("leak", "sesame")
    assert len(caplog.records) == 2
    assert "hunter2" not in caplog.text
    assert caplog.messages[1].endswith("ValueError: *** and +++")


async def test_a_mask_is_used_for_the_length_of_its_block(caplog: pytest.LogCaptureFixture) -> None:
    async def leak(text: str) -> None:
        raise ValueError(text)

    with fail_after(5), caplog.at_level(logging.WARNING, "stagepost"):
        async with Hub() as hub:
            hub.register("leak", leak)
            with hub.masking(hide):
                with hub.masking(hide):
                    pass
                with pytest.raises(Exception, match="hunter2"):
                    await hub.request("leak", "hunter2")
            with pytest.raises(Exception, match="hunter2"):
                await hub.request("leak", "hunter2")
    assert ["hunter2" in text for text in caplog.messages] == [False, True]
