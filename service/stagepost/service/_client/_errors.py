"""What goes wrong between a client and a service.

::

    ClientError
    ├── ServiceRefused        the service has said no
    └── ServiceUnreachable    there is no service, or it does not answer
"""


class ClientError(Exception):
    """Root of what goes wrong between a client and a service."""


class ServiceRefused(ClientError):
    """The service has refused something, or failed.

    Attributes:
        kind: The class of its error.
        status: The status of its answer.
    """

    def __init__(self, kind: str, message: str, status: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class ServiceUnreachable(ClientError):
    """There is no service, or it does not answer.

    Attributes:
        url: Where it was looked for.
    """

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"no service answers at {url} ({why}): start it with `stagepost serve`, or give another address with --url "
            "or in the environment as STAGEPOST_URL"
        )
        self.url = url
