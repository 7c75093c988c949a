"""Why: a row or a byte of a replay in words, with what would have made it a call.

`why_row` and `why_byte` look only at the neighbourhood of their place, so that they cost the same anywhere in
a long tape. What a `Remedy` promises was tried on the call's text before it is offered; its changes are those
of `workbench.variants`, so a person can apply it and see.
"""

from workbench.why.bytes import why_byte
from workbench.why.rows import why_row
from workbench.why.seen import why_seen
from workbench.why.why import Remedy, Why

__all__ = ["Remedy", "Why", "why_byte", "why_row", "why_seen"]
