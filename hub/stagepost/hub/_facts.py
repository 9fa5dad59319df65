"""Errors made of facts."""


class FactError(Exception):
    """Root of errors whose constructors take facts and write the message; they can be copied and pickled all the same.

    The facts, which are their attributes, go along; the cause does not, as with any exception.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.args), self.__dict__


def _revive(cls: type[FactError], args: tuple[object, ...]) -> FactError:
    error = cls.__new__(cls, *args)
    error.args = args  # an OSError, which TimeoutError is, leaves this to its constructor
    return error
