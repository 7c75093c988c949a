"""The configuration: what flags, environment, `workbench.toml` and defaults together say.

kind    how values of one kind are read and shown, and what is wanted when one does not fit
key     one thing that can be configured; the settings hold a value for each (settings)
origin  where a value came from: a flag, a variable, the file, a default
"""
