"""A parameter's text and its schema, and the JSON they make."""
