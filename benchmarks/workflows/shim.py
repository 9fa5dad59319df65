"""An fsync that always takes a millisecond: disks differ by a factor of a hundred, and so would every figure."""

import subprocess
import sys
from pathlib import Path
from shutil import which

_SOURCE = """
#include <time.h>
static int wait(void) { struct timespec time = {0, 1000000}; return nanosleep(&time, 0); }
int fsync(int file) { return wait(); }
int fdatasync(int file) { return wait(); }
"""


def build_shim(folder: Path) -> Path | None:
    """Compile a library that replaces fsync in processes that preload it; None without Linux or a C compiler."""
    compiler = which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)  # noqa: S603
    return library
