"""Explanations: a row or a byte of a replay in words, with what would have made it a call.

`explain_row` and `explain_byte` look only at the neighbourhood of their place, so that they cost the same
anywhere in a long tape. A `Remedy` is tried on the call's text before it is offered; its
changes are those of `analysis.variants`, so a person can apply it and see.

trace   which records are about a place
trial   some text read on its own, by the dialect and policy of the exchange
mend    edits that may make a broken call a good one
remedy  changes of the exchange that were tried and work
"""
