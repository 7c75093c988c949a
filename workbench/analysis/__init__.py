"""Analysis: what there is to say about exchanges.

verdict    one sentence about an exchange, and the row that proves it
advice     what a person can do about a finding
explain    a row or a byte of a replay in words, with what would have made it a call
variants   an exchange with something about it changed
result     a tool's, beside the call of a conversation that it came back for
filter     which exchanges a list shows
appraisal  the verdict and key figures of something replayable, once it has been played
"""
