"""Cells of the table of scenarios that are red: what comes of them, and at which providers."""

from collections.abc import Mapping
from typing import Final

from tests.agents.providers._red_claude_gemini import AT_CLAUDE_AND_GEMINI

_BY_CAUSE: Final[Mapping[str, Mapping[str, str]]] = {
    "litellm drops a result whose text is empty.": {
        "test_a_tool_without_parameters_and_without_a_result": "mistral",
    },
    "The name of a call that the model made up is sent back as it is.": {
        "test_an_odd_name_that_is_called_is_told[dotted]": "openai-chat openai-responses mistral",
        "test_an_odd_name_that_is_called_is_told[empty]": "openai-chat openai-responses mistral deepseek",
        "test_an_odd_name_that_is_called_is_told[spaced]": "openai-chat openai-responses mistral",
        "test_an_odd_name_that_is_called_is_told[foreign]": "openai-chat openai-responses mistral",
        "test_an_odd_name_that_is_called_is_told[token]": "openai-chat openai-responses mistral",
        "test_an_odd_name_that_is_called_is_told[long]": "openai-chat openai-responses mistral",
    },
    "The id of a call is sent back as the model made it.": {
        "test_odd_ids_of_calls_are_told_apart[missing]": "mistral",
        "test_odd_ids_of_calls_are_told_apart[same]": "openai-responses mistral",
        "test_odd_ids_of_calls_are_told_apart[long]": "openai-chat openai-responses mistral",
        "test_odd_ids_of_calls_are_told_apart[odd]": "openai-responses mistral",
        "test_odd_ids_of_calls_are_told_apart[short]": "openai-responses mistral",
    },
    "What a user says stands directly after a result.": {
        "test_the_last_turn_of_a_budget_ends_with_a_text": "mistral",
        "test_a_task_is_told_something_while_a_tool_runs": "mistral",
        "test_a_task_that_has_failed_with_calls_open_is_followed_up": "mistral",
        "test_a_task_that_was_cancelled_at_an_approval_is_followed_up": "mistral",
        "test_the_last_turn_of_one_that_thinks": "mistral",
    },
    "A refusal counts as an answer.": {
        "test_a_refusal_is_an_error_where_the_provider_tells_it_apart": "openai-responses openai-chat:stream",
    },
    "An answer that ended by an error counts as the final one.": {
        "test_an_answer_that_a_filter_has_cut_is_no_answer": "mistral",
    },
    "Thinking does not come back.": {
        "test_thinking_is_kept_over_a_restart": "openai-responses deepseek",
        "test_thinking_is_kept_over_tool_turns": "openai-responses deepseek",
        "test_several_thoughts_of_one_answer_keep_their_order": "openai-responses deepseek",
        "test_redacted_thinking_is_kept": "openai-responses deepseek",
        "test_an_answer_without_thinking_between_others": "openai-responses deepseek",
        "test_a_follow_up_after_thinking": "openai-responses deepseek",
        "test_the_last_turn_of_one_that_thinks": "openai-responses deepseek",
        "test_an_output_of_one_that_thinks[in_time]": "openai-responses",
        "test_an_output_of_one_that_thinks[on_the_last_turn]": "openai-responses",
        "test_an_answer_that_is_repaired_by_one_that_thinks": "openai-responses",
        "test_a_transcript_goes_on_at_another_provider[OPENAI_CHAT]": "openai-responses deepseek",
        "test_a_transcript_goes_on_at_another_provider[OPENAI_RESPONSES]": "openai-responses deepseek",
        "test_a_transcript_goes_on_at_another_provider[MISTRAL]": "openai-responses deepseek",
        "test_a_transcript_goes_on_at_another_provider[DEEPSEEK]": "openai-responses mistral deepseek",
    },
    "A response_format is sent beside the tools.": {
        "test_an_output_is_returned_after_a_call[flat]": "mistral deepseek",
        "test_an_output_is_returned_after_a_call[nested]": "mistral deepseek",
        "test_an_output_is_returned_after_a_call[recursive]": "mistral",
        "test_an_output_is_returned_after_a_call[generic]": "openai-chat mistral deepseek",
        "test_an_output_is_returned_after_a_call[array]": "mistral",
        "test_an_output_is_returned_after_a_call[union]": "mistral",
        "test_an_output_is_said_as_text": "mistral deepseek",
        "test_an_output_of_an_agent_without_tools": "mistral deepseek",
        "test_an_output_that_does_not_fit_is_repaired": "mistral deepseek",
        "test_an_output_beside_another_call": "mistral deepseek",
        "test_an_output_on_the_last_turn": "mistral deepseek",
        "test_an_agent_gives_up": "mistral deepseek",
        "test_a_follow_up_after_an_output": "mistral deepseek",
        "test_an_empty_answer_is_asked_again[empty]": "mistral deepseek",
        "test_an_empty_answer_is_asked_again[blank]": "mistral deepseek",
        "test_an_empty_answer_is_asked_again[calls_without_calls]": "mistral deepseek",
        "test_an_empty_answer_is_asked_again[paused]": "mistral deepseek",
        "test_a_sub_agent_with_types": "mistral",
        "test_an_output_of_one_that_thinks[in_time]": "mistral deepseek",
        "test_an_output_of_one_that_thinks[on_the_last_turn]": "mistral deepseek",
        "test_an_answer_that_is_repaired_by_one_that_thinks": "mistral deepseek",
    },
    "The root of a tool's schema is no object, or an array (a tuple) has no items.": {
        "test_an_output_is_returned_after_a_call[nested]": "openai-chat openai-responses",
        "test_an_output_is_returned_after_a_call[recursive]": "openai-chat openai-responses deepseek",
        "test_an_output_is_returned_after_a_call[array]": "openai-chat openai-responses deepseek",
        "test_an_output_is_returned_after_a_call[union]": "openai-chat deepseek",
        "test_a_tool_whose_parameters_are_hard_to_say": "openai-chat openai-responses",
        "test_a_sub_agent_with_types": "openai-chat openai-responses deepseek",
    },
    "An empty answer counts as the final one.": {
        "test_an_empty_text_is_asked_again[empty]": "openai-chat openai-responses mistral deepseek",
        "test_an_empty_text_is_asked_again[calls_without_calls]": "openai-chat openai-responses mistral deepseek",
    },
    "A tool's picture ends the run of a model that takes none.": {
        "test_a_picture_comes_from_a_tool": "deepseek",
        "test_pictures_come_from_tools_at_once_and_over_turns": "deepseek",
        "test_a_picture_is_kept_over_a_restart": "deepseek",
    },
}

RED: Final[Mapping[tuple[str, str], str]] = {
    (scenario, provider): cause
    for cause, scenarios in (*_BY_CAUSE.items(), *AT_CLAUDE_AND_GEMINI.items())
    for scenario, providers in scenarios.items()
    for provider in providers.split()
}
"""Why a scenario, with the id of its case, is red at a provider; whole and streamed, where neither is named."""
