"""A service as a process, seen from outside."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

from stagepost._dataclasses import dataclass

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Service:
    """A process that serves.

    Attributes:
        process: The process.
        port: Where it listens.
        took: Seconds from its beginning until it served.
    """

    process: subprocess.Popen[str]
    port: int
    took: float

    @property
    def memory(self) -> int:
        """Bytes that it has in memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE

    @property
    def cpu(self) -> float:
        """Seconds of processor that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def end(self) -> float:
        """Tell it to end; returns after how many seconds it has."""
        began = perf_counter()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        return perf_counter() - began


@contextmanager
def served(file: Path) -> Iterator[Service]:
    """Serve a store's file on a free port."""
    command = [sys.executable, "-m", "stagepost.service", "serve", "benchmarks.service.flows:workflows"]
    environment = {**os.environ, "STAGEPOST_MAX_STREAMS_PER_CALLER": "1000", "STAGEPOST_RATE": "100000"}
    began = perf_counter()
    process = subprocess.Popen(  # noqa: S603  # our own
        [*command, "--file", str(file), "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None  # noqa: S101  # it is a pipe
        line = process.stdout.readline()
        yield Service(process, int(line.partition(";")[0].rpartition(":")[2]), perf_counter() - began)
    finally:
        process.kill()
        process.communicate()
