"""What OpenAI's responses refuse of the input."""

from collections.abc import Iterator
from typing import Final

from tests.agents.providers._chat_rules import IMAGES, NAME, check_text, data_url
from tests.agents.providers._openai_responses_wire import decrypted, follows_reasoning, items, parts, search_id
from tests.agents.providers._rules import Json, Refused, Request, Rule

_TYPES: Final = ("message", "function_call", "function_call_output", "reasoning", "web_search_call")
_ROLES: Final = ("system", "developer", "user", "assistant")
_SHOWN: Final = (None, "input_text", "input_image", "input_file")
_SAID: Final = (None, "output_text", "refusal")
_FOLLOWING: Final = ("reasoning", "function_call", "web_search_call")
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs", "web_search_call": "ws"}


def input_is_there(request: Request) -> None:
    """The input has at least one item, each of a known type; messages have a known role.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`input`).
    """
    if not items(request):
        told = "Invalid 'input': empty array. Expected an array with minimum length 1."
        raise Refused(told, code="empty_array", param="input")
    for index, item in enumerate(items(request)):
        kind = item.get("type")
        if kind not in _TYPES or (kind == "message" and item.get("role") not in _ROLES):
            raise Refused(f"Invalid value: '{item.get('role', kind)}'.", code="invalid_value", param=f"input[{index}]")


def parts_are_the_roles_own(request: Request) -> None:
    """Messages of the assistant hold ``output_text`` and ``refusal``, all others and results ``input_…`` parts.

    Source: https://github.com/tinyhumansai/openhuman/issues/3624, https://github.com/jeremychone/rust-genai/pull/119.
    """
    for index, item in enumerate(items(request)):
        known = _SAID if item.get("role") == "assistant" else _SHOWN
        for place, part in enumerate([*parts(item), *parts(item, "output")]):
            if part.get("type") not in known:
                told = f"Invalid value: '{part.get('type')}'. Supported values are: {known[1:]}."
                raise Refused(told, code="invalid_value", param=f"input[{index}].content[{place}]")


def item_ids_are_of_their_type(request: Request) -> None:
    """The id of an item, where it has one, is ``fc_…`` of a call, ``rs_…`` of reasoning, ``msg_…`` of a message.

    Source: https://github.com/nodetool-ai/nodetool/pull/4252, https://github.com/stacklok/mecatl/issues/406 (empty).
    """
    for index, item in enumerate(items(request)):
        prefix = _PREFIXES.get(item["type"])
        if prefix is not None and "id" in item and not str(item["id"]).startswith(f"{prefix}_"):
            told = f"Invalid 'input[{index}].id': '{item['id']}'. Expected an ID that begins with '{prefix}'."
            raise Refused(told, code="invalid_value", param=f"input[{index}].id")


def items_stand_once(request: Request) -> None:
    """No two items have the same id, and no two calls the same ``call_id``.

    Source: https://github.com/NousResearch/hermes-agent/pull/7946, https://github.com/vercel/ai/issues/13307.
    """
    seen: set[str] = set()
    for item in items(request):
        own = [item.get("id"), item.get("call_id") if item["type"] == "function_call" else None]
        for each in own:
            if each in seen:
                told = f"Duplicate item found with id {each}. Remove duplicate items from your input and try again."
                raise Refused(told, param="input")
            seen.update([each] if each else [])


def call_ids_are_short(request: Request) -> None:
    """The ``call_id`` of a call has 1 to 64 characters.

    Source: https://github.com/RooCodeInc/Roo-Code/pull/10763, https://github.com/decolua/9router/issues/393.
    """
    for index, item in enumerate(items(request)):
        if item["type"] in ("function_call", "function_call_output"):
            check_text(item.get("call_id"), f"input[{index}].call_id", most=64)


def called_names_fit(request: Request) -> None:
    """The name of a call in the input has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://platform.openai.com/docs/api-reference/responses/create; as for chat completions.
    """
    for index, item in enumerate(items(request)):
        if item["type"] == "function_call":
            check_text(item.get("name"), f"input[{index}].name", most=64, pattern=NAME)


def calls_and_outputs_match(request: Request) -> None:
    """Each call has one output after it, and each output its call before it.

    Source: https://github.com/openai/codex/issues/93 (no output), https://github.com/microsoft/vscode/issues/320060
    (no call).
    """
    open_: list[str] = []
    for item in items(request):
        if item["type"] == "function_call":
            open_.append(item["call_id"])
        elif item["type"] == "function_call_output":
            if item["call_id"] not in open_:
                told = f"No tool call found for function call output with call_id {item['call_id']}."
                raise Refused(told, param="input")
            open_.remove(item["call_id"])
    if open_:
        raise Refused(f"No tool output found for function call {open_[0]}.", param="input")


def reasoning_stands_before_its_call(request: Request) -> None:
    """A call that was made after reasoning comes back with its reasoning item before it.

    The API looks at the item's id; here also a call that has only its ``call_id`` is refused without its reasoning,
    whose loss would only make the answers worse. In 2026-09 some models took such calls.

    Source: https://github.com/omnigent-ai/omnigent/issues/5066,
    https://cookbook.openai.com/examples/responses_api/reasoning_items; https://github.com/jin-bo/agentao/pull/321
    (taken).
    """
    reasoned = False
    for item in items(request):
        if item["type"] == "reasoning":
            reasoned = True
        elif item["type"] == "function_call_output" or item.get("role") == "user":
            reasoned = False
        elif item["type"] == "function_call" and follows_reasoning(item) and not reasoned:
            own = item.get("id") or item["call_id"]
            told = f"Item '{own}' of type 'function_call' was provided without its required 'reasoning' item."
            raise Refused(told, param="input")


def reasoning_is_followed(request: Request) -> None:
    """A reasoning item is followed by what came of it: more reasoning, a call, a search or the assistant's message.

    Source: https://github.com/continuedev/continue/issues/8933.
    """
    given = items(request)
    for item, then in zip(given, [*given[1:], None], strict=True):
        if item["type"] != "reasoning":
            continue
        if then is None or not (then["type"] in _FOLLOWING or then.get("role") == "assistant"):
            own = item.get("id", "")
            told = f"Item '{own}' of type 'reasoning' was provided without its required following item."
            raise Refused(told, param="input")


def searches_stand_after_their_reasoning(request: Request) -> None:
    """A search of the provider's own that was made after reasoning comes back with its reasoning item before it.

    Source: https://github.com/LionSR/TeXRA/pull/1775.
    """
    reasoned = False
    for item in items(request):
        reasoned = item["type"] == "reasoning" or (reasoned and item["type"] == "web_search_call")
        if item["type"] == "web_search_call" and str(item["id"]).startswith("ws_r") and not reasoned:
            told = f"Item '{item['id']}' of type 'web_search_call' was provided without its required 'reasoning' item."
            raise Refused(told, param="input")


def searches_are_unchanged(request: Request) -> None:
    """A search of the provider's own comes back as it was.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`input`, web search tool call).
    """
    for item in items(request):
        if item["type"] == "web_search_call":
            query = str((item.get("action") or {}).get("query"))
            if item["id"] not in [search_id(query, after_reasoning=after) for after in (False, True)]:
                raise Refused(f"Item with id '{item['id']}' not found.", param="input", status=404)


def encrypted_reasoning_is_unchanged(request: Request) -> None:
    """The ``encrypted_content`` of a reasoning item is what the same provider has made.

    Source: https://github.com/openai/codex/issues/8145 (invalid_encrypted_content).
    """
    for item in _reasonings(request):
        content = item.get("encrypted_content")
        if content is not None and decrypted(content) is None:
            told = f"The encrypted content for item {item.get('id')} could not be verified."
            raise Refused(told, code="invalid_encrypted_content")


def unstored_reasoning_is_complete(request: Request) -> None:
    """With ``store: false`` a reasoning item comes back with its ``encrypted_content``: the id alone is not known.

    Source: https://github.com/openai/openai-agents-js/issues/546,
    https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items.
    """
    if request.body.get("store") is not False:
        return
    for item in _reasonings(request):
        if not item.get("encrypted_content"):
            told = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
            raise Refused(told, param="input", status=404)


def _reasonings(request: Request) -> Iterator[Json]:
    return (item for item in items(request) if item["type"] == "reasoning")


def images_are_of_known_types(request: Request) -> None:
    """An image is PNG, JPEG, GIF or WebP, by an https address or as ``data:image/…;base64,…``; also in a result.

    Source: https://github.com/yuji-hatakeyama/opencode-gpt-imagegen/pull/82,
    https://platform.openai.com/docs/guides/images-vision.
    """
    for item in items(request):
        for part in [*parts(item), *parts(item, "output")]:
            if part.get("type") == "input_image":
                _check_image(part.get("image_url"))


def _check_image(url: object) -> None:
    if not isinstance(url, str):
        raise Refused("Invalid type for 'image_url': expected an image URL.", code="invalid_type")
    inline = data_url(url)
    if inline is None and not url.startswith(("https://", "http://")):
        raise Refused(f"Invalid image URL: '{url[:40]}'.", code="invalid_value")
    if inline is not None and (inline[0] not in IMAGES or not inline[1]):
        told = "The image data you provided does not represent a valid image. Supported: "
        raise Refused(f"{told}{list(IMAGES)}.", code="invalid_image_format")


RULES: Final[tuple[Rule, ...]] = (
    input_is_there,
    parts_are_the_roles_own,
    item_ids_are_of_their_type,
    call_ids_are_short,
    called_names_fit,
    items_stand_once,
    calls_and_outputs_match,
    encrypted_reasoning_is_unchanged,
    unstored_reasoning_is_complete,
    reasoning_stands_before_its_call,
    reasoning_is_followed,
    searches_stand_after_their_reasoning,
    searches_are_unchanged,
    images_are_of_known_types,
)
