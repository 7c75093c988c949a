"""A parameter's text and its schema, and the JSON they make.

schema      which types a parameter may have
literals    the value of a plain text: numbers, JSON, Python literals, nested tags
convert     the text of a parameter as JSON, by its schema and as a dialect reads it
fitting     whether the arguments of a call are what its tool wants
"""
