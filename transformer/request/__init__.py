"""The way up: a request with tools, made into one that a model of text understands.

conversion   the body for upstream, as the policy wants it
offer        the tools that a request offers, and the texts of its messages
prompt       the template of a dialect, filled with the tools
toolviews    what a template sees of a tool: its parameters in words, an example call
history      calls and results of earlier turns as text
writtencall  one call as text, read back to be sure of it
checks       what a person should know about the tools before a model sees them
"""
