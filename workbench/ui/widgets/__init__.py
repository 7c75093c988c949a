"""Widgets: what screens are made of. Lists and panes draw only what can be seen; documents are laid out
little by little.
"""
