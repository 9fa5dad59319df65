"""Which pages there are."""

from collections.abc import Sequence
from typing import Final

from ._acting import perform, preview
from ._answering import answer, wait
from ._check import check
from ._conversation import conversation
from ._history import history, step
from ._hub import agent, hub
from ._hub_letters import letter, resend
from ._inbox import inbox
from ._many import many, perform_many
from ._run import run
from ._runs import runs
from ._shown import Answer, Build
from ._whole import whole

_RUN: Final = "/runs/{run_id}"

PAGES: Final[Sequence[tuple[str, Build]]] = (
    ("", inbox),
    ("/runs", runs),
    (_RUN, run),
    (f"{_RUN}/history", history),
    (f"{_RUN}/steps/{{number:int}}", step),
    (f"{_RUN}/conversation", conversation),
    (f"{_RUN}/whole", whole),
    (f"{_RUN}/do/{{act}}", preview),
    ("/many/{act}", many),
    ("/waits/{wait_id:path}", wait),
    ("/check", check),
    ("/hub", hub),
    ("/hub/agents/{agent}", agent),
    ("/hub/letters/{message_id}", letter),
)

ANSWERS: Final[Sequence[tuple[str, Answer]]] = (
    (f"{_RUN}/do/{{act}}", perform),
    ("/many/{act}", perform_many),
    ("/waits/{wait_id:path}", answer),
    ("/hub/letters/{message_id}", resend),
)
