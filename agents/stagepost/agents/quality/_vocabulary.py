"""Words by which a criterion is known that nobody can check."""

from typing import Final


def as_words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


EMPTY: Final = as_words(
    "a an and any are as at be been being by can could do does each every for from had has have i if in into is it "
    "its it's just make makes may might more most much must of on or our overall really should so some such than that "
    "the their them then there these they this those to up very was we were what when where which will with would you "
    "your response responses answer answers reply replies message messages text output content result results "
    "assistant user users customer customers reader readers request requests question questions level way manner kind "
    "sort true passed pass yes expected expectation criterion quality ensure ensures provide provides given give "
    "gives"
)
"""Words that say nothing about an answer."""

VAGUE: Final = as_words(
    "acceptable adequate appropriate appropriately best better correct correctly decent excellent fine good great "
    "high helpful helpfully ideal nice nicely ok okay optimal perfect professional proper properly reasonable "
    "reasonably relevant right satisfactory satisfying sensible suitable suitably sufficient useful well works "
    "worthwhile"
)
"""Words of praise that leave open what is praised."""

SUBJECTIVE: Final = as_words(
    "amazing attractive beautiful beautifully captivating charming clever cool creative creatively creativity "
    "delightful elegant elegantly engaging enjoyable exciting friendly fun funny impressive inspiring interesting "
    "lovely memorable natural original pleasant pleasing smart stylish tasteful unique warm wonderful"
)
"""Words for what is a matter of taste."""

NEGATIONS: Final = as_words("no not never without don't doesn't isn't aren't none cannot avoid avoids free")
"""Words that turn a criterion into its opposite."""
