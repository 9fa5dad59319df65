"""State and its values in their stored form.

`_state` is what steps see, `_schema` says which kind of state a workflow has. `_types` makes codecs of annotations,
but for those of which `_plain` says that JSON is enough; `_expected` makes those of what comes from outside, which are
checked nevertheless. `_append` is for lists that only grow. `_layout` says which values get rows of their own, and
`_secrets` are the values that nobody may keep.
"""
