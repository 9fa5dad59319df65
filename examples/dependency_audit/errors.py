"""Everything that the audit refuses, and how to put it right.

```
AuditError
├── NotAnEnvironment   the folder is missing, is a file, cannot be read, or holds no distribution
└── InvalidPolicy      the policy file cannot be read, or says something that is not allowed
```
"""

from collections.abc import Sequence
from pathlib import Path


class AuditError(Exception):
    """Root of the audit's errors."""


class NotAnEnvironment(AuditError, ValueError):
    """The path is not a folder that distributions are installed in.

    Attributes:
        path: The path that was given.
        why: What is wrong with it, as the end of a sentence that starts with "it".
    """

    def __init__(self, path: str | Path, why: str) -> None:
        self.path = str(path)
        self.why = why
        super().__init__(
            f"{self.path!r} is not a Python environment, because it {why}: pass a site-packages folder, "
            "such as the one that `python -m site` lists."
        )


class InvalidPolicy(AuditError, ValueError):
    """The policy file cannot be used.

    Attributes:
        path: The file.
        problems: One clause for each thing that is wrong, each naming its key and what is allowed there.
    """

    def __init__(self, path: str | Path, problems: Sequence[str]) -> None:
        self.path = str(path)
        self.problems = list(problems)
        super().__init__(f"The policy {self.path!r} cannot be used: {'; '.join(self.problems)}.")
