"""Tapes: one exchange with a model in a file, so that it can be replayed.

tape          the header and the lines of one exchange, chunk-exact (format)
recipe        how its answer is converted: dialect, policy, tools; from the header, and from what the user
              wants instead
input         what a user hands in: a tape, a captured stream, a whole completion, plain text of a model
chunking      how an input is cut into reads
"""
