"""The errors of programs that are raised; what goes wrong inside a program is in `Outcome.error` instead.

::

    ProgramsError
    ├── AmbiguousKeys(ValueError)       two keys of a map are one in JSON
    ├── InvalidSignature(ValueError)    a signature cannot be read, or a type has no form in signatures
    ├── InvalidValue(TypeError)         a value is none that programs know
    ├── PackageMissing(ImportError)     a package of stagepost[programs] is missing
    └── UnknownProfile(LookupError)     a part of the system prompt is named that does not exist
"""

from ._errors import AmbiguousKeys, InvalidSignature, InvalidValue, PackageMissing, ProgramsError, UnknownProfile

__all__ = ["AmbiguousKeys", "InvalidSignature", "InvalidValue", "PackageMissing", "ProgramsError", "UnknownProfile"]
