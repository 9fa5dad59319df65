"""Builds site-packages folders with real metadata and right hashes, to be spoiled by the tests."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dependency_audit.environment import find_distributions
from dependency_audit.inspection import inspect
from dependency_audit.models import Inspection


def recorded(content: bytes, algorithm: str = "sha256") -> str:
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).decode()
    return f"{algorithm}={digest.rstrip('=')}"


@dataclass(frozen=True)
class Site:
    folder: Path

    def write(self, path: str, content: str | bytes = b"") -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def install(
        self,
        name: str,
        version: str = "1.0",
        *,
        files: Mapping[str, str | bytes] | None = None,
        headers: str = "License-Expression: MIT\n",
        algorithm: str = "sha256",
    ) -> Path:
        """Install a distribution as an installer does: files, METADATA, and a RECORD of all of them."""
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{headers}\nLong description\n"
        contents = {f"{name}/__init__.py": b"pass\n", **(files or {}), f"{info}/METADATA": metadata}
        rows = [f"{info}/RECORD,,", f"{name}/__pycache__/__init__.cpython-311.pyc,,"]
        for path, content in contents.items():
            data = self.write(path, content).read_bytes()
            rows.append(f'"{path}",{recorded(data, algorithm)},{len(data)}')
        self.write(f"{info}/RECORD", "".join(f"{row}\n" for row in rows))
        self.write(f"{name}/__pycache__/__init__.cpython-311.pyc", b"bytecode" * 1000)
        return self.folder / info

    def inspect(self) -> Inspection:
        (found,) = find_distributions(self.folder)
        return inspect(found)
