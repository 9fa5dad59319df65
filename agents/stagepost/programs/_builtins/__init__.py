"""The functions of the language, in tables by family; the documentation is made of them."""

import math
from types import MappingProxyType
from typing import Final

from ._aggregate import AGGREGATE
from ._combine import COMBINE, FUNCTIONS, TREES
from ._dates import DATES
from ._maps import MAPS
from ._numbers import NUMBERS
from ._order import ORDER
from ._parts import PARTS
from ._regexes import REGEXES
from ._sets import SETS
from ._strings import STRINGS
from ._transform import TRANSFORM
from ._types import TYPES

_ALL: Final = (
    *TRANSFORM, *ORDER, *PARTS, *COMBINE, *AGGREGATE, *MAPS, *NUMBERS, *TYPES, *STRINGS, *REGEXES, *SETS, *TREES,
    *FUNCTIONS, *DATES,
)  # fmt: skip
CONSTANTS: Final = MappingProxyType(
    {
        "Double/POSITIVE_INFINITY": math.inf,
        "Double/NEGATIVE_INFINITY": -math.inf,
        "Double/NaN": math.nan,
    }
)
BUILTINS: Final = MappingProxyType({name: each for each in _ALL for name in (each.name, *each.also)})
FAMILIES: Final = MappingProxyType(
    {
        family: tuple(each.name for each in _ALL if each.family == family)
        for family in dict.fromkeys(b.family for b in _ALL)
    }
)
