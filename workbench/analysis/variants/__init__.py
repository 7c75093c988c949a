"""Variants: an exchange with something about it changed.

change      one thing that is tried differently: a switch, a text, a cut, a tool that is offered
script      the causes of an exchange, to which changes are applied
difference  which rows of a variant the original does not have
"""
