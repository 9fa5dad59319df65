"""Whoever gets the summary of an answer that is too long may reply EMAIL, and gets the whole of it by mail."""

from typing import Any, Final

from stagepost.service.assistant import AssistantRequest, AssistantResult
from stagepost.workflows import RunError, Runner

WORD: Final = "EMAIL"
"""What the offer asks for, see `StyleGuide.texts.too_long`."""


async def with_mail(request: AssistantRequest, runner: Runner) -> AssistantRequest:
    """A message that takes up the offer, as one that is answered by mail; any other message as it is.

    Args:
        request: The message.
        runner: Knows what was answered before.
    """
    if request.message.strip(" .!\n").upper() != WORD or not await _was_offered(request, runner):
        return request
    return request.model_copy(update={"channel": "email", "to": f"email:{request.conversation_id}"})


def key_of(request: AssistantRequest) -> str:
    """What the run of a message is found by."""
    return f"assistant/{request.tenant}/{request.request_id}"


async def _was_offered(request: AssistantRequest, runner: Runner) -> bool:
    """Whether the last answer of the conversation is a summary."""
    labels = {"conversation": f"{request.tenant}/{request.conversation_id}"}
    page = await runner.runs.list(workflow="assistant", labels=labels, newest_first=True, limit=2)
    before = [info for info in page.items if info.key != key_of(request)]
    if not before:
        return False
    run: Any = await runner.get(before[0].run_id)
    try:
        result: AssistantResult = (await run.result()).result
    except RunError:
        return False
    return result.formatted_response.metadata.is_summary
