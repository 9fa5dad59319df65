"""The workflow that is served: its runs wait."""

from stagepost.workflows import Chain, Wait

workflows = [Chain("asking", [Wait("approval", expect=bool)])]
