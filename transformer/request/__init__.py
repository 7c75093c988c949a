"""The way up: a request with tools, made into one that a model of text understands."""
