"""The filter of the exchanges: a small language such as `model:qwen verdict:leak -has:reasoning calls>1`.

All words have to hold. `key:value` looks for a part of a text, or with `*` and `?` for the whole of it;
capitals don't matter, a minus negates, quotation marks keep blanks together. A bare word is looked for in the
model, the session and the verdict's sentence.
"""

from workbench.filters.completion import complete
from workbench.filters.language import Filter, FilterError, parse

__all__ = ["Filter", "FilterError", "complete", "parse"]
