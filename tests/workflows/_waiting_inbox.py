"""A workflow that waits for all that an inbox can give, for several processes."""

from collections.abc import Mapping

from pydantic import BaseModel

from stagepost.workflows import Chain, Parallel, Receive, State, StepContext, Wait, step


class Decision(BaseModel):
    """What an answer carries."""

    ok: bool


class Signature(BaseModel):
    """What a signal carries."""

    n: int


async def pay(_state: State, context: StepContext) -> Mapping[str, object]:
    async def effect() -> str:
        raise ConnectionError("cut")

    return {"paid": await context.once("pay", effect)}


def asked() -> Chain:
    return Chain(
        "asked",
        [
            Wait("ask", expect=Decision),
            Parallel("fan", Wait("vote", expect=int), over="items", workers=2),
            Receive("sign", expect=Signature),
            step("pay", pay),
        ],
    )
