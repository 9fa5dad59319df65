"""Executing one run, place by place.

`_engine` takes a `_branch` through its plan and has steps run by `_performing`. `_fan_out`, with its `_queue`, its
`_ending` and the `_reasons` of its failures, and `_folding` work on items, which `_taking` takes from the state once.
Observers hear the `_story`, who asks for it gets the `_intermediates`, and `_in_memory` is all of this without a store.
"""
