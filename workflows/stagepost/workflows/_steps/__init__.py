"""Steps: the functions that do the work, and what they are given beside the state.

`_step` is one function with its options, `_guards` and `_retry` stand round it, `_pair` makes one of a fold's worker.
`_ask` is the step that asks an agent, `_wait` has those that rest until something comes or is `_due`. All may take a
`_context`, with `_effects` that happen once and `_answered` to wait for somebody in the middle of a step.
"""
