"""Cells of the table of scenarios that are red: the scenario and the provider, and what comes of it there."""

from collections.abc import Mapping
from typing import Final

RED: Final[Mapping[tuple[str, str], str]] = {
    (
        "test_a_tool_without_parameters_and_without_a_result",
        "mistral",
    ): "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    (
        "test_an_odd_name_that_is_called_is_told[dotted]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern. Expected a string that match",
    (
        "test_an_odd_name_that_is_called_is_told[dotted]",
        "openai-responses",
    ): "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-",
    (
        "test_an_odd_name_that_is_called_is_told[dotted]",
        "mistral",
    ): "Function name was functions.look but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum",
    (
        "test_an_odd_name_that_is_called_is_told[empty]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': empty string. Expected a string with minimum length 1, but",
    (
        "test_an_odd_name_that_is_called_is_told[empty]",
        "openai-responses",
    ): "Invalid 'input[1].name': empty string. Expected a string with minimum length 1, but got an empty string.",
    (
        "test_an_odd_name_that_is_called_is_told[empty]",
        "mistral",
    ): "Function name was but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.",
    (
        "test_an_odd_name_that_is_called_is_told[empty]",
        "deepseek",
    ): "messages[2].tool_calls[0]: missing field `id` or `name`",
    (
        "test_an_odd_name_that_is_called_is_told[spaced]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern. Expected a string that match",
    (
        "test_an_odd_name_that_is_called_is_told[spaced]",
        "openai-responses",
    ): "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-",
    (
        "test_an_odd_name_that_is_called_is_told[spaced]",
        "mistral",
    ): "Function name was look it up but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum leng",
    (
        "test_an_odd_name_that_is_called_is_told[foreign]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern. Expected a string that match",
    (
        "test_an_odd_name_that_is_called_is_told[foreign]",
        "openai-responses",
    ): "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-",
    (
        "test_an_odd_name_that_is_called_is_told[foreign]",
        "mistral",
    ): "Function name was værlæs but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length o",
    (
        "test_an_odd_name_that_is_called_is_told[token]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern. Expected a string that match",
    (
        "test_an_odd_name_that_is_called_is_told[token]",
        "openai-responses",
    ): "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-",
    (
        "test_an_odd_name_that_is_called_is_told[token]",
        "mistral",
    ): "Function name was look<|channel|>json but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a max",
    (
        "test_an_odd_name_that_is_called_is_told[long]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].function.name': string too long. Expected a string with maximum length 64,",
    (
        "test_an_odd_name_that_is_called_is_told[long]",
        "openai-responses",
    ): "Invalid 'input[1].name': string too long. Expected a string with maximum length 64, but got a string with leng",
    (
        "test_an_odd_name_that_is_called_is_told[long]",
        "mistral",
    ): "Function name was lll… but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a m",
    (
        "test_odd_ids_of_calls_are_told_apart[missing]",
        "mistral",
    ): "Tool call id was call-0-0 but must be a-z, A-Z, 0-9, with a length of 9.",
    (
        "test_odd_ids_of_calls_are_told_apart[same]",
        "openai-responses",
    ): "Duplicate item found with id c. Remove duplicate items from your input and try again.",
    (
        "test_odd_ids_of_calls_are_told_apart[same]",
        "mistral",
    ): "Tool call id was c but must be a-z, A-Z, 0-9, with a length of 9.",
    (
        "test_odd_ids_of_calls_are_told_apart[long]",
        "openai-chat",
    ): "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a s",
    (
        "test_odd_ids_of_calls_are_told_apart[long]",
        "openai-responses",
    ): "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with l",
    (
        "test_odd_ids_of_calls_are_told_apart[long]",
        "mistral",
    ): "Tool call id was ccc… but must be a-z, A-Z, 0-9, with a length of 9.",
    (
        "test_odd_ids_of_calls_are_told_apart[odd]",
        "openai-responses",
    ): "Duplicate item found with id look:1/ä. Remove duplicate items from your input and try again.",
    (
        "test_odd_ids_of_calls_are_told_apart[odd]",
        "mistral",
    ): "Tool call id was look:1/ä but must be a-z, A-Z, 0-9, with a length of 9.",
    (
        "test_odd_ids_of_calls_are_told_apart[short]",
        "openai-responses",
    ): "Duplicate item found with id 0. Remove duplicate items from your input and try again.",
    (
        "test_odd_ids_of_calls_are_told_apart[short]",
        "mistral",
    ): "Tool call id was 0 but must be a-z, A-Z, 0-9, with a length of 9.",
    ("test_the_last_turn_of_a_budget_ends_with_a_text", "mistral"): "Unexpected role 'user' after role 'tool'",
    (
        "test_a_refusal_is_an_error_or_an_answer[refusal]",
        "openai-chat",
    ): "ContentRefused: model 'openai/gpt-4.1-mini' refuses to answer this (attempt 1): I will not.; change what is as",
    ("test_a_refusal_is_an_error_or_an_answer[refusal]", "openai-responses"): "Failed: DID NOT RAISE AgentFailed",
    (
        "test_a_refusal_is_an_error_or_an_answer[filter]",
        "openai-chat",
    ): "ContentRefused: model 'openai/gpt-4.1-mini' refuses to answer this (attempt 1): its content filter has ended t",
    (
        "test_a_refusal_is_an_error_or_an_answer[filter]",
        "openai-responses",
    ): "ContentRefused: model 'openai/responses/gpt-4.1-mini' refuses to answer this (attempt 1): its content filter h",
    ("test_a_refusal_is_an_error_or_an_answer[filter]", "mistral"): "Failed: DID NOT RAISE AgentFailed",
    (
        "test_a_refusal_is_an_error_or_an_answer[filter]",
        "deepseek",
    ): "ContentRefused: model 'deepseek/deepseek-chat' refuses to answer this (attempt 1): its content filter has ende",
    ("test_an_output_is_returned_after_a_call[flat]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_is_returned_after_a_call[flat]", "deepseek"): "This response_format type is unavailable now",
    (
        "test_an_output_is_returned_after_a_call[nested]",
        "openai-chat",
    ): "Invalid schema for function 'return': In context=('properties', 'span'), array schema missing items",
    (
        "test_an_output_is_returned_after_a_call[nested]",
        "openai-responses",
    ): "Invalid schema for function 'return': In context=('properties', 'span'), array schema missing items.",
    ("test_an_output_is_returned_after_a_call[nested]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_is_returned_after_a_call[nested]", "deepseek"): "This response_format type is unavailable now",
    (
        "test_an_output_is_returned_after_a_call[recursive]",
        "openai-chat",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: None'",
    (
        "test_an_output_is_returned_after_a_call[recursive]",
        "openai-responses",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: None'.",
    (
        "test_an_output_is_returned_after_a_call[recursive]",
        "mistral",
    ): "Cannot use json_schema response type with tools.",
    (
        "test_an_output_is_returned_after_a_call[recursive]",
        "deepseek",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: None'.",
    (
        "test_an_output_is_returned_after_a_call[generic]",
        "openai-chat",
    ): "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the",
    ("test_an_output_is_returned_after_a_call[generic]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_is_returned_after_a_call[generic]", "deepseek"): "This response_format type is unavailable now",
    (
        "test_an_output_is_returned_after_a_call[array]",
        "openai-chat",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'",
    (
        "test_an_output_is_returned_after_a_call[array]",
        "openai-responses",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    ("test_an_output_is_returned_after_a_call[array]", "mistral"): "Cannot use json_schema response type with tools.",
    (
        "test_an_output_is_returned_after_a_call[array]",
        "deepseek",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    (
        "test_an_output_is_returned_after_a_call[union]",
        "openai-chat",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: None'",
    ("test_an_output_is_returned_after_a_call[union]", "mistral"): "Cannot use json_schema response type with tools.",
    (
        "test_an_output_is_returned_after_a_call[union]",
        "deepseek",
    ): "Invalid schema for function 'return': schema must be a JSON Schema of 'type: \"object\"', got 'type: None'.",
    ("test_an_output_is_said_as_text", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_is_said_as_text", "deepseek"): "This response_format type is unavailable now",
    ("test_an_output_of_an_agent_without_tools", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_of_an_agent_without_tools", "deepseek"): "This response_format type is unavailable now",
    ("test_an_output_that_does_not_fit_is_repaired", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_that_does_not_fit_is_repaired", "deepseek"): "This response_format type is unavailable now",
    ("test_an_output_beside_another_call", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_beside_another_call", "deepseek"): "This response_format type is unavailable now",
    ("test_an_output_on_the_last_turn", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_output_on_the_last_turn", "deepseek"): "This response_format type is unavailable now",
    ("test_an_agent_gives_up", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_agent_gives_up", "deepseek"): "This response_format type is unavailable now",
    ("test_a_follow_up_after_an_output", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_a_follow_up_after_an_output", "deepseek"): "This response_format type is unavailable now",
    ("test_an_empty_answer_is_asked_again[empty]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_empty_answer_is_asked_again[empty]", "deepseek"): "This response_format type is unavailable now",
    ("test_an_empty_answer_is_asked_again[blank]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_empty_answer_is_asked_again[blank]", "deepseek"): "This response_format type is unavailable now",
    (
        "test_an_empty_answer_is_asked_again[calls_without_calls]",
        "mistral",
    ): "Cannot use json_schema response type with tools.",
    (
        "test_an_empty_answer_is_asked_again[calls_without_calls]",
        "deepseek",
    ): "This response_format type is unavailable now",
    ("test_an_empty_answer_is_asked_again[paused]", "mistral"): "Cannot use json_schema response type with tools.",
    ("test_an_empty_answer_is_asked_again[paused]", "deepseek"): "This response_format type is unavailable now",
    (
        "test_an_empty_text_is_asked_again[empty]",
        "openai-chat",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_an_empty_text_is_asked_again[empty]",
        "openai-responses",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    ("test_an_empty_text_is_asked_again[empty]", "mistral"): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    ("test_an_empty_text_is_asked_again[empty]", "deepseek"): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_an_empty_text_is_asked_again[calls_without_calls]",
        "openai-chat",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_an_empty_text_is_asked_again[calls_without_calls]",
        "openai-responses",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_an_empty_text_is_asked_again[calls_without_calls]",
        "mistral",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_an_empty_text_is_asked_again[calls_without_calls]",
        "deepseek",
    ): "AssertionError: assert '' == '3 degrees.' - 3 degrees.",
    (
        "test_a_tool_whose_parameters_are_hard_to_say",
        "openai-chat",
    ): "Invalid schema for function 'plan': In context=('properties', 'span'), array schema missing items",
    (
        "test_a_tool_whose_parameters_are_hard_to_say",
        "openai-responses",
    ): "Invalid schema for function 'plan': In context=('properties', 'span'), array schema missing items.",
    (
        "test_a_sub_agent_with_types",
        "openai-chat",
    ): 'AssertionError: assert \'leaf\' in \'{"conversation_id":"reader-0-0","agent_name":"reader","response":"ModelRejec',
    (
        "test_a_sub_agent_with_types",
        "openai-responses",
    ): 'AssertionError: assert \'leaf\' in \'{"conversation_id":"reader-0-0","agent_name":"reader","response":"ModelRejec',
    (
        "test_a_sub_agent_with_types",
        "mistral",
    ): 'AssertionError: assert \'leaf\' in \'{"conversation_id":"reader-0-0","agent_name":"reader","response":"ModelRejec',
    (
        "test_a_sub_agent_with_types",
        "deepseek",
    ): 'AssertionError: assert \'leaf\' in \'{"conversation_id":"reader-0-0","agent_name":"reader","response":"ModelRejec',
}
