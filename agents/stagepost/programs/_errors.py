"""The errors that this layer raises; `errors` exports them, with a tree."""


class ProgramsError(Exception):
    """Root of the errors of ``stagepost.programs``."""


class InvalidSignature(ProgramsError, ValueError):
    """A signature cannot be read, or a type has no form in signatures.

    Attributes:
        why: What is wrong, where, and what to write instead.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"invalid signature: {why}")
        self.why = why


class InvalidValue(ProgramsError, TypeError):
    """A value is none that programs know, such as an object of a class.

    Attributes:
        where: Where it was found, such as ``data.rows[3]``.
    """

    def __init__(self, where: str, what: str) -> None:
        super().__init__(
            f"{where} is {what}: programs know None, booleans, numbers, texts, lists, sets, dictionaries, dates and "
            "date-times; convert it first"
        )
        self.where = where


class AmbiguousKeys(ProgramsError, ValueError):
    """Two keys of one map are the same text in JSON, which could keep only one of their values.

    Attributes:
        name: The text.
        keys: Both keys, as programs write them.
    """

    def __init__(self, name: str, keys: tuple[str, str]) -> None:
        super().__init__(
            f"a map has the keys {keys[0]} and {keys[1]}, which are both {name!r} as JSON: give it one of them, or "
            "name one otherwise"
        )
        self.name = name
        self.keys = keys


class PackageMissing(ProgramsError, ImportError):
    """A package is missing that only some programs need."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} need {package}: pip install 'stagepost[programs]'")


class UnknownProfile(ProgramsError, LookupError):
    """A part of the system prompt is named that does not exist.

    Attributes:
        profile: The name.
    """

    def __init__(self, profile: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"language_spec={profile!r} is no profile: give one of {', '.join(known)}, a text of several words, or a "
            "function"
        )
        self.profile = profile
