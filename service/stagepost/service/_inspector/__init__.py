"""The inspector: pages that show what runs, and let people act on it.

A page is a function from what is asked (`_asking.Ask`) to what is shown (`_shown.Shown`). It reads through the verbs
alone. What changes while it is looked at is in parts, each made by a template of its own and replaced whole.
"""
